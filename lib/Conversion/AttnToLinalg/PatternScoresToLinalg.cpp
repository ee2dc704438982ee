//===- PatternScoresToLinalg.cpp - pattern scores by blocks of queries ----===//
//
// A loop over blocks of up to 16 queries, so that scores need memory for a block of rows only. The last block ends with the last query
// and may compute some rows again. One block, with p the positions of its queries:
//
//   1. s    = masked scores                                   [B, Hk, r, block, Lk]
//   2. m    = max_j s_j, w = exp(s - m), l = sum_j w_j
//   3. inv  = 1 / (l + exp(sink - m))                         [B, Hk, r, block]
//   4. mass = inv * sum of w_j over the keys j of a pattern, 0 for queries that do not count
//
// Behind the loop: score = sum of the masses / number of queries that count.
//
//===----------------------------------------------------------------------===//

#include "ExtentChecks.h"
#include "Patterns.h"
#include "Sequences.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t blockRows = 16;

/// Loop dimensions of scores.
enum Dim : unsigned { b, h, r, i, j, d };

Value isTrue(TensorEmitter &emit, arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(emit, predicate, x, y);
}

Value both(TensorEmitter &emit, Value x, Value y) { return arith::AndIOp::create(emit, x, y); }

Value isBetween(TensorEmitter &emit, Value low, Value x, Value high) {
  return both(emit, isTrue(emit, arith::CmpIPredicate::sle, low, x),
              isTrue(emit, arith::CmpIPredicate::sle, x, high));
}

/// Operands and extents of one operation, and what a block of its queries is.
class PatternScores {
public:
  PatternScores(TensorEmitter &emit, PatternScoresOp op, PatternScoresOp::Adaptor operands,
                Type compute)
      : op(op), operands(operands), compute(compute) {
    Value query = operands.getQuery(), key = operands.getKey();
    auto heads = [](Value tensor) {
      return cast<RankedTensorType>(tensor.getType()).getDimSize(2);
    };
    batch = emit.sizeOf({{query, 0}, {key, 0}});
    queries = emit.sizeOf({{query, 1}});
    keys = emit.sizeOf({{key, 1}});
    keyHeads = emit.getIndexAttr(heads(key));
    group = emit.getIndexAttr(heads(query) / heads(key));
    lastQuery = emit.asIndex(queries);
    keyCount = emit.asIndex(keys);
    if (operands.getKvLen())
      RequireRangeOp::create(emit, operands.getKvLen(), emit.index(0), keyCount, "kv_len");
    auto require = [&](StringRef name, Value tensor, unsigned dim, StringRef otherName,
                       unsigned otherDim, OpFoldResult extent) {
      requireEqualExtents(emit, "pattern_scores", {name, dim, emit.sizeOf({{tensor, dim}})},
                          {otherName, otherDim, extent});
    };
    require("key", key, 0, "query", 0, batch);
    require("key", key, 3, "query", 3, emit.sizeOf({{query, 3}}));
    if (Value tokens = operands.getTokens()) {
      unsigned rank = cast<RankedTensorType>(tokens.getType()).getRank();
      require("tokens", tokens, rank - 1, "key", 1, keys);
      if (rank == 2)
        require("tokens", tokens, 0, "query", 0, batch);
    }
    if (Value sinks = operands.getSinks()) {
      require("sinks", sinks, 0, "query", 2, emit.getIndexAttr(heads(query)));
      splitSinks = emit.splitDim(sinks, 0, keyHeads, group);
    }
  }

  /// The masses of all patterns, [B, Hk, r, Lq] each.
  SmallVector<Value> emitMasses(TensorEmitter &emit) const {
    SmallVector<Value> inits;
    for (size_t number = 0; number < op.getPatterns().size(); ++number)
      inits.push_back(emit.empty({batch, keyHeads, group, queries}, compute));
    Value rows = emit.createOrFold<arith::MinSIOp>(lastQuery, emit.index(blockRows));
    Value more = arith::AddIOp::create(emit, lastQuery, emit.index(blockRows - 1));
    Value blocks = arith::DivSIOp::create(emit, more, emit.index(blockRows));
    Value lastStart = arith::SubIOp::create(emit, lastQuery, rows);
    return SmallVector<Value>(
        forEachStep(emit, blocks, inits, [&](TensorEmitter &body, Value number, ValueRange now) {
          Value place = arith::MulIOp::create(body, number, body.index(blockRows));
          Value start = arith::MinSIOp::create(body, place, lastStart);
          return emitBlock(body, start, getAsOpFoldResult(rows), now);
        }));
  }

  /// Means of masses over the queries that count: [B, Hq] in f32.
  Value emitScore(TensorEmitter &emit, PatternKind kind, Value masses) const {
    Shape outer = {batch, keyHeads, group};
    Value sum =
        emit.reduceLast(outer, compute, 0.0, {{masses, {b, h, r, i}}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
    SmallVector<TensorEmitter::Input> inputs = {{masses, {b, h, r, i}}};
    addLengths(inputs);
    Value count = emit.reduceLast(
        outer, compute, 0.0, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar before = args.back();
          Value position = emitPosition(body, body.index(0), lengthOf(args));
          return before + select(emitCounts(body, kind, position), before.constant(1.0),
                                 before.constant(0.0));
        });
    Type f32 = emit.getF32Type();
    Value mean = emit.elementwise(outer, f32, {{sum, {b, h, r}}, {count, {b, h, r}}},
                                  [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                    return (args[0] / max(args[1], args[1].constant(1.0))).to(f32);
                                  });
    return emit.joinDims(mean, 1);
  }

private:
  void addLengths(SmallVectorImpl<TensorEmitter::Input> &inputs) const {
    if (operands.getKvLen())
      inputs.push_back({operands.getKvLen(), {b}});
  }
  /// kv_len, which addLengths made the last of the inputs; they may have an accumulator behind them.
  Value lengthOf(ArrayRef<Scalar> args) const {
    return operands.getKvLen() ? Value(args[1]) : Value();
  }

  /// p of the query that loop dimension i stands for, counted from `start`.
  Value emitPosition(TensorEmitter &body, Value start, Value length) const {
    Value valid = length ? body.toIndex(length) : keyCount;
    Value offset = arith::SubIOp::create(body, valid, lastQuery);
    Value query = arith::AddIOp::create(body, start, linalg::IndexOp::create(body, i));
    return arith::AddIOp::create(body, query, offset);
  }

  /// Whether a query at `position` counts for the score.
  Value emitCounts(TensorEmitter &body, PatternKind kind, Value position) const {
    int64_t first = 0;
    if (kind == PatternKind::SinkFrom1 || kind == PatternKind::PreviousToken)
      first = 1;
    if (kind == PatternKind::InductionDiagonal) {
      int64_t block = int64_t(*op.getBlock()), begin = int64_t(op.getFirst().value_or(0));
      return isBetween(body, body.index(begin + block), position,
                       body.index(begin + 2 * block - 1));
    }
    return isTrue(body, arith::CmpIPredicate::sge, position, body.index(first));
  }

  Value readToken(TensorEmitter &body, Value position) const {
    // What stands at no position is not used.
    Value inside = arith::MaxSIOp::create(body, position, body.index(0));
    SmallVector<Value> place = {inside};
    if (cast<RankedTensorType>(operands.getTokens().getType()).getRank() == 2)
      place.insert(place.begin(), linalg::IndexOp::create(body, b));
    return tensor::ExtractOp::create(body, operands.getTokens(), place);
  }

  /// Whether a key belongs to the pattern of a query.
  Value emitBelongs(TensorEmitter &body, PatternKind kind, Value key, Value query) const {
    auto back = [&](Value from, int64_t distance) -> Value {
      return arith::SubIOp::create(body, from, body.index(distance));
    };
    auto isEqual = [&](Value x, Value y) { return isTrue(body, arith::CmpIPredicate::eq, x, y); };
    switch (kind) {
    case PatternKind::Sink:
    case PatternKind::SinkFrom1:
      return isEqual(key, body.index(0));
    case PatternKind::PreviousToken:
      return isEqual(key, back(query, 1));
    case PatternKind::LocalWindow:
      return isBetween(body, back(query, int64_t(*op.getLocal()) - 1), key, query);
    case PatternKind::DuplicateToken:
      return both(body, isTrue(body, arith::CmpIPredicate::slt, key, query),
                  isEqual(readToken(body, key), readToken(body, query)));
    case PatternKind::InductionToken:
      return both(body, isBetween(body, body.index(1), key, query),
                  isEqual(readToken(body, back(key, 1)), readToken(body, query)));
    case PatternKind::InductionDiagonal:
      return isEqual(key, back(query, int64_t(*op.getBlock()) - 1));
    case PatternKind::LearnedSink:
      break;
    }
    llvm_unreachable("a learned sink is no key");
  }

  Value emitMaskedScores(TensorEmitter &emit, Value start, const Shape &shape) const {
    OpFoldResult zero = emit.getIndexAttr(0);
    Shape sizes = emit.shapeOf(operands.getQuery());
    sizes[0] = batch;
    sizes[1] = shape[i];
    Value part = emit.extract(operands.getQuery(), {zero, start, zero, zero}, sizes, 0);
    Value raw = emit.contract(emit.splitDim(part, 2, keyHeads, group), {b, i, h, r, d},
                              operands.getKey(), {b, j, h, d}, shape, {b, h, r, i, j},
                              /*loops=*/6, compute);
    SmallVector<TensorEmitter::Input> inputs = {{raw, {b, h, r, i, j}}};
    addLengths(inputs);
    return emit.elementwise(
        shape, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar s = args[0] * op.getScaleValue();
          if (op.getSoftcap()) {
            double softcap = op.getSoftcap()->convertToDouble();
            s = softcap * tanh(s / softcap);
          }
          return select(emitVisible(body, start, lengthOf(args)), s, s.constant(-infinity));
        });
  }

  Value emitVisible(TensorEmitter &body, Value start, Value length) const {
    Value key = linalg::IndexOp::create(body, j), query = emitPosition(body, start, length);
    Value end = length ? body.toIndex(length) : keyCount;
    Value visible = isTrue(body, arith::CmpIPredicate::slt, key, end);
    if (op.getCausal())
      visible = both(body, visible, isTrue(body, arith::CmpIPredicate::sle, key, query));
    if (op.getWindowLeft() >= 0) {
      Value low = arith::SubIOp::create(body, query, body.index(op.getWindowLeft()));
      visible = both(body, visible, isTrue(body, arith::CmpIPredicate::sge, key, low));
    }
    if (op.getWindowRight() >= 0) {
      Value high = arith::AddIOp::create(body, query, body.index(op.getWindowRight()));
      visible = both(body, visible, isTrue(body, arith::CmpIPredicate::sle, key, high));
    }
    return visible;
  }

  /// The part of the denominator that exp(s - m) of a key is multiplied with, or the sink's share; both terms are relative to
  /// max(m, sink), so that neither overflows.
  Value emitRows(TensorEmitter &emit, const Shape &rows, Value maximum, Value sum,
                 bool shareOfSink) const {
    SmallVector<TensorEmitter::Input> inputs = {{sum, {b, h, r, i}}, {maximum, {b, h, r, i}}};
    if (splitSinks)
      inputs.push_back({splitSinks, {h, r}});
    return emit.elementwise(rows, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
      Scalar l = args[0], m = args[1], zero = l.constant(0.0);
      if (args.size() == 2)
        return select(equal(l, 0.0), zero, 1.0 / l);
      Scalar sink = args[2].to(compute), larger = max(m, sink);
      Scalar a = exp(m - larger), weight = exp(sink - larger), total = l * a + weight;
      if (shareOfSink) {
        Scalar share = select(equal(sink, infinity), l.constant(1.0), weight / total);
        return select(equal(sink, -infinity), zero, share);
      }
      Value none = arith::OrIOp::create(body, equal(m, -infinity), equal(sink, infinity));
      return select(none, zero, a / total);
    });
  }

  SmallVector<Value> emitBlock(TensorEmitter &emit, Value start, OpFoldResult count,
                               ValueRange now) const {
    Shape rows = {batch, keyHeads, group, count}, pairs = rows;
    pairs.push_back(keys);
    Value scores = emitMaskedScores(emit, start, pairs);
    Value maximum = emit.reduceLast(
        rows, compute, -infinity, {{scores, {b, h, r, i, j}}},
        [](TensorEmitter &, ArrayRef<Scalar> args) { return max(args[1], args[0]); });
    Value weights =
        emit.elementwise(pairs, compute, {{scores, {b, h, r, i, j}}, {maximum, {b, h, r, i}}},
                         [](TensorEmitter &, ArrayRef<Scalar> args) {
                           Scalar m = args[1];
                           return exp(args[0] - select(equal(m, -infinity), m.constant(0.0), m));
                         });
    Value sum =
        emit.reduceLast(rows, compute, 0.0, {{weights, {b, h, r, i, j}}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
    Value inverse = emitRows(emit, rows, maximum, sum, /*shareOfSink=*/false);

    SmallVector<Value> next;
    OpFoldResult zero = emit.getIndexAttr(0);
    for (auto [pattern, before] : llvm::zip_equal(op.getPatternKinds(), now)) {
      PatternKind kind = pattern;
      Value mass;
      if (kind == PatternKind::LearnedSink)
        mass = emitRows(emit, rows, maximum, sum, /*shareOfSink=*/true);
      else
        mass = emitMass(emit, kind, start, rows, weights);
      SmallVector<TensorEmitter::Input> inputs = {{mass, {b, h, r, i}}};
      addLengths(inputs);
      bool isSink = kind == PatternKind::LearnedSink;
      if (!isSink)
        inputs.push_back({inverse, {b, h, r, i}});
      Value counted =
          emit.elementwise(rows, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
            Scalar value = isSink ? args[0] : args[0] * args.back();
            Value position = emitPosition(body, start, lengthOf(args));
            return select(emitCounts(body, kind, position), value, value.constant(0.0));
          });
      next.push_back(emit.insert(counted, before, {zero, zero, zero, start}, rows));
    }
    return next;
  }

  /// The sum of the weights of the keys of a pattern.
  Value emitMass(TensorEmitter &emit, PatternKind kind, Value start, const Shape &rows,
                 Value weights) const {
    SmallVector<TensorEmitter::Input> inputs = {{weights, {b, h, r, i, j}}};
    addLengths(inputs);
    return emit.reduceLast(
        rows, compute, 0.0, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar before = args.back();
          Value query = emitPosition(body, start, lengthOf(args));
          Value key = linalg::IndexOp::create(body, j);
          return select(emitBelongs(body, kind, key, query), before + args[0], before);
        });
  }

  // Handles, whose accessors are not const.
  mutable PatternScoresOp op;
  mutable PatternScoresOp::Adaptor operands;
  Type compute;
  OpFoldResult batch, queries, keys, keyHeads, group;
  Value lastQuery, keyCount; ///< Lq and Lk as values
  Value splitSinks;          ///< [Hk, r], or null
};

struct PatternScoresToLinalg : AttnToLinalgPattern<PatternScoresOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(PatternScoresOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute = computeType({adaptor.getQuery(), adaptor.getKey()}), f32 = emit.getF32Type();
    PatternScores parts(emit, op, adaptor, compute);
    SmallVector<Value> masses = parts.emitMasses(emit), results;
    for (auto [kind, rows] : llvm::zip_equal(op.getPatternKinds(), masses))
      results.push_back(parts.emitScore(emit, kind, rows));
    if (op.getReturnRows())
      for (Value rows : masses)
        results.push_back(
            emit.joinDims(emit.elementwise(emit.shapeOf(rows), f32, {{rows, {b, h, r, i}}},
                                           [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                             return args[0].to(f32);
                                           }),
                          1));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      value = emit.castTo(value, result.getType());
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void heddle::populatePatternScoresToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<PatternScoresToLinalg>(patterns.getContext(), accumulate);
}
