//===- CUDATools.h - NVIDIA's command-line tools ----------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_CUDATOOLS_H
#define HEDDLE_TARGET_CUDATOOLS_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace heddle {

/// Paths of the tools that were found; the others are empty. All of them are optional: without ptxas there is PTX alone, without
/// fatbinary the PTX is the image, without nvdisasm there is no machine code to read.
struct CUDATools {
  std::string ptxas, fatbinary, nvdisasm;

  /// Looks in `folder` and its bin if it is given, else in PATH, then in bin of $CUDA_PATH, $CUDA_HOME and /usr/local/cuda. "none"
  /// finds nothing.
  static CUDATools find(llvm::StringRef folder = "");
};

/// A file that is removed with this object, or when a signal ends the process.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  /// Makes it, with `content`. `extension` has no dot.
  llvm::Error create(llvm::StringRef extension, llvm::StringRef content = "");
  llvm::Expected<std::string> read() const;
  /// The same of a file that `tool` was to write; an error if there is nothing in it.
  llvm::Expected<std::string> readOutputOf(llvm::StringRef tool) const;
  llvm::StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
};

/// Runs a program without a shell and returns what it wrote to both outputs. An exit status other than 0 is an error whose text is that
/// output.
llvm::Expected<std::string> runTool(llvm::StringRef program, std::vector<std::string> arguments);

} // namespace heddle

#endif // HEDDLE_TARGET_CUDATOOLS_H
