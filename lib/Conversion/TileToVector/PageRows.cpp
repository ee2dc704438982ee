//===- PageRows.cpp - where the rows of pages are in memory ---------------===//
//
// Rows of a paged view are evenly apart within a page only. A load without padding finds its rows by a list, which is made page by page: two
// divisions a list and one entry of the table a page, instead of both for each row.
//
//   for page = first / page rows ... last / page rows:
//     base = table[page] * page stride - page * page rows * row stride
//     for row = max(page * page rows, first) ... min((page + 1) * page rows, last + 1), 8 at a time:
//       list[row - first ...] = base + (row ...) * row stride
//
// What a vector has past the end of its page is overwritten by the next one. The list counts elements without the view's fixed indices, so that
// one serves all heads: it is made in front of the loops around the load that change nothing about it. Rows that are fetched ahead are
// further rows of the list. Where the view has no such rows, the list has the first row again, which is in the cache.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle {

/// Entries of the list that are made at once.
static constexpr int64_t entriesAtOnce = 8;

/// The loop around `from`, or around loops around it, that is entered whenever it is reached and changes none of the operands; null if
/// the innermost one does.
static Operation *outermostLoop(Block *from, ValueRange operands) {
  Operation *outermost = nullptr;
  while (auto loop = dyn_cast_or_null<scf::ForOp>(from->getParentOp())) {
    std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
    std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
    bool isEntered = begin && end && *begin < *end;
    auto isInside = [&](Value operand) {
      return loop.getRegion().isAncestor(operand.getParentRegion());
    };
    if (!isEntered || llvm::any_of(operands, isInside))
      break;
    outermost = loop;
    from = loop->getBlock();
  }
  return outermost;
}

/// The list of `count` rows of a paged view from `first` on, `inside` of which exist for certain.
Value TileLowering::listPageRows(const TileView &view, Value first, int64_t inside, int64_t count) {
  VectorType vector = VectorType::get({entriesAtOnce}, b.getIndexType());
  auto type = MemRefType::get({count + entriesAtOnce}, b.getIndexType());
  Value list = newBuffer(type);
  auto source = memref::ExtractStridedMetadataOp::create(b, view.source);
  Value pageStride = source.getStrides()[view.tableDim];
  Value rowStride = source.getStrides()[view.tableDim + 1];
  Value pageRows = b.createOrFold<memref::DimOp>(view.source, view.tableDim + 1);
  auto splat = [&](Value scalar) { return vector::BroadcastOp::create(b, vector, scalar); };
  Value strides = splat(rowStride);
  Value steps =
      b.createOrFold<arith::MulIOp>(vector::StepOp::create(b, vector).getResult(), strides);
  auto fill = [&](Value begin, Value end, function_ref<Value(Value)> entries) {
    buildFor(b, begin, end, math.constant(entriesAtOnce), [&](Value row) {
      vector::StoreOp::create(b, entries(row), list, ValueRange(math.sub(row, first)));
    });
  };

  Value wanted = math.add(first, math.constant(count)), end = wanted;
  if (inside < count)
    end = math.min(wanted, view.extents.front());
  Value firstPage = math.floorDiv(first, pageRows);
  Value lastPage = math.floorDiv(math.sub(end, math.constant(1)), pageRows);
  buildFor(b, firstPage, math.add(lastPage, math.constant(1)), math.constant(1), [&](Value page) {
    Value entry = math.max(tableAt(view, page), math.constant(0));
    Value begin = math.mul(page, pageRows);
    Value base = math.sub(math.mul(entry, pageStride), math.mul(begin, rowStride));
    fill(math.max(begin, first), math.min(math.add(begin, pageRows), end), [&](Value row) -> Value {
      Value start = math.add(base, math.mul(row, rowStride));
      return arith::AddIOp::create(b, splat(start), steps);
    });
  });
  if (inside < count) {
    Value again = memref::LoadOp::create(b, list, ValueRange(math.constant(0)));
    fill(end, wanted, [&](Value) -> Value { return splat(again); });
  }
  return list;
}

/// All of the source in one dimension, from the view's first column in the first row of the first page on.
static Value flatten(ImplicitLocOpBuilder &b, IndexMath &math, const TileView &view) {
  auto source = memref::ExtractStridedMetadataOp::create(b, view.source);
  Value offset = source.getOffset();
  for (auto [index, stride] : llvm::zip_equal(view.indices, source.getStrides()))
    if (index)
      offset = math.add(offset, math.mul(index, stride));
  Value size = math.product({source.getSizes().front(), source.getStrides().front()});
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, getElementTypeOrSelf(view.source.getType()),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, ArrayRef<int64_t>{1}));
  return memref::ReinterpretCastOp::create(b, type, view.source, OpFoldResult(offset),
                                           ArrayRef<OpFoldResult>{size},
                                           ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

void TileLowering::preparePageRows(tile::LoadOp load) {
  const TileView view = views.lookup(load.getView());
  if (load.getPad() || !view.isPaged || !view.hasVectors() || load.getIndices().size() != 2)
    return;
  Value first = scalar(load.getIndices().front());
  int64_t rows = load.getType().getDimSize(0), ahead = load.getAhead().value_or(0);
  SmallVector<Value> operands{view.source, first, view.extents.front()};
  for (TileView table = view; table.tableDim >= 0;) {
    auto found = views.find(table.table);
    if (found == views.end()) {
      operands.push_back(table.table);
      break;
    }
    table = found->second;
    operands.push_back(table.source);
    llvm::copy_if(table.indices, std::back_inserter(operands), [](Value index) { return index; });
  }
  PageRows &prepared = pageRows[load.getResult()];
  {
    OpBuilder::InsertionGuard guard(b);
    if (Operation *loop = outermostLoop(b.getInsertionBlock(), operands))
      b.setInsertionPoint(loop);
    prepared.list = listPageRows(view, first, rows, rows + ahead);
  }
  prepared.source = flatten(b, math, view);
}

/// A permutation of the multiples of a power of two, which makes 0 2 1 3 of each four. A CPU that has seen an instruction load from addresses
/// evenly apart fetches what would follow; but past the end of a page that is another page's memory, which nobody needs. So pages
/// have their groups of rows in an order without a stride.
Value TileLowering::withoutStride(Value first, int64_t step) {
  auto bit = [&](int64_t which) -> Value {
    return arith::AndIOp::create(b, first, math.constant(which));
  };
  Value low = bit(step), high = bit(2 * step);
  Value rest = math.sub(first, math.add(low, high));
  Value swapped = math.add(math.mul(low, math.constant(2)), math.floorDiv(high, math.constant(2)));
  return math.add(rest, swapped);
}

/// Whether b is read from pages, and all its `count` rows (or pairs of them) can be taken in that order, in groups of `step`.
bool TileLowering::isUneven(tile::DotOp op, int64_t count, int64_t step) {
  return pageRows.contains(op.getB()) && !buffers.contains(op.getB()) && count % (4 * step) == 0;
}

TileLowering::MatrixRow TileLowering::rowOfPage(tile::LoadOp load, const PageRows &rows,
                                                Value row) {
  Value column = scalar(load.getIndices().back());
  auto at = [&](Value index) {
    return SmallVector<Value>{
        math.add(memref::LoadOp::create(b, rows.list, index).getResult(), column)};
  };
  MatrixRow place{rows.source, at(row), /*columnDim=*/0};
  if (std::optional<int64_t> ahead = load.getAhead())
    place.ahead = at(math.add(row, math.constant(*ahead)));
  return place;
}

} // namespace heddle
