//===- CacheToLinalg.cpp - cache updates as loops over slices -------------===//

#include "CacheChecks.h"
#include "Patterns.h"
#include "Sequences.h"
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
    if (adaptor.getSlots()) {
      rewriter.replaceOp(op, insertBySlots(emit, checks, adaptor, key, value));
      return success();
    }
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

  /// Copies each row whose slot is not -1 to the page and place that it counts.
  ResultRange insertBySlots(TensorEmitter &emit, AppendChecks &checks, OpAdaptor adaptor, Value key,
                            Value value) const {
    Value slots = adaptor.getSlots();
    Value pageSize =
        emit.asIndex(emit.sizeOf({{adaptor.getKeyCache(), 1}, {adaptor.getValueCache(), 1}}));
    Value count = checks.count();
    auto insertRow = [&](TensorEmitter &body, Value sequence, Value row, ValueRange caches) {
      Value slot = body.toIndex(tensor::ExtractOp::create(body, slots, ValueRange{sequence, row}));
      // A loop that runs at most once: buffers leave loops, but not branches.
      Value isUsed = arith::CmpIOp::create(body, arith::CmpIPredicate::sge, slot, body.index(0));
      Value trips = arith::IndexCastUIOp::create(body, body.getIndexType(), isUsed);
      return forEachStep(body, trips, caches, [&](TensorEmitter &inner, Value, ValueRange now) {
        PageTable::Run run{arith::DivUIOp::create(inner, slot, pageSize),
                           arith::RemUIOp::create(inner, slot, pageSize), row, inner.index(1)};
        return SmallVector<Value>{insertRows(inner, key, sequence, now[0], run),
                                  insertRows(inner, value, sequence, now[1], run)};
      });
    };
    return forEachStep(
        emit, checks.batch(), {adaptor.getKeyCache(), adaptor.getValueCache()},
        [&](TensorEmitter &outer, Value sequence, ValueRange caches) {
          return SmallVector<Value>(forEachStep(
              outer, count, caches, [&](TensorEmitter &inner, Value row, ValueRange now) {
                return SmallVector<Value>(insertRow(inner, sequence, row, now));
              }));
        });
  }

  /// Copies the rows of `run` of one sequence to their place in `cache`.
  Value insertRows(TensorEmitter &emit, Value rows, Value sequence, Value cache,
                   const PageTable::Run &run) const {
    // No slice begins in a dimension without elements.
    if (llvm::is_contained(cast<RankedTensorType>(rows.getType()).getShape(), 0))
      return cache;
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    Shape sizes = emit.shapeOf(rows);
    sizes[0] = one;
    sizes[1] = getAsOpFoldResult(run.count);
    Shape from = {sequence, getAsOpFoldResult(run.offset), zero, zero};
    Shape to = {run.page, run.slot, zero, zero};
    Value part = emit.extract(rows, from, sizes, /*dropped=*/0);
    return emit.insert(part, cache, to, sizes);
  }
};

} // namespace

void heddle::populateCacheToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<KvAppendToLinalg>(patterns.getContext(), accumulate);
}
