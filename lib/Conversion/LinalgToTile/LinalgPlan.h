//===- LinalgPlan.h - how a linalg op becomes a kernel ----------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGPLAN_H
#define HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGPLAN_H

#include "../AttnToTile/Placement.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {

/// An operand, and the dimension of it that a loop runs over.
struct LoopExtent {
  mlir::Value buffer;
  int64_t dim;
};

/// What the loops of an operation on buffers are in its kernel.
struct LinalgPlan {
  /// `extents` gives what is known about the extent of a dimension of an operand; or dynamic.
  LinalgPlan(mlir::linalg::LinalgOp op, llvm::function_ref<int64_t(mlir::Value, int64_t)> extentOf);

  /// Parallel loops in the order of the first output's dimensions, and the others.
  llvm::SmallVector<unsigned> parallel, reductions;
  /// Loops that a block has columns and rows of; -1 for none.
  int64_t column = -1, row = -1;
  BlockShape block{1, 1};
  llvm::SmallVector<LoopExtent> extents; ///< of each loop
};

/// The dimension of a loop that is all of an affine expression; -1 for others.
int64_t loopOf(mlir::AffineExpr expression);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGPLAN_H
