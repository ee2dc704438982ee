//===- StateOperands.cpp - sequences and their states ---------------------===//

#include "StateOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle::attn {

int64_t StateOperands::sequences() const {
  int64_t bySlots = ShapedType::kDynamic;
  if (slots)
    bySlots = cast<RankedTensorType>(slots.getType()).getDimSize(0);
  if (!cuSeqlens)
    return knownDim(tokens.dim(0), bySlots);
  int64_t entries = cast<RankedTensorType>(cuSeqlens.getType()).getDimSize(0);
  return knownDim(ShapedType::isDynamic(entries) ? entries : entries - 1, bySlots);
}

int64_t StateOperands::states() const {
  int64_t given = initialState ? cast<RankedTensorType>(initialState.getType()).getDimSize(0)
                               : ShapedType::kDynamic;
  return slots ? given : knownDim(given, sequences());
}

LogicalResult verifyStateOperands(Operation *op, const StateOperands &operands) {
  if (operands.cuSeqlens) {
    NamedOperand cuSeqlens{"cu_seqlens", operands.cuSeqlens};
    if (cuSeqlens.dim(0) == 0)
      return op->emitOpError("expected at least one element of cu_seqlens, got 0");
    if (!dimsAgree(operands.tokens.dim(0), 1))
      return op->emitOpError() << "expected dimension 0 of " << operands.tokens.name << " ("
                               << operands.tokens.dim(0) << ") to be 1, as there are cu_seqlens";
  }
  if (!operands.slots)
    return success();
  if (!operands.initialState)
    return op->emitOpError("expected operand initial_state, as there are slots");
  NamedOperand slots{"slots", operands.slots};
  StateOperands withoutSlots = operands;
  withoutSlots.slots = nullptr;
  int64_t sequences = withoutSlots.sequences();
  if (!dimsAgree(slots.dim(0), sequences))
    return op->emitOpError() << "expected as many slots (" << slots.dim(0) << ") as sequences ("
                             << sequences << ")";
  return success();
}

LogicalResult verifyStateCount(Operation *op, const StateOperands &operands, NamedOperand state) {
  if (operands.slots || dimsAgree(state.dim(0), operands.sequences()))
    return success();
  return op->emitOpError() << "expected dimension 0 of " << state.name << " (" << state.dim(0)
                           << ") to be the number of sequences (" << operands.sequences() << ")";
}

OpFoldResult sequenceCount(OpBuilder &builder, Location loc, const StateOperands &operands) {
  if (int64_t known = operands.sequences(); !ShapedType::isDynamic(known))
    return builder.getIndexAttr(known);
  if (!operands.cuSeqlens)
    return tensor::getMixedSize(builder, loc, operands.tokens.value, 0);
  if (operands.slots)
    return tensor::getMixedSize(builder, loc, operands.slots, 0);
  Value entries = tensor::DimOp::create(builder, loc, operands.cuSeqlens, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return getAsOpFoldResult(builder.createOrFold<arith::SubIOp>(loc, entries, one));
}

} // namespace heddle::attn
