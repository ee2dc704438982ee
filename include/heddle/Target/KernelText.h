//===- KernelText.h - kernels in the forms that people read -----*- C++ -*-===//

#ifndef HEDDLE_TARGET_KERNELTEXT_H
#define HEDDLE_TARGET_KERNELTEXT_H

#include "heddle/Target/KernelCode.h"

namespace heddle {

enum class KernelForm {
  NVVM,  ///< the nested modules in the LLVM and NVVM dialects
  LLVM,  ///< optimised LLVM IR
  PTX,   ///< behind a comment with ptxas' figures
  Cubin, ///< of one kernel for one chip
  SASS   ///< machine code, disassembled
};

/// The kernels of the modules `kernels` in a form. `module` is where errors are that are about no single kernel. Several kernels stand one
/// after the other, each behind a comment with its name; Cubin takes only one, and one chip.
mlir::FailureOr<std::string> printKernels(mlir::ModuleOp module,
                                          llvm::ArrayRef<mlir::ModuleOp> kernels, KernelForm form,
                                          const KernelEmissionOptions &options);

/// The kernel of that name alone, all if it is empty. An unknown name is an error that lists the kernels, and so is a module without any.
mlir::FailureOr<llvm::SmallVector<mlir::ModuleOp>> selectKernels(mlir::ModuleOp module,
                                                                 llvm::StringRef name);

} // namespace heddle

#endif // HEDDLE_TARGET_KERNELTEXT_H
