//===- ActivationToLinalg.cpp - activations and gated units as linalg -----===//

#include "Patterns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

static Scalar silu(Scalar x) { return x / (1.0 + exp(-x)); }

static Scalar gelu(Scalar x) {
  constexpr double sqrtHalf = 0.70710678118654752440;
  return 0.5 * x * (1.0 + erf(x * sqrtHalf));
}

static Scalar geluTanh(Scalar x) {
  constexpr double sqrtTwoOverPi = 0.79788456080286535588;
  return 0.5 * x * (1.0 + tanh(sqrtTwoOverPi * (x + 0.044715 * (x * x * x))));
}

static Scalar activate(ActivationKind kind, Scalar x) {
  switch (kind) {
  case ActivationKind::Silu:
    return silu(x);
  case ActivationKind::Gelu:
    return gelu(x);
  case ActivationKind::GeluTanh:
    return geluTanh(x);
  case ActivationKind::Sigmoid:
    return sigmoid(x);
  }
  llvm_unreachable("unknown activation");
}

static Scalar gate(GluKind kind, Scalar g, Scalar u, double limit) {
  switch (kind) {
  case GluKind::Swiglu:
    return silu(g) * u;
  case GluKind::Geglu:
    return gelu(g) * u;
  case GluKind::GegluTanh:
    return geluTanh(g) * u;
  case GluKind::GptOss:
    g = min(g, g.constant(limit));
    u = max(min(u, u.constant(limit)), u.constant(-limit));
    return g / (1.0 + exp(g * -1.702)) * (u + 1.0);
  }
  llvm_unreachable("unknown gated unit");
}

namespace {

struct ActivationToLinalg : AttnToLinalgPattern<ActivationOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(ActivationOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getInput();
    Shape shape = emit.shapeOf(input);
    Type element = getElementTypeOrSelf(input), compute = computeType(input);
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    Value result = emit.elementwise(
        shape, element, {{input, all}}, [&](TensorEmitter &, ArrayRef<Scalar> args) {
          return activate(op.getKind(), args[0].to(compute)).to(element);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct GluToLinalg : AttnToLinalgPattern<GluOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(GluOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getGate();
    Shape shape = emit.shapeOf(input);
    Type element = getElementTypeOrSelf(input), compute = computeType(input);
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    Value result = emit.elementwise(shape, element, {{input, all}, {adaptor.getUp(), all}},
                                    [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                      return gate(op.getKind(), args[0].to(compute),
                                                  args[1].to(compute), op.getLimitValue())
                                          .to(element);
                                    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void heddle::populateActivationToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<ActivationToLinalg, GluToLinalg>(patterns.getContext(), accumulate);
}
