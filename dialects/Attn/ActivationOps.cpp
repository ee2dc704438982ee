//===- ActivationOps.cpp - checks of activations and gated units ----------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

LogicalResult ActivationOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}

LogicalResult GluOp::verify() {
  if (!getLimit())
    return success();
  if (getKind() != GluKind::GptOss)
    return emitOpError() << "expected limit only with gpt_oss, got " << stringifyGluKind(getKind());
  return verifyNumber(*this, "limit", getLimitValue(), 0, /*exclusive=*/true);
}

LogicalResult GluOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getGate()));
  return success();
}
