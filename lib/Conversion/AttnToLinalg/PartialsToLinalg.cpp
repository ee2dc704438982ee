//===- PartialsToLinalg.cpp - merges of partial results as linalg ---------===//
//
//   m    = max_s lse_s                             [B, Hq, Lq]
//   w    = exp(lse_s - m), 0 where lse_s is -inf   [B, Hq, Lq, S]
//   l    = sum_s w_s                               [B, Hq, Lq]
//   acc  = sum_s w_s partial_s                     [B, Lq, Hq, dv]
//   o    = acc / (l + exp(sink - m))               [B, Lq, Hq, dv]
//
// If one part alone has a weight, that is 1, and l is 1: so its results pass
// unchanged. The sum begins with -0, which even keeps the sign of a zero.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct MergePartialsToLinalg : AttnToLinalgPattern<MergePartialsOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(MergePartialsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    enum : unsigned { b, h, i, s };
    TensorEmitter emit(op.getLoc(), rewriter);
    Value partial = adaptor.getPartial(), partialLse = adaptor.getPartialLse();
    Value sinks = adaptor.getSinks();
    Type compute = computeType({partial});
    OpFoldResult parts = emit.sizeOf({{partialLse, 0}, {partial, 0}});
    Shape rows = {emit.sizeOf({{partialLse, 1}, {partial, 1}}),
                  emit.sizeOf({{partialLse, 2}, {partial, 3}}),
                  emit.sizeOf({{partialLse, 3}, {partial, 2}})};
    Shape ofParts = rows;
    ofParts.push_back(parts);
    TensorEmitter::Input lseOfParts{partialLse, {s, b, h, i}};
    auto perRow = [&](Value tensor) { return TensorEmitter::Input{tensor, {b, h, i}}; };

    Value maximum = emit.reduceLast(
        rows, compute, -infinity, {lseOfParts},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return max(args[1], args[0].to(compute)); });
    Value weights = emit.elementwise(ofParts, compute, {lseOfParts, perRow(maximum)},
                                     [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                       Scalar lse = args[0].to(compute);
                                       return select(equal(lse, -infinity), lse.constant(0.0),
                                                     exp(lse - args[1]));
                                     });
    Value sum =
        emit.reduceLast(rows, compute, 0.0, {{weights, {b, h, i, s}}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });

    // Loops here are b, i, h, e, s.
    Shape outputShape = {rows[0], rows[2], rows[1], emit.sizeOf({{partial, 4}})};
    Value weighted = emit.reduceLast(outputShape, compute, -0.0,
                                     {{weights, {0, 2, 1, 4}}, {partial, {4, 0, 1, 2, 3}}},
                                     [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                       Scalar next = args[2] + args[0] * args[1].to(compute);
                                       return select(equal(args[0], 0.0), args[2], next);
                                     });
    Type element = getElementTypeOrSelf(op.getOutput().getType());
    SmallVector<TensorEmitter::Input> inputs = {
        {weighted, {0, 1, 2, 3}}, {maximum, {0, 2, 1}}, {sum, {0, 2, 1}}};
    if (sinks)
      inputs.push_back({sinks, {2}});
    Value output = emit.elementwise(
        outputShape, element, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar acc = args[0], m = args[1], l = args[2];
          Value isZero = equal(m, -infinity);
          if (sinks) {
            // Relative to the larger of both, so that neither overflows.
            Scalar sink = args[3].to(compute), larger = max(m, sink), a = exp(m - larger);
            acc = acc * a;
            l = l * a + exp(sink - larger);
            isZero = arith::OrIOp::create(body, isZero, equal(sink, infinity));
          }
          // The quotient of a GPU's division by 1 has the sign of a zero lost.
          Scalar quotient = select(equal(l, 1.0), acc, acc / l);
          return select(isZero, acc.constant(0.0), quotient).to(element);
        });
    Value lse = emit.elementwise(
        rows, emit.getF32Type(), {perRow(maximum), perRow(sum)},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar m = args[0];
          return select(equal(m, -infinity), m, m + log(args[1])).to(emit.getF32Type());
        });
    rewriter.replaceOp(op, {emit.castTo(output, op.getOutput().getType()),
                            emit.castTo(lse, op.getLse().getType())});
    return success();
  }
};

} // namespace

void heddle::populatePartialsToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<MergePartialsToLinalg>(patterns.getContext(), accumulate);
}
