//===- CacheToLinalg.cpp - cache updates as loops over slices -------------===//
//
// Nothing in linalg ties the extents of a cache to those of the new rows, so
// equalities that types leave open are stated as run-time checks. They vanish
// once both extents are known to be one value.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

struct NamedTensor {
  StringRef name;
  Value tensor;
};

/// States that dimension `dim` of `a` equals dimension `otherDim` of `b`.
void emitSameDim(TensorEmitter &emit, NamedTensor a, unsigned dim, NamedTensor b,
                 unsigned otherDim) {
  OpFoldResult left = emit.sizeOf({{a.tensor, dim}});
  OpFoldResult right = emit.sizeOf({{b.tensor, otherDim}});
  if (getConstantIntValue(left) && getConstantIntValue(right))
    return;
  Value x = emit.asIndex(left), y = emit.asIndex(right);
  if (x == y)
    return;
  Value same = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, x, y);
  std::string text = ("kv_append: dimension " + Twine(dim) + " of " + a.name +
                      " is {0}, expected {1} like dimension " + Twine(otherDim) + " of " + b.name)
                         .str();
  RequireOp::create(emit, same, text, ValueRange{x, y});
}

struct KvAppendToLinalg : AttnToLinalgPattern<KvAppendOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(KvAppendOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    emitChecks(emit, adaptor);

    Value key = convert(emit, adaptor.getKey(), adaptor.getKeyCache());
    Value value = convert(emit, adaptor.getValue(), adaptor.getValueCache());
    Value batch = emit.asIndex(emit.sizeOf({{adaptor.getKeyCache(), 0}, {adaptor.getKey(), 0}}));
    auto loop =
        scf::ForOp::create(emit, emit.index(0), batch, emit.index(1),
                           ValueRange{adaptor.getKeyCache(), adaptor.getValueCache()},
                           [&](OpBuilder &nested, Location loc, Value sequence, ValueRange caches) {
                             TensorEmitter body(loc, nested);
                             Value start = body.toIndex(tensor::ExtractOp::create(
                                 body, adaptor.getStart(), ValueRange{sequence}));
                             Value keys = insertRows(body, key, caches[0], sequence, start);
                             Value values = insertRows(body, value, caches[1], sequence, start);
                             scf::YieldOp::create(body, ValueRange{keys, values});
                           });
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }

private:
  void emitChecks(TensorEmitter &emit, OpAdaptor adaptor) const {
    NamedTensor keyCache{"key_cache", adaptor.getKeyCache()},
        valueCache{"value_cache", adaptor.getValueCache()}, key{"key", adaptor.getKey()},
        value{"value", adaptor.getValue()}, start{"start", adaptor.getStart()};
    for (unsigned dim : {0, 1, 2})
      emitSameDim(emit, valueCache, dim, keyCache, dim);
    for (unsigned dim : {0, 2, 3}) {
      emitSameDim(emit, key, dim, keyCache, dim);
      emitSameDim(emit, value, dim, valueCache, dim);
    }
    emitSameDim(emit, value, 1, key, 1);
    emitSameDim(emit, start, 0, keyCache, 0);

    // 0 <= start <= C - n.
    Value capacity = emit.asIndex(emit.sizeOf({{keyCache.tensor, 1}, {valueCache.tensor, 1}}));
    Value rows = emit.asIndex(emit.sizeOf({{key.tensor, 1}, {value.tensor, 1}}));
    Value last = arith::SubIOp::create(emit, capacity, rows);
    RequireRangeOp::create(emit, start.tensor, emit.index(0), last, "start");
  }

  /// `rows` in the element type of `cache`.
  Value convert(TensorEmitter &emit, Value rows, Value cache) const {
    Type element = getElementTypeOrSelf(cache);
    if (getElementTypeOrSelf(rows) == element)
      return rows;
    return emit.elementwise(
        emit.shapeOf(rows), element, {{rows, {0, 1, 2, 3}}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(element); });
  }

  /// cache[sequence, start : start + n] = rows[sequence].
  Value insertRows(TensorEmitter &emit, Value rows, Value cache, Value sequence,
                   Value start) const {
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    Shape sizes = emit.shapeOf(rows), strides(4, one);
    sizes[0] = one;
    Shape from = {sequence, zero, zero, zero};
    Shape to = {sequence, start, zero, zero};
    Value part = tensor::ExtractSliceOp::create(emit, rows, from, sizes, strides);
    return tensor::InsertSliceOp::create(emit, part, cache, to, sizes, strides);
  }
};

} // namespace

void heddle::populateCacheToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<KvAppendToLinalg>(patterns.getContext(), accumulate);
}
