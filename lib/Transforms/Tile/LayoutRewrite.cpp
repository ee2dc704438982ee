//===- LayoutRewrite.cpp - types with layouts, and conversions ------------===//

#include "LayoutAssignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::tile::LayoutAttr;

namespace heddle {

static RankedTensorType withLayout(Type type, LayoutAttr layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), layout);
}

static DenseElementsAttr withType(DenseElementsAttr elements, RankedTensorType type) {
  if (elements.isSplat())
    return elements.resizeSplat(type);
  return DenseElementsAttr::getFromRawBuffer(type, elements.getRawData());
}

/// A copy of a cheap operation, right before its user.
Value LayoutAssignment::copyInLayout(Operation *op, LayoutAttr layout, Operation *user) {
  OpBuilder builder(user);
  RankedTensorType type = withLayout(op->getResult(0).getType(), layout);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(builder, op->getLoc(),
                                     withType(cast<DenseElementsAttr>(constant.getValue()), type));
  SmallVector<Value> operands(op->getOperands());
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    operands[0] = inLayout(broadcast.getInput(),
                           layout.withoutDim(broadcast.getAlong(), type.getRank()), user);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

/// The value in a layout, for one user: itself, a copy, or a conversion right after it, which all users share.
Value LayoutAssignment::inLayout(Value value, LayoutAttr layout, Operation *user) {
  Operation *op = value.getDefiningOp();
  if (isCheap(op))
    return copyInLayout(op, layout, user);
  if (of(value) == layout)
    return value;
  Value &converted = conversions[{value, layout}];
  if (!converted) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    converted = tile::ConvertLayoutOp::create(builder, value.getLoc(),
                                              withLayout(value.getType(), layout), value);
  }
  return converted;
}

void LayoutAssignment::apply() {
  // What operands need depends on layouts, not on types; it is asked before anything changes.
  SmallVector<std::pair<OpOperand *, LayoutAttr>> uses;
  for (Operation *op : ops)
    if (!isCheap(op))
      for (OpOperand &operand : op->getOpOperands())
        if (isTileValue(operand.get()))
          uses.emplace_back(&operand, wanted(operand));
  for (auto [value, layout] : layouts) {
    Value typed = value;
    typed.setType(withLayout(value.getType(), layout));
  }
  for (auto [operand, layout] : uses)
    operand->set(inLayout(operand->get(), layout, operand->getOwner()));
  for (Operation *op : llvm::reverse(ops))
    if (isCheap(op) && op->use_empty())
      op->erase();
}

} // namespace heddle
