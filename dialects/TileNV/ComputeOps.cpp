//===- ComputeOps.cpp - products and reductions ---------------------------===//

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/Reduction.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

/// The tile that an operand of a product is, without a layout.
static RankedTensorType tileOf(Type operand) {
  if (auto buffer = dyn_cast<BufferType>(operand))
    return RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  auto tile = cast<RankedTensorType>(operand);
  return RankedTensorType::get(tile.getShape(), tile.getElementType());
}

int64_t DotOp::getDepth() { return tileOf(getA().getType()).getDimSize(getTransposeA() ? 0 : 1); }

LogicalResult DotOp::verify() {
  for (Value operand : {getA(), getB()})
    if (auto buffer = dyn_cast<BufferType>(operand.getType()); buffer && buffer.getRank() != 2)
      return emitOpError() << "expected operands of rank 2, got " << buffer;
  int64_t divided = getNeedsDepth() ? getDepth() : getType().getDimSize(1);
  if (int64_t parts = getNeeded().size(); parts > 0 && divided % parts != 0)
    return emitOpError() << "expected the number of conditions to divide "
                         << (getNeedsDepth() ? "K" : "the columns") << " (" << divided << "), got "
                         << parts;
  for (Value condition : getNeeded())
    if (auto rows = cast<RankedTensorType>(condition.getType());
        rows.getDimSize(0) != getType().getDimSize(0))
      return emitOpError() << "expected conditions of as many rows as the result ("
                           << getType().getDimSize(0) << "), got " << rows;
  return tile::verifyDotTypes(*this, tileOf(getA().getType()), tileOf(getB().getType()), getType(),
                              getTransposeA(), getTransposeB(), getPrecision());
}

void DotOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<BufferType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand);
}

//===----------------------------------------------------------------------===//
// ReduceInThreadOp
//===----------------------------------------------------------------------===//

RankedTensorType tile_nv::reducedInThread(RankedTensorType input, int64_t along) {
  tile::LayoutAttr layout = tile::layoutOf(input);
  std::optional<layout::Layout> reduced =
      layout::reducedInThread(layout.getLayout(), tile::coordinate(along));
  if (!reduced)
    return {};
  SmallVector<int64_t> shape(input.getShape());
  shape[along] = reduced->outSize(tile::coordinate(along));
  return RankedTensorType::get(shape, input.getElementType(),
                               tile::LayoutAttr::get(input.getContext(), *reduced));
}

LogicalResult ReduceInThreadOp::verify() {
  RankedTensorType input = getInput().getType();
  int64_t along = getAlong();
  if (along < 0 || along >= input.getRank())
    return emitOpError() << "expected 0 <= along < " << input.getRank() << ", got " << along;
  if (!tile::layoutOf(input))
    return emitOpError() << "expected an input with a layout, got " << input;
  RankedTensorType expected = reducedInThread(input, along);
  if (!expected)
    return emitOpError() << "expected registers that do not mix dimension " << along
                         << " with the other, got " << input;
  if (getType() == expected)
    return success();
  return emitOpError() << "expected a result of type " << expected << ", got " << getType();
}
