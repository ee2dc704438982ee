//===- AttentionToLinalg.cpp - softmax attention as linalg ----------------===//
//
//   1. s   = masked scores                  [B, Hk, r, Lq, Lk]  AttentionScores
//   2. m   = max_j s_j                      [B, Hk, r, Lq]
//   3. w   = exp(s - m)                     [B, Hk, r, Lq, Lk]
//   4. l   = sum_j w_j                      [B, Hk, r, Lq]
//   5. acc = sum_j w_j value_j              [B, Lq, Hk, r, dv]
//   6. inv = 1 / (l + exp(sink - m))        [B, Hk, r, Lq]
//   7. o   = acc * inv, rounded             [B, Lq, Hq, dv]
//
// A row that sees no key has m = -inf. Step 3 then uses 0 for m, so that all
// its weights are exp(-inf) = 0, and step 6 gives 0. The statistics follow from
// m and l, and only if they are asked for.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Loop dimensions of scores and row statistics.
enum RowDim : unsigned { b, h, r, i, j };

bool isDynamicDim(Value tensor, unsigned dim) {
  return cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim);
}

/// A tensor over rows of scores, as an input of loops that start with b, h, r,
/// i.
TensorEmitter::Input perRow(Value rows) { return {rows, {b, h, r, i}}; }

/// `value` with rows at or past kv_len set to 0: a weight of 0 times NaN in
/// padding memory would be NaN.
Value emitValidValues(TensorEmitter &emit, const AttentionParts &parts) {
  AttentionOp::Adaptor operands = parts.operands;
  Value value = parts.source.value();
  if (!operands.getKvLen() || parts.source.areCleared())
    return value;
  Shape shape = {parts.batch, parts.keys, parts.keyHeads, parts.valueDim};
  return emit.elementwise(shape, getElementTypeOrSelf(value),
                          {{value, {0, 1, 2, 3}}, {operands.getKvLen(), {0}}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            Value row = linalg::IndexOp::create(body, 1);
                            Value valid = arith::CmpIOp::create(body, arith::CmpIPredicate::slt,
                                                                row, body.toIndex(args[1]));
                            return select(valid, args[0], args[0].constant(0.0));
                          });
}

/// The same with keys per query. What has no weight is not added, so that no hidden key reaches a query that does not list it.
Value emitGatheredSum(TensorEmitter &emit, const AttentionParts &parts, const Shape &shape,
                      Value weights) {
  // Loops are b, i, h, r, e, j.
  return emit.reduceLast(
      shape, parts.compute, 0.0, {{weights, {0, 2, 3, 1, 5}}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        auto loop = [&](unsigned dim) -> Value { return linalg::IndexOp::create(body, dim); };
        AttentionKeys::Pair pair = parts.source.pair(body, loop(0), loop(2), loop(1), loop(5));
        Value value = tensor::ExtractOp::create(body, parts.source.value(),
                                                ValueRange{pair.batch, pair.row, loop(2), loop(4)});
        Scalar sum = args[1] + args[0] * body.scalar(value).to(parts.compute);
        return select(equal(args[0], 0.0), args[1], sum);
      });
}

/// sum_j w_j value_j, in the order of the output.
Value emitWeightedSum(TensorEmitter &emit, const AttentionParts &parts, Value weights) {
  enum : unsigned { e = 4, key = 5 };
  Shape shape = {parts.batch, parts.queries, parts.keyHeads, parts.group, parts.valueDim};
  if (parts.source.arePerQuery())
    return emitGatheredSum(emit, parts, shape, weights);
  Value values = emitValidValues(emit, parts);
  return emit.contract(weights, {b, h, r, i, key}, values, {b, key, h, e}, shape, {b, i, h, r, e},
                       /*loops=*/6, parts.compute);
}

/// 1 / (l + exp(sink - m)), and 0 for rows that see no key.
///
/// With a sink both terms are taken relative to M = max(m, sink), so that
/// neither overflows: inv = a / (l a + exp(sink - M)), a = exp(m - M).
/// A sink of -inf gives M = m and 1 / l; a sink of +inf takes all weight.
Value emitInverseDenominator(TensorEmitter &emit, const AttentionParts &parts, const Shape &rows,
                             Value maximum, Value sum) {
  AttentionOp::Adaptor operands = parts.operands;
  Value sinks = operands.getSinks();
  if (!sinks)
    return emit.elementwise(rows, parts.compute, {perRow(sum)},
                            [&](TensorEmitter &, ArrayRef<Scalar> args) {
                              Scalar l = args[0];
                              return select(equal(l, 0.0), l.constant(0.0), 1.0 / l);
                            });
  Value split = emit.splitDim(sinks, 0, parts.keyHeads, parts.group);
  return emit.elementwise(rows, parts.compute, {perRow(sum), perRow(maximum), {split, {h, r}}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            Scalar l = args[0], m = args[1], sink = args[2].to(parts.compute);
                            Scalar larger = max(m, sink);
                            Scalar a = exp(m - larger);
                            Scalar inverse = a / (l * a + exp(sink - larger));
                            Value zero = arith::OrIOp::create(body, equal(m, -infinity),
                                                              equal(sink, infinity));
                            return select(zero, l.constant(0.0), inverse);
                          });
}

/// m + ln(l) as [B, Hq, Lq] in f32; -inf for rows that see no key.
Value emitLse(TensorEmitter &emit, const AttentionParts &parts, const Shape &rows, Value maximum,
              Value sum) {
  Type f32 = emit.getF32Type();
  Value lse = emit.elementwise(rows, f32, {perRow(maximum), perRow(sum)},
                               [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                 Scalar m = args[0];
                                 return select(equal(m, -infinity), m, m + log(args[1])).to(f32);
                               });
  return emit.joinDims(lse, 1);
}

/// m as [B, Hq, Lq] in f32.
Value emitMaxLogit(TensorEmitter &emit, const Shape &rows, Value maximum) {
  Type f32 = emit.getF32Type();
  Value rounded =
      emit.elementwise(rows, f32, {perRow(maximum)},
                       [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(f32); });
  return emit.joinDims(rounded, 1);
}

/// exp(sink - m) / (l + exp(sink - m)) as [B, Hq, Lq] in f32, with both terms
/// relative to M = max(m, sink) as in emitInverseDenominator. A sink of -inf
/// takes nothing, also of a row that sees no key.
Value emitSinkMass(TensorEmitter &emit, const AttentionParts &parts, const Shape &rows,
                   Value maximum, Value sum) {
  Type f32 = emit.getF32Type();
  AttentionOp::Adaptor operands = parts.operands;
  Value split = emit.splitDim(operands.getSinks(), 0, parts.keyHeads, parts.group);
  Value mass =
      emit.elementwise(rows, f32, {perRow(sum), perRow(maximum), {split, {h, r}}},
                       [&](TensorEmitter &, ArrayRef<Scalar> args) {
                         Scalar l = args[0], m = args[1], sink = args[2].to(parts.compute);
                         Scalar larger = max(m, sink);
                         Scalar weight = exp(sink - larger);
                         Scalar share = weight / (l * exp(m - larger) + weight);
                         share = select(equal(sink, infinity), l.constant(1.0), share);
                         return select(equal(sink, -infinity), l.constant(0.0), share).to(f32);
                       });
  return emit.joinDims(mass, 1);
}

/// The weight of key 0 as the output has it, as [B, Hq, Lq] in f32; 0 without keys.
Value emitFirstKeyMass(TensorEmitter &emit, const AttentionParts &parts, const Shape &rows,
                       Value weights, Value inverse) {
  Type f32 = emit.getF32Type();
  Value first = emit.reduceLast(
      rows, parts.compute, 0.0, {{weights, {b, h, r, i, j}}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Value key = linalg::IndexOp::create(body, j);
        // Of a column that is no key the weight is 0.
        if (parts.source.arePerQuery())
          key = parts.source
                    .pair(body, linalg::IndexOp::create(body, b), linalg::IndexOp::create(body, h),
                          linalg::IndexOp::create(body, i), key)
                    .position;
        Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::eq, key, body.index(0));
        return args[1] + select(isFirst, args[0], args[0].constant(0.0));
      });
  Value mass = emit.elementwise(
      rows, f32, {perRow(first), perRow(inverse)},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return (args[0] * args[1]).to(f32); });
  return emit.joinDims(mass, 1);
}

struct AttentionToLinalg : AttnToLinalgPattern<AttentionOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(AttentionOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // A view that splits one dimension into two dynamic ones has no strides.
    if (isDynamicDim(adaptor.getKey(), 2) && isDynamicDim(adaptor.getValue(), 2))
      return rewriter.notifyMatchFailure(op, "dynamic number of key heads");
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute = computeType({adaptor.getQuery(), adaptor.getKey(), adaptor.getValue()});
    Type element = getElementTypeOrSelf(adaptor.getQuery());
    AttentionParts parts(emit, op, adaptor, compute);
    Shape rows = {parts.batch, parts.keyHeads, parts.group, parts.queries};
    Shape pairs = rows;
    pairs.push_back(parts.keys);

    Value scores = emitMaskedScores(emit, parts);
    Value maximum = emit.reduceLast(
        rows, compute, -infinity, {{scores, {b, h, r, i, j}}},
        [](TensorEmitter &, ArrayRef<Scalar> args) { return max(args[1], args[0]); });
    Value weights =
        emit.elementwise(pairs, compute, {{scores, {b, h, r, i, j}}, perRow(maximum)},
                         [](TensorEmitter &, ArrayRef<Scalar> args) {
                           Scalar s = args[0], m = args[1];
                           return exp(s - select(equal(m, -infinity), m.constant(0.0), m));
                         });
    Value sum =
        emit.reduceLast(rows, compute, 0.0, {{weights, {b, h, r, i, j}}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
    Value weighted = emitWeightedSum(emit, parts, weights);
    Value inverse = emitInverseDenominator(emit, parts, rows, maximum, sum);
    Shape shape = {parts.batch, parts.queries, parts.keyHeads, parts.group, parts.valueDim};
    // Loops here are b, i, h, r, e.
    Value output = emit.elementwise(
        shape, element, {{weighted, {0, 1, 2, 3, 4}}, {inverse, {0, 2, 3, 1}}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return (args[0] * args[1]).to(element); });

    SmallVector<Value> results = {emit.castTo(emit.joinDims(output, 2), op.getOutput().getType())};
    auto addStatistic = [&](Value result, llvm::function_ref<Value()> emitRows) {
      if (result)
        results.push_back(emit.castTo(emitRows(), result.getType()));
    };
    addStatistic(op.getLse(), [&] { return emitLse(emit, parts, rows, maximum, sum); });
    addStatistic(op.getMaxLogit(), [&] { return emitMaxLogit(emit, rows, maximum); });
    addStatistic(op.getSinkMass(), [&] { return emitSinkMass(emit, parts, rows, maximum, sum); });
    addStatistic(op.getFirstKeyMass(),
                 [&] { return emitFirstKeyMass(emit, parts, rows, weights, inverse); });
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void heddle::populateAttentionToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<AttentionToLinalg>(patterns.getContext(), accumulate);
}
