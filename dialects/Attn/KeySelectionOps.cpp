//===- KeySelectionOps.cpp - types and checks of chosen keys --------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

//===----------------------------------------------------------------------===//
// LightningIndexerOp
//===----------------------------------------------------------------------===//

LogicalResult LightningIndexerOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                   Adaptor adaptor,
                                                   SmallVectorImpl<Type> &results) {
  auto query = cast<RankedTensorType>(adaptor.getQuery().getType());
  auto key = cast<RankedTensorType>(adaptor.getKey().getType());
  int64_t batch = knownDim(query.getDimSize(0), key.getDimSize(0));
  results.push_back(RankedTensorType::get({batch, query.getDimSize(1), key.getDimSize(1)},
                                          Float32Type::get(context)));
  return success();
}

bool LightningIndexerOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult LightningIndexerOp::verify() {
  NamedOperand query{"query", getQuery()}, key{"key", getKey()}, weights{"weights", getWeights()};
  if (failed(verifySameDim(*this, key, 0, query, 0)) ||
      failed(verifySameDim(*this, key, 2, query, 3)))
    return failure();
  for (unsigned dim : {0, 1, 2})
    if (failed(verifySameDim(*this, weights, dim, query, dim)))
      return failure();
  if (query.dim(2) == 0)
    return emitOpError("expected at least one head, got 0");
  NamedOperand mask{"mask", getMask()};
  int64_t scores[] = {query.dim(0), 1, query.dim(1), key.dim(1)};
  if (failed(verifyScoreOperand(*this, mask, scores)))
    return failure();
  if (getMask() && mask.dim(1) != 1)
    return emitOpError(
        "expected dimension 1 of mask to be a static 1, as heads share their scores");
  if (getKvLen() && failed(verifySameDim(*this, {"kv_len", getKvLen()}, 0, query, 0)))
    return failure();
  if (!getScale())
    return success();
  return verifyNumber(*this, "scale", getScale()->convertToDouble(),
                      -std::numeric_limits<double>::infinity(), /*exclusive=*/true);
}

LogicalResult LightningIndexerOp::reifyResultShapes(OpBuilder &builder,
                                                    ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> query = dimsOf(builder, getLoc(), getQuery());
  SmallVector<OpFoldResult> key = dimsOf(builder, getLoc(), getKey());
  addShape(builder, shapes, getScores(), {query[0], query[1], key[1]});
  return success();
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                       Adaptor adaptor, SmallVectorImpl<Type> &results) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(adaptor.getScores().getType()).getShape());
  // A verifier says what is wrong with it.
  shape.back() = std::max<int64_t>(adaptor.getK(), 0);
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

LogicalResult TopKOp::verify() {
  if (int64_t(getK()) < 1)
    return emitOpError() << "expected k >= 1, got " << int64_t(getK());
  return success();
}

LogicalResult TopKOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> dims = dimsOf(builder, getLoc(), getScores());
  dims.back() =
      builder.getIndexAttr(getIndices().getType().getDimSize(getIndices().getType().getRank() - 1));
  addShape(builder, shapes, getIndices(), dims);
  return success();
}
