//===- OutputFiles.cpp - files that appear whole or not at all ------------===//

#include "heddle/Target/OutputFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>

namespace heddle {
namespace {

/// Something that can be written to but not replaced, such as /dev/null or a pipe.
bool isDevice(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) && llvm::sys::fs::exists(status) &&
         !llvm::sys::fs::is_regular_file(status) && !llvm::sys::fs::is_directory(status);
}

/// Makes the file elsewhere and copies its bytes to the device.
llvm::Error writeDevice(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  llvm::SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle", "out", temporary))
    return llvm::createStringError(error, "can't make a temporary file: " + error.message());
  llvm::FileRemover remover(temporary);
  if (llvm::Error error = make(temporary))
    return error;
  auto content = llvm::MemoryBuffer::getFile(temporary);
  std::error_code error = content.getError();
  if (content) {
    llvm::raw_fd_ostream os(path, error);
    if (!error)
      os << (*content)->getBuffer();
    os.close();
    if (!error)
      error = os.error();
    os.clear_error();
  }
  if (error)
    return llvm::createStringError(error, "can't write " + path + ": " + error.message());
  return llvm::Error::success();
}

} // namespace

bool isReplaceable(llvm::StringRef path) { return path != "-" && !isDevice(path); }

llvm::Error replaceFile(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError("can't write " + path + ": it is a folder");
  if (isDevice(path))
    return writeDevice(path, make);
  llvm::SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", temporary))
    return llvm::createStringError(error, "can't write " + path + ": " + error.message());
  if (llvm::Error error = make(temporary)) {
    llvm::sys::fs::remove(temporary);
    return error;
  }
  mode_t mask = umask(0);
  umask(mask);
  std::error_code error =
      llvm::sys::fs::setPermissions(temporary, static_cast<llvm::sys::fs::perms>(0777 & ~mask));
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
