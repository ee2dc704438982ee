//===- ControlOps.cpp - branches that parts of a program take --------------===//

#include "heddle/Dialect/Tile/Tile.h"

using namespace mlir;
using namespace heddle::tile;

YieldOp IfAnyOp::getYield() { return cast<YieldOp>(getRegionBlock()->getTerminator()); }

LogicalResult IfAnyOp::verifyRegions() {
  Block *block = getRegionBlock();
  if (block->getNumArguments() != 0)
    return emitOpError() << "expected a region without arguments, got " << block->getNumArguments();
  auto yield = dyn_cast<YieldOp>(block->getTerminator());
  if (!yield)
    return emitOpError() << "expected a region that ends with tile.yield, got '"
                         << block->getTerminator()->getName() << "'";
  if (yield.getValues().getTypes() != getResultTypes())
    return yield.emitOpError() << "expected values of types " << getResultTypes() << ", got "
                               << yield.getValues().getTypes();
  int64_t rows = getCondition().getType().getDimSize(0);
  for (Type type : getResultTypes())
    if (int64_t own = cast<RankedTensorType>(type).getDimSize(0); own != rows)
      return emitOpError() << "expected tiles of as many rows as the condition (" << rows
                           << "), got " << type;
  for (Operation &op : *block)
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("reads or writes memory in the region of tile.if_any");
  return success();
}

void IfAnyOp::inlineBody(RewriterBase &rewriter) {
  YieldOp yield = getYield();
  SmallVector<Value> values(yield.getValues());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(getRegionBlock(), getOperation());
  rewriter.replaceOp(getOperation(), values);
}
