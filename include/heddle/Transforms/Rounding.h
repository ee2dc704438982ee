//===- Rounding.h - ops that round a tensor or buffer -----------*- C++ -*-===//

#ifndef HEDDLE_TRANSFORMS_ROUNDING_H
#define HEDDLE_TRANSFORMS_ROUNDING_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {

/// Whether `op` rounds every element of its one input to its one output, to the nearest, and does nothing else.
inline bool isRounding(mlir::linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](mlir::AffineMap map) { return map.isIdentity(); }))
    return false;
  mlir::Block *body = op.getBody();
  auto rounding = body->getTerminator()->getOperand(0).getDefiningOp<mlir::arith::TruncFOp>();
  return rounding && !rounding.getRoundingmode() && rounding->getBlock() == body &&
         rounding.getIn() == body->getArgument(0);
}

} // namespace heddle

#endif // HEDDLE_TRANSFORMS_ROUNDING_H
