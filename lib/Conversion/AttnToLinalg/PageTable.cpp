//===- PageTable.cpp - rows of sequences in pages -------------------------===//
//
// Rows first .. first + count - 1 of a sequence lie in consecutive entries of
// its block table; in each page they are consecutive slots. With pages of 3,
// rows 4 .. 9 need the entries 1 .. 3:
//
//   entry    1        2        3
//   rows     . 4 5    6 7 8    9 . .
//   run      slot 1,2 slot 0-2 slot 0
//
//===----------------------------------------------------------------------===//

#include "PageTable.h"

#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

Value PageTable::capacity(TensorEmitter &emit) const {
  Value entries = emit.asIndex(emit.sizeOf({{blockTable, 1}}));
  return emit.createOrFold<arith::MulIOp>(entries, pageSize);
}

std::pair<Value, Value> PageTable::entriesOf(TensorEmitter &emit, RowRange rows) const {
  // Pages of no rows hold no row, but the division below is still executed.
  Value size = emit.createOrFold<arith::MaxUIOp>(pageSize, emit.index(1));
  Value first = emit.createOrFold<arith::DivUIOp>(rows.first, size);
  Value end = emit.createOrFold<arith::AddIOp>(rows.first, rows.count);
  end = emit.createOrFold<arith::CeilDivUIOp>(end, size);
  // A range without rows that starts inside a page would count that page.
  Value isEmpty =
      emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, rows.count, emit.index(0));
  return {first, emit.createOrFold<arith::SelectOp>(isEmpty, first, end)};
}

void PageTable::requirePages(TensorEmitter &emit, RowsOf rowsOf) const {
  Value zero = emit.index(0), one = emit.index(1);
  Value limit = arith::IndexCastOp::create(emit, emit.getI64Type(), pages);
  Value sequences = emit.asIndex(emit.sizeOf({{blockTable, 0}}));

  // Whether all entries so far are pages; if not, the place and value of the first that is none.
  Value good = arith::ConstantOp::create(emit, emit.getBoolAttr(true));
  Value none = arith::ConstantOp::create(emit, emit.getI64IntegerAttr(0));
  auto checkEntry = [&](TensorEmitter &inner, ValueRange found, Value sequence, Value entry) {
    Value page = tensor::ExtractOp::create(inner, blockTable, ValueRange{sequence, entry});
    if (!page.getType().isInteger(64))
      page = arith::ExtSIOp::create(inner, inner.getI64Type(), page);
    // Unsigned, so that negative entries are too large.
    Value outside = arith::CmpIOp::create(inner, arith::CmpIPredicate::uge, page, limit);
    Value isFirst = arith::AndIOp::create(inner, found[0], outside);
    Value bad = arith::ConstantOp::create(inner, inner.getBoolAttr(false));
    SmallVector<Value> place{bad, sequence, entry, page}, next;
    for (auto [now, before] : llvm::zip_equal(place, found))
      next.push_back(arith::SelectOp::create(inner, isFirst, now, before));
    return next;
  };
  auto check = scf::ForOp::create(
      emit, zero, sequences, one, ValueRange{good, zero, zero, none},
      [&](OpBuilder &nested, Location loc, Value sequence, ValueRange found) {
        TensorEmitter outer(loc, nested);
        auto [first, end] = entriesOf(outer, rowsOf(outer, sequence));
        auto entries = scf::ForOp::create(
            outer, first, end, one, found,
            [&](OpBuilder &nestedEntry, Location loc, Value entry, ValueRange found) {
              TensorEmitter inner(loc, nestedEntry);
              scf::YieldOp::create(inner, checkEntry(inner, found, sequence, entry));
            });
        scf::YieldOp::create(outer, entries.getResults());
      });

  Value last = emit.createOrFold<arith::SubIOp>(pages, one);
  attn::RequireOp::create(
      emit, check.getResult(0), "block_table[{0}][{1}] is {2}, expected a page from 0 to {3}",
      ValueRange{check.getResult(1), check.getResult(2), check.getResult(3), last});
}

ResultRange PageTable::forEachRun(TensorEmitter &emit, Value sequence, RowRange rows,
                                  ValueRange inits, Body body) const {
  auto [firstEntry, endEntry] = entriesOf(emit, rows);
  Value endRow = emit.createOrFold<arith::AddIOp>(rows.first, rows.count);
  auto loop =
      scf::ForOp::create(emit, firstEntry, endEntry, emit.index(1), inits,
                         [&](OpBuilder &nested, Location loc, Value entry, ValueRange carried) {
                           TensorEmitter inner(loc, nested);
                           Run run;
                           run.page = inner.toIndex(tensor::ExtractOp::create(
                               inner, blockTable, ValueRange{sequence, entry}));
                           Value pageFirst = arith::MulIOp::create(inner, entry, pageSize);
                           Value pageEnd = arith::AddIOp::create(inner, pageFirst, pageSize);
                           Value first = arith::MaxUIOp::create(inner, pageFirst, rows.first);
                           Value end = arith::MinUIOp::create(inner, pageEnd, endRow);
                           run.slot = arith::SubIOp::create(inner, first, pageFirst);
                           run.offset = arith::SubIOp::create(inner, first, rows.first);
                           run.count = arith::SubIOp::create(inner, end, first);
                           scf::YieldOp::create(inner, body(inner, run, carried));
                         });
  return loop.getResults();
}

} // namespace heddle
