//===- NormOps.cpp - checks of normalisations -----------------------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

/// `parameter` has one element for each channel of `input`.
static LogicalResult verifyChannels(Operation *op, NamedOperand parameter, NamedOperand input) {
  return verifySameDim(op, parameter, 0, input, input.type().getRank() - 1);
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyChannels(*this, {"weight", getWeight()}, {"input", getInput()})))
    return failure();
  return verifyNumber(*this, "eps", getEps().convertToDouble(), 0,
                      /*exclusive=*/false);
}

LogicalResult RmsNormOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}

LogicalResult LayerNormOp::verify() {
  NamedOperand input{"input", getInput()};
  if (failed(verifyChannels(*this, {"weight", getWeight()}, input)) ||
      (getBias() && failed(verifyChannels(*this, {"bias", getBias()}, input))))
    return failure();
  return verifyNumber(*this, "eps", getEps().convertToDouble(), 0,
                      /*exclusive=*/false);
}

LogicalResult LayerNormOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}

LogicalResult GatedRmsNormOp::verify() {
  if (getKind() != ActivationKind::Silu && getKind() != ActivationKind::Sigmoid)
    return emitOpError() << "expected silu or sigmoid, got " << stringifyActivationKind(getKind());
  if (failed(verifyChannels(*this, {"weight", getWeight()}, {"input", getInput()})))
    return failure();
  return verifyNumber(*this, "eps", getEps().convertToDouble(), 0,
                      /*exclusive=*/false);
}

LogicalResult GatedRmsNormOp::reifyResultShapes(OpBuilder &builder,
                                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}

LogicalResult L2NormOp::verify() {
  return verifyNumber(*this, "eps", getEps().convertToDouble(), 0,
                      /*exclusive=*/false);
}

LogicalResult L2NormOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}
