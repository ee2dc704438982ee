//===- Kernels.h - kernels in the LLVM dialect to GPU code ------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_TRANSLATE_KERNELS_H
#define HEDDLE_TOOLS_HEDDLE_TRANSLATE_KERNELS_H

#include "heddle/Target/KernelText.h"

namespace heddle {

/// Reads MLIR from `path` ("-": standard input) and returns its kernels, or the one of that name, in a form.
mlir::FailureOr<std::string> translateKernels(llvm::StringRef path, KernelForm form,
                                              llvm::StringRef name,
                                              const KernelEmissionOptions &options);

} // namespace heddle

#endif // HEDDLE_TOOLS_HEDDLE_TRANSLATE_KERNELS_H
