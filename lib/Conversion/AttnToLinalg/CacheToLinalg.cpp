//===- CacheToLinalg.cpp - cache updates as loops over slices -------------===//

#include "CacheChecks.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

struct KvAppendToLinalg : AttnToLinalgPattern<KvAppendOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(KvAppendOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    AppendChecks checks(emit, adaptor,
                        [&](Value tensor, unsigned dim) { return emit.sizeOf({{tensor, dim}}); });
    checks.emitAll();

    std::optional<PageTable> pageTable = checks.pageTable();
    Value count = checks.count();
    Value key = convert(emit, adaptor.getKey(), adaptor.getKeyCache());
    Value value = convert(emit, adaptor.getValue(), adaptor.getValueCache());
    auto loop = scf::ForOp::create(
        emit, emit.index(0), checks.batch(), emit.index(1),
        ValueRange{adaptor.getKeyCache(), adaptor.getValueCache()},
        [&](OpBuilder &nested, Location loc, Value sequence, ValueRange caches) {
          TensorEmitter body(loc, nested);
          RowRange rows = checks.newRows(body, sequence, count);
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
