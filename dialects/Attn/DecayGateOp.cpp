//===- DecayGateOp.cpp - types and checks of decay gates ------------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

LogicalResult DecayGateOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                            Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  bool isDouble = input.getElementType().isF64();
  results.push_back(input.clone(isDouble ? input.getElementType() : Float32Type::get(context)));
  return success();
}

LogicalResult DecayGateOp::verify() {
  NamedOperand input{"input", getInput()}, aLog{"a_log", getALog()}, dtBias{"dt_bias", getDtBias()};
  unsigned rank = input.type().getRank(), biasRank = dtBias.type().getRank();
  if (rank < biasRank)
    return emitOpError() << "expected input to have at least the rank of dt_bias (" << biasRank
                         << "), got " << rank;
  for (unsigned dim = 0; dim < biasRank; ++dim)
    if (failed(verifySameDim(*this, dtBias, dim, input, rank - biasRank + dim)))
      return failure();
  if (failed(verifySameDim(*this, aLog, 0, input, rank - biasRank)) ||
      failed(verifySameDim(*this, aLog, 0, dtBias, 0)))
    return failure();
  if (!getLowerBound())
    return success();
  double bound = getLowerBound()->convertToDouble();
  if (std::isfinite(bound) && bound < 0)
    return success();
  return emitOpError() << "expected a finite lower_bound < 0, got " << numberText(bound);
}

LogicalResult DecayGateOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}
