//===- NVPTXEmission.h - kernels in the LLVM dialect to PTX -----*- C++ -*-===//

#ifndef HEDDLE_TARGET_NVPTXEMISSION_H
#define HEDDLE_TARGET_NVPTXEMISSION_H

#include "heddle/Target/GPUChips.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace heddle {

/// Translates a module of kernels in the LLVM and NVVM dialects to optimised LLVM IR for `chip`. Pointers to shared memory have
/// 32 bits, float operations flush subnormals.
llvm::Expected<std::unique_ptr<llvm::Module>> translateToNVPTX(mlir::ModuleOp kernels,
                                                               llvm::LLVMContext &context,
                                                               const GPUChip &chip, int optLevel);

/// PTX of the same. Safe to call from several threads with contexts of their own; LLVM's option nvptx-short-ptr is on afterwards.
llvm::Expected<std::string> emitPTX(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                                    const GPUChip &chip, int optLevel);

} // namespace heddle

#endif // HEDDLE_TARGET_NVPTXEMISSION_H
