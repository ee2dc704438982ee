//===- Linker.cpp - links a module in this process with LLD ---------------===//

#include "LLVMOptions.h"

#include "heddle/Target/ObjectEmission.h"
#include "heddle/Target/OutputFiles.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

// Object files of the runtime and the simulator, put into this library at build time (RuntimeObject.S).
extern "C" {
extern const char heddle_runtime_object_begin[];
extern const char heddle_runtime_object_end[];
extern const char heddle_simulator_object_begin[];
extern const char heddle_simulator_object_end[];
}

namespace heddle {
namespace {

/// A folder of its own for intermediate files, removed at the end.
class TemporaryFolder {
public:
  llvm::Error create() {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("heddle-link", path))
      return llvm::createStringError(error, "can't make a temporary folder: " + error.message());
    return llvm::Error::success();
  }
  ~TemporaryFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }

private:
  llvm::SmallString<128> path;
};

/// A named pipe, and a thread that keeps what is written to it. LLD maps an output file into memory, so that a full disk ends the
/// process by a signal; into a pipe it writes.
class PipeReader {
public:
  llvm::Error open(const std::string &path) {
    if (mkfifo(path.c_str(), 0600) != 0 ||
        (from = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0 ||
        (to = ::open(path.c_str(), O_WRONLY | O_CLOEXEC)) < 0 || fcntl(from, F_SETFL, 0) != 0)
      return llvm::createStringError(llvm::errnoAsErrorCode(), "can't make the pipe " + path);
    thread = std::thread([this] {
      std::vector<char> piece(1 << 20);
      while (ssize_t size = read(from, piece.data(), piece.size()))
        if (size > 0)
          bytes.append(piece.data(), size);
        else if (errno != EINTR)
          break;
    });
    return llvm::Error::success();
  }
  ~PipeReader() {
    finish();
    if (from >= 0)
      close(from);
  }
  /// What was written, once all writers have closed the pipe.
  llvm::StringRef finish() {
    if (to >= 0)
      close(std::exchange(to, -1));
    if (thread.joinable())
      thread.join();
    return bytes;
  }

private:
  int from = -1, to = -1;
  std::thread thread;
  std::string bytes;
};

/// The C libraries as every Linux system has them at run time; no development files are needed.
llvm::Expected<std::string> findSystemLibrary(llvm::StringRef name) {
  static const char *const folders[] = {"/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/lib64",
                                        "/usr/lib64",
                                        "/lib",
                                        "/usr/lib"};
  for (llvm::StringRef folder : folders) {
    std::string path = (folder + "/" + name).str();
    if (llvm::sys::fs::exists(path))
      return path;
  }
  return llvm::createStringError("can't find " + name +
                                 " in the system's library folders; modules link against it");
}

/// Runs LLD on the objects and the runtime, with `options` in front and `libraries` behind them.
llvm::Error runLinker(const TemporaryFolder &folder, const LinkInputs &inputs,
                      llvm::ArrayRef<std::string> options, llvm::ArrayRef<std::string> libraries,
                      llvm::StringRef path) {
  std::string pipe = folder.file("linked");
  PipeReader linked;
  if (llvm::Error error = linked.open(pipe))
    return error;
  std::vector<std::string> arguments{"ld.lld", "-o", pipe};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (auto [i, object] : llvm::enumerate(inputs.objects)) {
    std::string name = folder.file(std::to_string(i) + ".o");
    if (llvm::Error error = writeFile(name, object))
      return error;
    arguments.push_back(name);
  }
  auto addBytes = [&](llvm::StringRef name, const char *begin, const char *end) {
    arguments.push_back(folder.file(name));
    return writeFile(arguments.back(), llvm::StringRef(begin, end - begin));
  };
  if (llvm::Error error =
          addBytes("runtime.o", heddle_runtime_object_begin, heddle_runtime_object_end))
    return error;
  if (inputs.withSimulator)
    if (llvm::Error error =
            addBytes("simulator.o", heddle_simulator_object_begin, heddle_simulator_object_end))
      return error;
  arguments.insert(arguments.end(), libraries.begin(), libraries.end());

  llvm::SmallVector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  // LLD keeps global state during a link, and sets back all options of the process.
  std::lock_guard<std::mutex> lock(optionsMutex());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result = lld::lldMain(argv, os, os, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError("linking failed: " + messages);
  return writeFile(path, linked.finish());
}

} // namespace

llvm::Error linkSharedObject(const LinkInputs &inputs, llvm::StringRef soname,
                             llvm::StringRef path) {
  TemporaryFolder folder;
  if (llvm::Error error = folder.create())
    return error;
  std::string script = "{ global:\n";
  for (const std::string &name : inputs.exported)
    script += "  " + name + ";\n";
  if (inputs.withSimulator)
    script += "  heddle_module_simulation_*;\n";
  script += "local: *; };\n";
  std::string versions = folder.file("exports.map");
  if (llvm::Error error = writeFile(versions, script))
    return error;
  std::vector<std::string> libraries{"--as-needed"};
  for (llvm::StringRef library : {"libm.so.6", "libc.so.6"}) {
    llvm::Expected<std::string> file = findSystemLibrary(library);
    if (!file)
      return file.takeError();
    libraries.push_back(*file);
  }
  return runLinker(folder, inputs,
                   {"-shared", "--no-undefined", "-z", "now", "-z", "noexecstack", "--gc-sections",
                    "--hash-style=gnu", "--build-id=sha1", "--strip-debug",
                    "--version-script=" + versions, "-soname=" + soname.str()},
                   libraries, path);
}

llvm::Error linkRelocatable(const LinkInputs &inputs, llvm::StringRef path) {
  TemporaryFolder folder;
  if (llvm::Error error = folder.create())
    return error;
  return runLinker(folder, inputs, {"-r"}, {}, path);
}

llvm::Error linkExecutable(const LinkInputs &inputs, llvm::StringRef launcher,
                           llvm::StringRef path) {
  TemporaryFolder folder;
  if (llvm::Error error = folder.create())
    return error;
  std::string module = folder.file("module.so");
  if (llvm::Error error = linkSharedObject(inputs, "module.so", module))
    return error;
  std::string content;
  for (llvm::StringRef part : {launcher, llvm::StringRef(module)}) {
    auto buffer = llvm::MemoryBuffer::getFile(part);
    if (!buffer)
      return llvm::createStringError(buffer.getError(),
                                     "can't read " + part + ": " + buffer.getError().message());
    content += (*buffer)->getBuffer();
    if (part != launcher) {
      // The trailer by which the launcher finds its module.
      char size[8];
      llvm::support::endian::write64le(size, (*buffer)->getBufferSize());
      content.append(size, sizeof(size));
      content += "HEDLEXE1";
    }
  }
  return writeFile(path.str(), content);
}

} // namespace heddle
