//===- ToolVersion.h - what --version of a tool prints ----------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_TOOLVERSION_H
#define HEDDLE_TOOLS_TOOLVERSION_H

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

namespace heddle {

/// Makes --version print the tool's name with Heddle's version and LLVM's.
inline void setVersionPrinter(const char *tool) {
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &os) {
    os << tool << " " HEDDLE_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
}

} // namespace heddle

#endif // HEDDLE_TOOLS_TOOLVERSION_H
