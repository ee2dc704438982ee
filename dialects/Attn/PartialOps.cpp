//===- PartialOps.cpp - checks of merges of partial results ---------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

LogicalResult MergePartialsOp::verify() {
  NamedOperand partial{"partial", getPartial()}, partialLse{"partial_lse", getPartialLse()},
      output{"output", getOutput()}, lse{"lse", getLse()};
  // The dimensions of parts, batch, heads and queries, where each has them.
  for (auto [ofPartial, ofLse] : {std::pair(0, 0), {1, 1}, {3, 2}, {2, 3}})
    if (failed(verifySameDim(*this, partialLse, ofLse, partial, ofPartial)))
      return failure();
  for (unsigned dim = 0; dim < 4; ++dim)
    if (failed(verifySameDim(*this, output, dim, partial, dim + 1)))
      return failure();
  for (unsigned dim = 0; dim < 3; ++dim)
    if (failed(verifySameDim(*this, lse, dim, partialLse, dim + 1)))
      return failure();
  if (getSinks() && failed(verifySameDim(*this, {"sinks", getSinks()}, 0, partial, 3)))
    return failure();
  return success();
}

LogicalResult MergePartialsOp::reifyResultShapes(OpBuilder &builder,
                                                 ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> partial = dimsOf(builder, getLoc(), getPartial());
  addShape(builder, shapes, getOutput(), {partial[1], partial[2], partial[3], partial[4]});
  addShape(builder, shapes, getLse(), {partial[1], partial[3], partial[2]});
  return success();
}
