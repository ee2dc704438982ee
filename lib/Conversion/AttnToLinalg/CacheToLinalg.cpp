//===- CacheToLinalg.cpp - cache updates as loops over slices -------------===//
//
// Nothing in linalg ties the extents of a cache to those of the new rows, so
// equalities that types leave open are stated as run-time checks. They vanish
// once both extents are known to be one value.
//
//===----------------------------------------------------------------------===//

#include "PageTable.h"
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
  if (a.tensor == b.tensor && dim == otherDim)
    return;
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

/// States that `count` new rows fit into an empty cache, if there is a sequence to append to.
void requireRoom(TensorEmitter &emit, KvAppendOp::Adaptor adaptor, Value count, Value capacity) {
  Value batch = emit.asIndex(emit.sizeOf({{adaptor.getKey(), 0}, {adaptor.getValue(), 0}}));
  Value fits = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, count, capacity);
  Value none = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, batch, emit.index(0));
  RequireOp::create(emit, emit.createOrFold<arith::OrIOp>(fits, none),
                    "kv_append: {0} new rows are more than the cache's capacity of {1}",
                    ValueRange{count, capacity});
}

struct KvAppendToLinalg : AttnToLinalgPattern<KvAppendOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(KvAppendOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    std::optional<PageTable> pageTable = pageTableOf(emit, adaptor);
    emitSameDims(emit, adaptor);
    Value count = emit.asIndex(emit.sizeOf({{adaptor.getKey(), 1}, {adaptor.getValue(), 1}}));
    auto newRows = [&](TensorEmitter &body, Value sequence) {
      Value start = tensor::ExtractOp::create(body, adaptor.getStart(), ValueRange{sequence});
      return RowRange{body.toIndex(start), count};
    };

    // 0 <= start <= capacity - n; only then may the table be read. The range would be empty with more rows than fit, which deserves
    // a message of its own.
    Value capacity =
        pageTable
            ? pageTable->capacity(emit)
            : emit.asIndex(emit.sizeOf({{adaptor.getKeyCache(), 1}, {adaptor.getValueCache(), 1}}));
    requireRoom(emit, adaptor, count, capacity);
    Value last = arith::SubIOp::create(emit, capacity, count);
    RequireRangeOp::create(emit, adaptor.getStart(), emit.index(0), last, "start");
    if (pageTable)
      pageTable->requirePages(emit, newRows);

    Value key = convert(emit, adaptor.getKey(), adaptor.getKeyCache());
    Value value = convert(emit, adaptor.getValue(), adaptor.getValueCache());
    NamedTensor sequences = sequencesOf(adaptor);
    Value batch = emit.asIndex(emit.sizeOf({{sequences.tensor, 0}, {adaptor.getKey(), 0}}));
    auto loop = scf::ForOp::create(
        emit, emit.index(0), batch, emit.index(1),
        ValueRange{adaptor.getKeyCache(), adaptor.getValueCache()},
        [&](OpBuilder &nested, Location loc, Value sequence, ValueRange caches) {
          TensorEmitter body(loc, nested);
          RowRange rows = newRows(body, sequence);
          auto insertBoth = [&](TensorEmitter &inner, const PageTable::Run &run,
                                ValueRange caches) {
            return SmallVector<Value>{insertRows(inner, key, sequence, caches[0], run),
                                      insertRows(inner, value, sequence, caches[1], run)};
          };
          if (pageTable)
            scf::YieldOp::create(body,
                                 pageTable->forEachRun(body, sequence, rows, caches, insertBoth));
          else
            scf::YieldOp::create(
                body, insertBoth(body, {sequence, rows.first, body.index(0), rows.count}, caches));
        });
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }

private:
  std::optional<PageTable> pageTableOf(TensorEmitter &emit, OpAdaptor adaptor) const {
    if (!adaptor.getBlockTable())
      return std::nullopt;
    auto extent = [&](unsigned dim) {
      return emit.asIndex(
          emit.sizeOf({{adaptor.getKeyCache(), dim}, {adaptor.getValueCache(), dim}}));
    };
    return PageTable(adaptor.getBlockTable(), extent(0), extent(1));
  }

  /// An operand whose dimension 0 counts the sequences; that of a paged cache doesn't.
  NamedTensor sequencesOf(OpAdaptor adaptor) const {
    return adaptor.getBlockTable() ? NamedTensor{"key", adaptor.getKey()}
                                   : NamedTensor{"key_cache", adaptor.getKeyCache()};
  }

  void emitSameDims(TensorEmitter &emit, OpAdaptor adaptor) const {
    NamedTensor keyCache{"key_cache", adaptor.getKeyCache()},
        valueCache{"value_cache", adaptor.getValueCache()}, key{"key", adaptor.getKey()},
        value{"value", adaptor.getValue()}, start{"start", adaptor.getStart()},
        blockTable{"block_table", adaptor.getBlockTable()}, sequences = sequencesOf(adaptor);
    for (unsigned dim : {0, 1, 2})
      emitSameDim(emit, valueCache, dim, keyCache, dim);
    for (unsigned dim : {2, 3}) {
      emitSameDim(emit, key, dim, keyCache, dim);
      emitSameDim(emit, value, dim, valueCache, dim);
    }
    emitSameDim(emit, key, 0, sequences, 0);
    emitSameDim(emit, value, 0, sequences, 0);
    emitSameDim(emit, value, 1, key, 1);
    emitSameDim(emit, start, 0, sequences, 0);
    if (blockTable.tensor)
      emitSameDim(emit, blockTable, 0, sequences, 0);
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

  /// Copies the rows of `run` of one sequence to their place in `cache`.
  Value insertRows(TensorEmitter &emit, Value rows, Value sequence, Value cache,
                   const PageTable::Run &run) const {
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    Shape sizes = emit.shapeOf(rows), strides(4, one);
    sizes[0] = one;
    sizes[1] = getAsOpFoldResult(run.count);
    Shape from = {sequence, getAsOpFoldResult(run.offset), zero, zero};
    Shape to = {run.page, run.slot, zero, zero};
    Value part = tensor::ExtractSliceOp::create(emit, rows, from, sizes, strides);
    return tensor::InsertSliceOp::create(emit, part, cache, to, sizes, strides);
  }
};

} // namespace

void heddle::populateCacheToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<KvAppendToLinalg>(patterns.getContext(), accumulate);
}
