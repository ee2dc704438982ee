//===- RotaryOps.cpp - checks and canonical form of rope ------------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle::attn;

int64_t RopeOp::getRotaryDimValue() {
  if (std::optional<uint64_t> dim = getRotaryDim())
    return static_cast<int64_t>(*dim);
  return cast<RankedTensorType>(getInput().getType()).getDimSize(3);
}

double RopeOp::getAttentionFactorValue() {
  if (std::optional<APFloat> factor = getAttentionFactor())
    return factor->convertToDouble();
  return getScaling() ? getScaling()->attentionFactor() : 1.0;
}

LogicalResult RopeOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getInput()));
  return success();
}

static LogicalResult verifyRotaryDim(RopeOp op, int64_t headDim) {
  if (ShapedType::isDynamic(headDim) && !op.getRotaryDim())
    return op.emitOpError("expected attribute rotary_dim, as dimension 3 of input is dynamic");
  int64_t rotaryDim = op.getRotaryDimValue();
  if (rotaryDim <= 0 || rotaryDim % 2 != 0)
    return op.emitOpError() << "expected rotary_dim to be even and > 0, got " << rotaryDim;
  if (!ShapedType::isDynamic(headDim) && rotaryDim > headDim)
    return op.emitOpError() << "expected rotary_dim (" << rotaryDim
                            << ") to be at most dimension 3 of input (" << headDim << ")";
  return success();
}

/// Frequencies come from theta (then scaling and length may change them) or
/// from an operand.
static LogicalResult verifyFrequencies(RopeOp op) {
  NamedOperand invFreq{"inv_freq", op.getInvFreq()};
  if (static_cast<bool>(invFreq.value) == op.getTheta().has_value())
    return op.emitOpError() << "expected exactly one of theta and inv_freq, got "
                            << (invFreq.value ? "both" : "neither");
  int64_t rotaryDim = op.getRotaryDimValue();
  if (invFreq.value) {
    if (!dimsAgree(invFreq.dim(0), rotaryDim / 2))
      return op.emitOpError() << "expected inv_freq to have " << rotaryDim / 2
                              << " elements (rotary_dim / 2), got " << invFreq.dim(0);
    if (op.getScaling())
      return op.emitOpError("expected no scaling together with inv_freq");
    if (op.getLength())
      return op.emitOpError("expected no length together with inv_freq");
    return success();
  }
  if (failed(verifyNumber(op, "theta", op.getTheta()->convertToDouble(), 1,
                          /*exclusive=*/true)))
    return failure();
  if (op.getLengthAttr() && op.getLengthAttr().getInt() < 0)
    return op.emitOpError() << "expected length >= 0, got " << op.getLengthAttr().getInt();
  if (op.getScaling())
    return op.getScaling()->verifyFor(rotaryDim, [&] { return op.emitOpError(); });
  return success();
}

LogicalResult RopeOp::verify() {
  NamedOperand input{"input", getInput()}, positions{"positions", getPositions()};
  bool perBatch = positions.type().getRank() == 2;
  if ((perBatch && failed(verifySameDim(*this, positions, 0, input, 0))) ||
      failed(verifySameDim(*this, positions, perBatch ? 1 : 0, input, 1)) ||
      failed(verifyRotaryDim(*this, input.dim(3))) || failed(verifyFrequencies(*this)))
    return failure();
  if (getAttentionFactor())
    return verifyNumber(*this, "attention_factor", getAttentionFactor()->convertToDouble(), 0,
                        /*exclusive=*/true);
  return success();
}

namespace {

/// Drops attributes that repeat the default or that nothing reads, so that
/// equal embeddings are equal operations.
struct DropDefaultAttributes : OpRewritePattern<RopeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RopeOp op, PatternRewriter &rewriter) const override {
    int64_t headDim = cast<RankedTensorType>(op.getInput().getType()).getDimSize(3);
    std::optional<RopeScalingAttrInterface> scaling = op.getScaling();
    auto linear = llvm::dyn_cast_or_null<RopeLinearAttr>(op.getScalingAttr());
    bool dropDim = op.getRotaryDim() && op.getRotaryDimValue() == headDim;
    bool dropLinear = linear && linear.getFactor() == 1.0;
    bool dropLength = op.getLength() && !(scaling && scaling->dependsOnLength());
    bool dropFactor = op.getAttentionFactor() && op.getAttentionFactor()->convertToDouble() ==
                                                     (scaling ? scaling->attentionFactor() : 1.0);
    if (!dropDim && !dropLinear && !dropLength && !dropFactor)
      return rewriter.notifyMatchFailure(op, "no attribute is redundant");
    rewriter.modifyOpInPlace(op, [&] {
      if (dropDim)
        op.removeRotaryDimAttr();
      if (dropLinear)
        op.removeScalingAttr();
      if (dropLength)
        op.removeLengthAttr();
      if (dropFactor)
        op.removeAttentionFactorAttr();
    });
    return success();
  }
};

} // namespace

void RopeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropDefaultAttributes>(context);
}
