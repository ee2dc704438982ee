//===- ActivationToLinalg.cpp - activations and gated units as linalg -----===//

#include "Activations.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

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
  case ActivationKind::EluPlusOne: {
    // One of the two terms is that of x = 0.
    Scalar zero = x.constant(0.0);
    return max(x, zero) + exp(min(x, zero));
  }
  case ActivationKind::Relu:
    return max(x, x.constant(0.0));
  case ActivationKind::SquaredRelu: {
    Scalar positive = max(x, x.constant(0.0));
    return positive * positive;
  }
  }
  llvm_unreachable("unknown activation");
}

Scalar heddle::gatedUnit(GluKind kind, Scalar g, Scalar u, double limit) {
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
  case GluKind::Sigmoid:
    return sigmoid(g) * u;
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
                                      return gatedUnit(op.getKind(), args[0].to(compute),
                                                       args[1].to(compute), op.getLimitValue())
                                          .to(element);
                                    });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// exp(+-2 x - m) / sum, with m = 2 max |x| and the sum over both signs.
struct SoftmaxFeaturesToLinalg : AttnToLinalgPattern<SoftmaxFeaturesOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(SoftmaxFeaturesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getInput();
    Type element = getElementTypeOrSelf(input), compute = computeType(input);
    Shape shape = emit.shapeOf(input), outer(shape.begin(), shape.end() - 1);
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    SmallVector<unsigned> row(all.begin(), all.end() - 1);
    Value largest = emit.reduceLast(outer, compute, 0.0, {{input, all}},
                                    [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                      return max(args[1], abs(args[0].to(compute)));
                                    });
    Value sum =
        emit.reduceLast(outer, compute, 0.0, {{input, all}, {largest, row}},
                        [&](TensorEmitter &, ArrayRef<Scalar> args) {
                          Scalar x = args[0].to(compute);
                          return args[2] + (exp((x - args[1]) * 2.0) + exp((x + args[1]) * -2.0));
                        });
    // Loops: the row, the sign, the channel.
    Shape signs = outer;
    signs.append({emit.getIndexAttr(2), shape.back()});
    SmallVector<unsigned> channel = row;
    channel.push_back(signs.size() - 1);
    Value features =
        emit.elementwise(signs, element, {{input, channel}, {largest, row}, {sum, row}},
                         [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                           Scalar x = args[0].to(compute);
                           Value sign = linalg::IndexOp::create(body, outer.size());
                           Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                                                 sign, body.index(0));
                           Scalar distance = select(isFirst, x - args[1], -(x + args[1]));
                           return (exp(distance * 2.0) / args[2]).to(element);
                         });
    rewriter.replaceOp(op, emit.joinDims(features, outer.size()));
    return success();
  }
};

} // namespace

void heddle::populateActivationToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<ActivationToLinalg, GluToLinalg, SoftmaxFeaturesToLinalg>(patterns.getContext(),
                                                                         accumulate);
}
