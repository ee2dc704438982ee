//===- OutputFiles.cpp - files that appear whole or not at all ------------===//

#include "heddle/Target/OutputFiles.h"

#include "heddle/TensorIO/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <sys/stat.h>

namespace heddle {

static llvm::Error writeError(llvm::StringRef path, std::error_code error) {
  return llvm::createStringError(error, "can't write " + path + ": " + error.message());
}

/// Opens the file, writes, and closes it.
static llvm::Error writeStream(llvm::StringRef path,
                               llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write,
                               llvm::sys::fs::OpenFlags flags = llvm::sys::fs::OF_None) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error, flags);
  if (!error) {
    if (llvm::Error failure = write(os))
      return failure;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? writeError(path, error) : llvm::Error::success();
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content) {
  return writeStream(path, [&](llvm::raw_ostream &os) {
    os << content;
    return llvm::Error::success();
  });
}

namespace {

/// Makes the file elsewhere and adds its bytes to what the stream has got.
llvm::Error addToStream(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  llvm::SmallString<128> temporary;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle", "out", temporary))
    return llvm::createStringError(error, "can't make a temporary file: " + error.message());
  llvm::FileRemover remover(temporary);
  if (llvm::Error error = make(temporary))
    return error;
  auto content = llvm::MemoryBuffer::getFile(temporary);
  if (!content)
    return writeError(path, content.getError());
  auto copy = [&](llvm::raw_ostream &os) {
    os << (*content)->getBuffer();
    return llvm::Error::success();
  };
  return writeStream(path, copy, llvm::sys::fs::OF_Append);
}

/// Removes a file at the end, and when a signal ends the process.
class TemporaryOutput {
public:
  ~TemporaryOutput() {
    if (path.empty())
      return;
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }
  std::error_code create(const llvm::Twine &model) {
    std::error_code error = llvm::sys::fs::createUniqueFile(model, path);
    if (error)
      path.clear();
    else
      llvm::sys::RemoveFileOnSignal(path);
    return error;
  }
  std::error_code rename(llvm::StringRef to) {
    std::error_code error = llvm::sys::fs::rename(path, to);
    if (!error) {
      llvm::sys::DontRemoveFileOnSignal(path);
      path.clear();
    }
    return error;
  }
  llvm::StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
};

/// As replaceFile, with the permissions `mode` as far as the umask allows.
llvm::Error replaceFile(llvm::StringRef path, mode_t mode,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError("can't write " + path + ": it is a folder");
  if (isStream(path.str()))
    return addToStream(path, make);
  TemporaryOutput temporary;
  std::error_code error = temporary.create(path + ".%%%%%%%%.tmp");
  if (!error) {
    if (llvm::Error failure = make(temporary.getPath()))
      return failure;
    mode_t mask = umask(0);
    umask(mask);
    error = llvm::sys::fs::setPermissions(temporary.getPath(),
                                          static_cast<llvm::sys::fs::perms>(mode & ~mask));
  }
  if (!error)
    error = temporary.rename(path);
  return error ? writeError(path, error) : llvm::Error::success();
}

} // namespace

bool isReplaceable(llvm::StringRef path) { return path != "-" && !isStream(path.str()); }

bool isSameFile(llvm::StringRef a, llvm::StringRef b) {
  bool same = false;
  return !a.empty() && !b.empty() && isReplaceable(a) &&
         (a == b || (!llvm::sys::fs::equivalent(a, b, same) && same));
}

bool replacesInput(llvm::StringRef path, llvm::StringRef input) {
  if (isSameFile(path, input))
    return true;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(input, error), end; file != end && !error;
       file.increment(error))
    if (llvm::StringRef name = file->path();
        (name.ends_with(".json") || name.ends_with(".safetensors")) && isSameFile(path, name))
      return true;
  return false;
}

llvm::Error replaceFile(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make) {
  return replaceFile(path, 0777, make);
}

llvm::Error writeOutput(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (path == "-") {
    llvm::Error error = write(llvm::outs());
    llvm::outs().flush();
    return error;
  }
  return replaceFile(path, 0666,
                     [&](llvm::StringRef temporary) { return writeStream(temporary, write); });
}

} // namespace heddle
