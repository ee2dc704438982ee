//===- ShapeSlice.h - clone computations of sizes ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_SHAPESLICE_H
#define HEDDLE_LIB_TRANSFORMS_SHAPESLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {

/// Clones what computes `value` to the builder's insertion point: pure ops without regions and `memref.dim`s, down to block arguments
/// that `mapping` translates (or that stay as they are). Null where something else is needed, such as data from memory; `culprit`
/// is then the op that is not a computation of sizes.
mlir::Value cloneSizeComputation(mlir::OpBuilder &builder, mlir::Value value,
                                 mlir::IRMapping &mapping, mlir::Operation *&culprit);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_SHAPESLICE_H
