//===- ControlOps.cpp - branches that parts of a program take --------------===//

#include "heddle/Dialect/Tile/Tile.h"

using namespace mlir;
using namespace heddle::tile;

static bool onlyReads(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

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
    if (!onlyReads(&op))
      return op.emitOpError("writes memory in the region of tile.if_any");
  return success();
}

LogicalResult SkipUnlessOp::verify() {
  if (getConditions().empty())
    return emitOpError() << "expected a condition";
  for (Value condition : getConditions()) {
    int64_t rows = cast<RankedTensorType>(condition.getType()).getDimSize(0);
    for (Type type : (*this)->getParentOp()->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (tile && tile.getRank() > 0 && tile.getDimSize(0) != rows)
        return emitOpError() << "expected a condition with as many rows as the loop's tiles, got "
                             << rows << " rows and " << type;
    }
  }
  return success();
}

void IfAnyOp::inlineBody(RewriterBase &rewriter) {
  YieldOp yield = getYield();
  SmallVector<Value> values(yield.getValues());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(getRegionBlock(), getOperation());
  rewriter.replaceOp(getOperation(), values);
}
