//===- KeySelectionToLinalg.cpp - indexer scores and top-k as linalg ------===//
//
// The indexer is one product of all heads, whose rows a reduction weighs.
//
// top_k, where attn-select-top-k has not taken it, counts, for each element, those that come before it: its place in the
// order. What is at place t is then found by looking for it:
//
//   rank[.., j]    = number of l with s_l > s_j, or s_l = s_j and l < j
//   indices[.., t] = the j with rank[.., j] = t and s_j > -inf, or -1
//
// Comparisons with NaN are false, so that NaN comes before nothing and nowhere.
//
//===----------------------------------------------------------------------===//

#include "ExtentChecks.h"
#include "KeyPositions.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct LightningIndexerToLinalg : AttnToLinalgPattern<LightningIndexerOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(LightningIndexerOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value query = adaptor.getQuery(), key = adaptor.getKey(), weights = adaptor.getWeights();
    Type compute = computeType({query, key, weights}), f32 = emit.getF32Type();
    OpFoldResult batch = emit.sizeOf({{query, 0}, {key, 0}, {weights, 0}});
    OpFoldResult queries = emit.sizeOf({{query, 1}, {weights, 1}});
    OpFoldResult heads = emit.sizeOf({{query, 2}, {weights, 2}});
    OpFoldResult keys = emit.sizeOf({{key, 1}});
    Value mask = adaptor.getMask();
    if (adaptor.getKvLen())
      RequireRangeOp::create(emit, adaptor.getKvLen(), emit.index(0), emit.asIndex(keys), "kv_len");

    enum : unsigned { b, i, h, j, d };
    Value products =
        emit.contract(query, {b, i, h, d}, key, {b, j, d}, {batch, queries, heads, keys},
                      {b, i, h, j}, /*loops=*/5, compute);
    // Loops are b, i, j, h.
    Shape shape = {batch, queries, keys};
    Value sums =
        emit.reduceLast(shape, compute, 0.0, {{products, {0, 1, 3, 2}}, {weights, {0, 1, 3}}},
                        [&](TensorEmitter &, ArrayRef<Scalar> args) {
                          Scalar positive = max(args[0], args[0].constant(0.0));
                          return args[2] + args[1].to(compute) * positive;
                        });
    double scale = op.getScale() ? op.getScale()->convertToDouble() : 1.0;
    SmallVector<TensorEmitter::Input> inputs{{sums, {0, 1, 2}}};
    if (adaptor.getKvLen())
      inputs.push_back({adaptor.getKvLen(), {0}});
    if (mask) {
      const unsigned loopOfDim[] = {0, 0, 1, 2};
      SmallVector<unsigned> kept, dims;
      mask = emit.dropUnitDims(mask, kept);
      for (unsigned dim : kept)
        dims.push_back(loopOfDim[dim]);
      inputs.push_back({mask, dims});
    }
    Value allQueries = emit.asIndex(queries), allKeys = emit.asIndex(keys);
    Value scores =
        emit.elementwise(shape, f32, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar score = (args[0] * scale).to(f32);
          KeyPositions at(body, linalg::IndexOp::create(body, 1), linalg::IndexOp::create(body, 2),
                          allQueries, allKeys, adaptor.getKvLen() ? Value(args[1]) : Value());
          Value visible = at.visible(body, op.getCausal());
          if (mask)
            visible = visible ? Value(arith::AndIOp::create(body, visible, args[inputs.size() - 1]))
                              : Value(args[inputs.size() - 1]);
          return visible ? select(visible, score, score.constant(-infinity)) : score;
        });
    rewriter.replaceOp(op, emit.castTo(scores, op.getScores().getType()));
    return success();
  }
};

struct TopKToLinalg : AttnToLinalgPattern<TopKOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(TopKOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value scores = adaptor.getScores();
    Shape rows = emit.shapeOf(scores);
    unsigned last = rows.size() - 1, inner = rows.size();
    SmallVector<unsigned> outer = llvm::to_vector(llvm::seq<unsigned>(0, last));
    auto at = [&](unsigned dim) {
      SmallVector<unsigned> dims = outer;
      dims.push_back(dim);
      return dims;
    };
    auto compare = [](TensorEmitter &body, arith::CmpFPredicate predicate, Value a, Value b) {
      return arith::CmpFOp::create(body, predicate, a, b);
    };
    Type i32 = emit.getI32Type();
    Value ranks = emit.reduceLast(
        rows, i32, 0, {{scores, at(last)}, {scores, at(inner)}},
        [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Value own = linalg::IndexOp::create(body, last);
          Value other = linalg::IndexOp::create(body, inner);
          Value isLarger = compare(body, arith::CmpFPredicate::OGT, args[1], args[0]);
          Value isEqual = compare(body, arith::CmpFPredicate::OEQ, args[1], args[0]);
          Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::slt, other, own);
          Value before =
              arith::OrIOp::create(body, isLarger, arith::AndIOp::create(body, isEqual, isFirst));
          Value one = arith::ExtUIOp::create(body, i32, before);
          return body.scalar(arith::AddIOp::create(body, args[2], one));
        });
    Shape places = rows;
    places[last] = emit.getIndexAttr(int64_t(op.getK()));
    Value indices = emit.reduceLast(
        places, i32, -1, {{ranks, at(inner)}, {scores, at(inner)}},
        [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Value place = arith::IndexCastOp::create(body, i32, linalg::IndexOp::create(body, last));
          Value element =
              arith::IndexCastOp::create(body, i32, linalg::IndexOp::create(body, inner));
          Value isThere = arith::CmpIOp::create(body, arith::CmpIPredicate::eq, args[0], place);
          Value isEligible =
              compare(body, arith::CmpFPredicate::OGT, args[1], args[1].constant(-infinity));
          Value found = arith::AndIOp::create(body, isThere, isEligible);
          return select(found, body.scalar(element), args[2]);
        });
    rewriter.replaceOp(op, emit.castTo(indices, op.getIndices().getType()));
    return success();
  }
};

} // namespace

void heddle::populateKeySelectionToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<LightningIndexerToLinalg, TopKToLinalg>(patterns.getContext(), accumulate);
}
