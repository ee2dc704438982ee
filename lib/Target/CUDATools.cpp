//===- CUDATools.cpp - finds and runs NVIDIA's command-line tools ---------===//

#include "heddle/Target/CUDATools.h"

#include "heddle/Target/OutputFiles.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace heddle {

//===----------------------------------------------------------------------===//
// Finding tools
//===----------------------------------------------------------------------===//

static std::string findIn(llvm::StringRef name, llvm::ArrayRef<std::string> folders) {
  llvm::SmallVector<llvm::StringRef> paths(folders.begin(), folders.end());
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name, paths);
  return found ? *found : "";
}

CUDATools CUDATools::find(llvm::StringRef folder) {
  CUDATools tools;
  if (folder == "none")
    return tools;
  std::vector<std::string> folders;
  auto addToolkit = [&](llvm::StringRef toolkit) {
    if (!toolkit.empty())
      folders.push_back((toolkit + "/bin").str());
  };
  if (!folder.empty()) {
    folders.push_back(folder.str());
    addToolkit(folder);
  } else {
    for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
      if (std::optional<std::string> toolkit = llvm::sys::Process::GetEnv(variable))
        addToolkit(*toolkit);
    addToolkit("/usr/local/cuda");
  }
  auto findTool = [&](llvm::StringRef name) {
    std::string found;
    if (folder.empty())
      if (llvm::ErrorOr<std::string> inPath = llvm::sys::findProgramByName(name))
        found = *inPath;
    return found.empty() ? findIn(name, folders) : found;
  };
  tools.ptxas = findTool("ptxas");
  tools.fatbinary = findTool("fatbinary");
  tools.nvdisasm = findTool("nvdisasm");
  return tools;
}

//===----------------------------------------------------------------------===//
// Running tools
//===----------------------------------------------------------------------===//

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  llvm::sys::fs::remove(path);
  llvm::sys::DontRemoveFileOnSignal(path);
}

llvm::Error TemporaryFile::create(llvm::StringRef extension, llvm::StringRef content) {
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle", extension, path)) {
    path.clear();
    return llvm::createStringError(error, "can't make a temporary file: " + error.message());
  }
  llvm::sys::RemoveFileOnSignal(path);
  return writeFile(path, content);
}

llvm::Expected<std::string> TemporaryFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "can't read " + path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

llvm::Expected<std::string> TemporaryFile::readOutputOf(llvm::StringRef tool) const {
  llvm::Expected<std::string> bytes = read();
  if (bytes && bytes->empty())
    return llvm::createStringError(tool + " has written nothing");
  return bytes;
}

llvm::Expected<std::string> runTool(llvm::StringRef program, std::vector<std::string> arguments) {
  TemporaryFile log;
  if (llvm::Error error = log.create("log"))
    return error;
  llvm::SmallVector<llvm::StringRef> argv{program};
  argv.append(arguments.begin(), arguments.end());
  // No input; both outputs into one file.
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log.getPath(), log.getPath()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(program, argv, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  llvm::Expected<std::string> output = log.read();
  if (!output)
    return output.takeError();
  if (status == 0)
    return output;
  llvm::StringRef text = llvm::StringRef(*output).trim();
  if (!message.empty() || text.empty())
    return llvm::createStringError(
        program + " failed: " +
        (message.empty() ? "exit status " + llvm::Twine(status) : llvm::Twine(message)) +
        (text.empty() ? "" : "\n" + text));
  return llvm::createStringError(text);
}

} // namespace heddle
