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

//===----------------------------------------------------------------------===//
// SoftmaxFeaturesOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxFeaturesOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  SmallVector<int64_t> shape(input.getShape());
  if (ShapedType::isDynamic(shape.back()))
    return emitOptionalError(location, "expected a static last dimension of input, got type ",
                             input);
  shape.back() *= 2;
  results.push_back(input.clone(shape));
  return success();
}

LogicalResult SoftmaxFeaturesOp::reifyResultShapes(OpBuilder &builder,
                                                   ReifiedRankedShapedTypeDims &shapes) {
  addShape(builder, shapes, getOutput(), dimsOf(builder, getLoc(), getInput()));
  return success();
}
