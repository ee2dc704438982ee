//===- ShortConvOp.cpp - types and checks of short convolutions -----------===//

#include "StateOperands.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

template <typename OpOrAdaptor> static StateOperands stateOperands(OpOrAdaptor op) {
  return {{"input", op.getInput()}, op.getInitialState(), op.getCuSeqlens(), op.getSlots()};
}

void ShortConvOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "output");
  setName(getFinalState(), "final_state");
}

LogicalResult ShortConvOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  results.push_back(input);
  if (adaptor.getInitialState()) {
    results.push_back(adaptor.getInitialState().getType());
    return success();
  }
  auto weight = cast<RankedTensorType>(adaptor.getWeight().getType());
  results.push_back(RankedTensorType::get({stateOperands(adaptor).states(),
                                           knownDim(input.getDimSize(2), weight.getDimSize(0)),
                                           std::max<int64_t>(weight.getDimSize(1) - 1, 0)},
                                          input.getElementType()));
  return success();
}

bool ShortConvOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult ShortConvOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  if (getInitialState()) {
    shapes.push_back(dimsOf(builder, getLoc(), getInitialState()));
    return success();
  }
  OpFoldResult past =
      builder.getIndexAttr(cast<RankedTensorType>(getWeight().getType()).getDimSize(1) - 1);
  shapes.push_back({sequenceCount(builder, getLoc(), stateOperands(*this)),
                    dimsOf(builder, getLoc(), getInput())[2], past});
  return success();
}

LogicalResult ShortConvOp::verify() {
  NamedOperand input{"input", getInput()}, weight{"weight", getWeight()};
  if (failed(verifySameDim(*this, weight, 0, input, 2)) ||
      (getBias() && failed(verifySameDim(*this, {"bias", getBias()}, 0, input, 2))))
    return failure();
  if (knownDim(input.dim(2), weight.dim(0)) == 0)
    return emitOpError("expected at least one channel, got 0");
  if (weight.dim(1) < 1)
    return emitOpError("expected dimension 1 of weight to be static and at least 1, got ")
           << (ShapedType::isDynamic(weight.dim(1)) ? "?" : "0");
  StateOperands operands = stateOperands(*this);
  if (failed(verifyStateOperands(*this, operands)))
    return failure();
  if (!getInitialState())
    return success();
  NamedOperand state{"initial_state", getInitialState()};
  if (failed(verifyStateCount(*this, operands, state)) ||
      failed(verifySameDim(*this, state, 1, input, 2)))
    return failure();
  if (dimsAgree(state.dim(2), weight.dim(1) - 1))
    return success();
  return emitOpError() << "expected dimension 2 of initial_state (" << state.dim(2)
                       << ") to be one less than dimension 1 of weight (" << weight.dim(1) << ")";
}
