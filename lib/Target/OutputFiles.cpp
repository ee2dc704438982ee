//===- OutputFiles.cpp - files that appear whole or not at all ------------===//

#include "heddle/Target/OutputFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>

namespace heddle {

llvm::Error replaceFile(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError("can't write " + path + ": it is a folder");
  llvm::SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", temporary))
    return llvm::createStringError(error, "can't write " + path + ": " + error.message());
  if (llvm::Error error = make(temporary)) {
    llvm::sys::fs::remove(temporary);
    return error;
  }
  mode_t mask = umask(0);
  umask(mask);
  std::error_code error = llvm::sys::fs::setPermissions(
      temporary, static_cast<llvm::sys::fs::perms>(0777 & ~mask));
  if (!error)
    error = llvm::sys::fs::rename(temporary, path);
  if (error) {
    llvm::sys::fs::remove(temporary);
    return llvm::createStringError(error, "can't write " + path + ": " + error.message());
  }
  return llvm::Error::success();
}

llvm::Error writeOutput(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (path == "-") {
    llvm::Error error = write(llvm::outs());
    llvm::outs().flush();
    return error;
  }
  return llvm::writeToOutput(path, write);
}

} // namespace heddle
