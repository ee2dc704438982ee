//===- DecayGateToLinalg.cpp - decay gates as linalg ----------------------===//

#include "Activations.h"
#include "Patterns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

/// ln(1 + exp(x)) = max(x, 0) + ln(1 + t), t = exp(-|x|) <= 1. Where t is lost in u = 1 + t, the logarithm is corrected by the part of t
/// that u holds: ln(1 + t) = ln(u) t / (u - 1).
static Scalar softplus(Scalar x) {
  Scalar t = exp(-abs(x)), u = 1.0 + t;
  Scalar corrected = log(u) * (t / (u + -1.0));
  return max(x, x.constant(0.0)) + select(equal(u, 1.0), t, corrected);
}

namespace {

struct DecayGateToLinalg : AttnToLinalgPattern<DecayGateOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(DecayGateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getInput();
    Type element = getElementTypeOrSelf(op.getOutput()), compute = computeType(input);
    Shape shape = emit.shapeOf(input);
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    unsigned biasRank = cast<RankedTensorType>(adaptor.getDtBias().getType()).getRank();
    SmallVector<unsigned> channel(all.end() - biasRank, all.end());
    Value result = emit.elementwise(
        shape, element,
        {{input, all}, {adaptor.getALog(), {channel.front()}}, {adaptor.getDtBias(), channel}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar x = args[0].to(compute) + args[2].to(compute), rate = exp(args[1].to(compute));
          if (op.getLowerBound())
            return (op.getLowerBound()->convertToDouble() * sigmoid(rate * x)).to(element);
          return (-(rate * softplus(x))).to(element);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void heddle::populateDecayGateToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<DecayGateToLinalg>(patterns.getContext(), accumulate);
}
