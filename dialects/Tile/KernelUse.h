//===- KernelUse.h - checks of operations that run kernels ------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_TILE_KERNELUSE_H
#define HEDDLE_DIALECTS_TILE_KERNELUSE_H

#include "mlir/IR/SymbolTable.h"

namespace heddle::tile {

/// Reports an error unless `kernel` names a kernel whose arguments have the types `given`.
llvm::LogicalResult verifyKernelUse(mlir::Operation *op, mlir::SymbolTableCollection &symbols,
                                    mlir::FlatSymbolRefAttr kernel, mlir::TypeRange given);

} // namespace heddle::tile

#endif // HEDDLE_DIALECTS_TILE_KERNELUSE_H
