//===- NormToLinalg.cpp - normalisations as linalg ------------------------===//

#include "Activations.h"
#include "Patterns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

/// The rows of a tensor: all dimensions but the last, which has `width`
/// elements.
struct Rows {
  Rows(TensorEmitter &emit, Value input, Type compute)
      : input(input), element(getElementTypeOrSelf(input)), compute(compute),
        shape(emit.shapeOf(input)), outer(shape.begin(), shape.end() - 1) {
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      all.push_back(dim);
    row.assign(all.begin(), all.end() - 1);
    channel.push_back(all.back());
    if (std::optional<int64_t> size = getConstantIntValue(shape.back()))
      width = emit.constant(compute, static_cast<double>(*size));
    else
      width = emit.indexToFloat(emit.asIndex(shape.back()), compute);
  }

  Scalar getWidth(TensorEmitter &emit) const { return emit.scalar(width); }

  Value input;
  Type element, compute;
  Shape shape, outer;
  SmallVector<unsigned> all, row, channel;
  Value width;
};

/// sum x^2 over the last dimension
Value emitSquares(TensorEmitter &emit, const Rows &rows) {
  return emit.reduceLast(rows.outer, rows.compute, 0.0, {{rows.input, rows.all}},
                         [&](TensorEmitter &, ArrayRef<Scalar> args) {
                           Scalar x = args[0].to(rows.compute);
                           return args[1] + x * x;
                         });
}

/// 1 / sqrt(sum x^2 / D + eps)
Value emitRmsFactor(TensorEmitter &emit, const Rows &rows, double eps) {
  return emit.elementwise(rows.outer, rows.compute, {{emitSquares(emit, rows), rows.row}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            return 1.0 / sqrt(args[0] / rows.getWidth(body) + eps);
                          });
}

/// y = x / sqrt(sum x^2 / D + eps) * w
struct RmsNormToLinalg : AttnToLinalgPattern<RmsNormOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(RmsNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Rows rows(emit, adaptor.getInput(), computeType(adaptor.getInput()));
    Value factor = emitRmsFactor(emit, rows, op.getEps().convertToDouble());
    Value result = emit.elementwise(
        rows.shape, rows.element,
        {{rows.input, rows.all}, {factor, rows.row}, {adaptor.getWeight(), rows.channel}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar w = args[2].to(rows.compute);
          if (op.getPlusOne())
            w = 1.0 + w;
          return (args[0].to(rows.compute) * args[1] * w).to(rows.element);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// y = (x - mean) / sqrt(sum (x - mean)^2 / D + eps) * w + b
///
/// The mean is corrected once by the mean of what is left. Without that, the
/// rounding of the sum shows in a constant row, which must give the bias.
struct LayerNormToLinalg : AttnToLinalgPattern<LayerNormOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(LayerNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Rows rows(emit, adaptor.getInput(), computeType(adaptor.getInput()));
    double eps = op.getEps().convertToDouble();

    Value sum = emit.reduceLast(
        rows.outer, rows.compute, 0.0, {{rows.input, rows.all}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0].to(rows.compute); });
    Value roughMean = emit.elementwise(
        rows.outer, rows.compute, {{sum, rows.row}},
        [&](TensorEmitter &body, ArrayRef<Scalar> args) { return args[0] / rows.getWidth(body); });
    Value rest = emit.reduceLast(rows.outer, rows.compute, 0.0,
                                 {{rows.input, rows.all}, {roughMean, rows.row}},
                                 [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                   return args[2] + (args[0].to(rows.compute) - args[1]);
                                 });
    Value mean =
        emit.elementwise(rows.outer, rows.compute, {{roughMean, rows.row}, {rest, rows.row}},
                         [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                           return args[0] + args[1] / rows.getWidth(body);
                         });
    Value squares =
        emit.reduceLast(rows.outer, rows.compute, 0.0, {{rows.input, rows.all}, {mean, rows.row}},
                        [&](TensorEmitter &, ArrayRef<Scalar> args) {
                          Scalar centred = args[0].to(rows.compute) - args[1];
                          return args[2] + centred * centred;
                        });
    Value factor = emit.elementwise(rows.outer, rows.compute, {{squares, rows.row}},
                                    [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                                      return 1.0 / sqrt(args[0] / rows.getWidth(body) + eps);
                                    });

    SmallVector<TensorEmitter::Input> inputs = {{rows.input, rows.all},
                                                {mean, rows.row},
                                                {factor, rows.row},
                                                {adaptor.getWeight(), rows.channel}};
    if (adaptor.getBias())
      inputs.push_back({adaptor.getBias(), rows.channel});
    Value result = emit.elementwise(
        rows.shape, rows.element, inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar y = (args[0].to(rows.compute) - args[1]) * args[2] * args[3].to(rows.compute);
          if (args.size() > 4)
            y = y + args[4].to(rows.compute);
          return y.to(rows.element);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// y = x / sqrt(sum x^2 / D + eps) * w * act(gate)
struct GatedRmsNormToLinalg : AttnToLinalgPattern<GatedRmsNormOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(GatedRmsNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Rows rows(emit, adaptor.getInput(), computeType(adaptor.getInput()));
    Value factor = emitRmsFactor(emit, rows, op.getEps().convertToDouble());
    Value result = emit.elementwise(
        rows.shape, rows.element,
        {{rows.input, rows.all},
         {factor, rows.row},
         {adaptor.getWeight(), rows.channel},
         {adaptor.getGate(), rows.all}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar gate = args[3].to(rows.compute);
          gate = op.getKind() == ActivationKind::Silu ? silu(gate) : sigmoid(gate);
          return (args[0].to(rows.compute) * args[1] * args[2].to(rows.compute) * gate)
              .to(rows.element);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// y = x / sqrt(sum x^2 + eps)
struct L2NormToLinalg : AttnToLinalgPattern<L2NormOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(L2NormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Rows rows(emit, adaptor.getInput(), computeType(adaptor.getInput()));
    double eps = op.getEps().convertToDouble();
    Value factor = emit.elementwise(
        rows.outer, rows.compute, {{emitSquares(emit, rows), rows.row}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return 1.0 / sqrt(args[0] + eps); });
    Value result =
        emit.elementwise(rows.shape, rows.element, {{rows.input, rows.all}, {factor, rows.row}},
                         [&](TensorEmitter &, ArrayRef<Scalar> args) {
                           return (args[0].to(rows.compute) * args[1]).to(rows.element);
                         });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void heddle::populateNormToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<RmsNormToLinalg, LayerNormToLinalg, GatedRmsNormToLinalg, L2NormToLinalg>(
      patterns.getContext(), accumulate);
}
