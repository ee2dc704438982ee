//===- CacheKernel.cpp - new rows of keys and values in caches ------------===//
//
// New row t of sequence b goes to position start[b] + t: a row of the cache, or slot p mod P of the page that the block table names
// for p / P. A program has a block of
//
//   rows of one sequence     the positions are consecutive: one store, to a view that ends with the last new row
//   rows of many sequences   one new row each (decode): row r goes to sequence b0 + r, by a store of the whole block at row -r of a
//                            view of one row, which only row r of the block is inside of
//
//===----------------------------------------------------------------------===//

#include "GroupKernels.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

void CacheRows::store(Part block, Value cache, RankedTensorType cacheType, const Placement &at,
                      BlockShape shape) {
  TileEmitter &emit = kernel.tiles();
  Value tile = spread(emit, block, true, true, shape).value;
  tile = emit.tile(tile).to(cacheType.getElementType());
  Value start = kernel.input(op.getStart());
  auto firstOf = [&](Index sequence) { return emit.loadIndex(start, ValueRange(sequence)); };
  Index head = at[2].at;
  if (at[1].kind == PlaceKind::Row) {
    Index sequence = at[0].at;
    Index count = emit.dim(kernel.input(rows), rowDim);
    storeRun(tile, {sequence, firstOf(sequence), count}, at[1].at, cache, cacheType, head);
    return;
  }
  Index zero = emit.index(0), sequences = emit.dim(start, 0);
  Index rowsHere = min(sequences - at[0].at, emit.index(shape.rows));
  auto loop = scf::ForOp::create(emit, zero, rowsHere, emit.index(1));
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(loop.getBody());
  Index row = emit.index(loop.getInductionVar());
  Index sequence = at[0].at + row;
  storeRun(tile, {sequence, firstOf(sequence), emit.index(1)}, zero - row, cache, cacheType, head);
}

/// Stores the rows of `tile`, from `firstRow` of the run on, to the positions of the run.
void CacheRows::storeRun(Value tile, Run run, Index firstRow, Value cache,
                         RankedTensorType cacheType, Index head) {
  TileEmitter &emit = kernel.tiles();
  Index zero = emit.index(0);
  Index first = max(run.first, 0), end = run.first + run.count;
  bool isOneRow = cast<RankedTensorType>(op.getKey().getType()).getDimSize(1) == 1;
  Index page = run.sequence, slot = first;
  if (op.getBlockTable()) {
    Value tables = kernel.input(op.getBlockTable());
    Index pageSize = emit.dim(cache, 1);
    Index positions = emit.dim(tables, 1) * pageSize;
    if (!isOneRow) {
      Value table =
          tile::ViewOp::create(emit, tables, ValueRange(run.sequence), ArrayRef<int64_t>{1});
      Value view =
          tile::GatherViewOp::create(emit, emit.withColumns(cache, cacheType.getDimSize(3)), table,
                                     ValueRange(head), min(end, positions),
                                     /*tableDim=*/0, /*paged=*/true, ArrayRef<int64_t>{3});
      tile::StoreOp::create(emit, tile, view, ValueRange{first + firstRow, zero});
      return;
    }
    // A row past the last page, or in a page that there is none of, is not stored.
    Index position = min(first, positions - 1);
    Index named = emit.loadIndex(tables, ValueRange{run.sequence, position / pageSize});
    page = max(min(named, emit.dim(cache, 0) - 1), 0);
    slot = position % pageSize;
    Value isThere =
        arith::AndIOp::create(emit, less(first, positions),
                              arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, named, page));
    end = emit.index(arith::SelectOp::create(emit, isThere, slot + 1, slot));
  }
  // Not past the capacity, whatever `start` is.
  Index extent = max(min(end, emit.dim(cache, 1)) - slot, 0);
  OpFoldResult one = emit.getIndexAttr(1), none = emit.getIndexAttr(0);
  int64_t columns = cacheType.getDimSize(3);
  SmallVector<OpFoldResult> offsets{Value(page), Value(slot), Value(head), none},
      sizes{one, Value(extent), one, emit.getIndexAttr(columns)}, strides(4, one);
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      {ShapedType::kDynamic, columns}, cast<MemRefType>(cache.getType()), offsets, sizes, strides);
  Value rows = memref::SubViewOp::create(emit, type, cache, offsets, sizes, strides);
  Value view = tile::ViewOp::create(emit, rows, ValueRange(), ArrayRef<int64_t>{0, 1});
  tile::StoreOp::create(emit, tile, view, ValueRange{firstRow, zero});
}

tile::DispatchOp buildAppend(KernelTable &kernels, ImplicitLocOpBuilder &host,
                             attn::KvAppendOp op) {
  constexpr int64_t blockRows = 16;
  KernelBuilder kernel(kernels, host, "append");
  TileEmitter &emit = kernel.tiles();
  Value caches[] = {kernel.output(op.getKeyCache()), kernel.output(op.getValueCache())};
  Value key = op.getKey();
  int64_t rowDim = cast<RankedTensorType>(key.getType()).getDimSize(1) == 1 ? 0 : 1;
  SmallVector<Index> program =
      kernel.setGrid({GridAxis::blocks(key, rowDim, blockRows), GridAxis::blocks(key, 2, 1),
                      GridAxis::blocks(key, 1 - rowDim, 1)});
  Placement at(4, {PlaceKind::Fixed, program[1]});
  at[rowDim] = {PlaceKind::Row, program[0] * blockRows};
  at[1 - rowDim] = {PlaceKind::Fixed, program[2]};
  at[3] = {PlaceKind::Column, emit.index(0)};

  CacheRows cacheRows(kernel, op, op.getKey(), 1);
  Value cacheTensors[] = {op.getKeyCache(), op.getValueCache()};
  for (auto [rows, tensor, cache] :
       llvm::zip_equal(ValueRange{op.getKey(), op.getValue()}, cacheTensors, caches)) {
    auto type = cast<RankedTensorType>(rows.getType());
    auto cacheType = cast<RankedTensorType>(tensor.getType());
    BlockShape shape{blockRows,
                     int64_t(llvm::alignTo(std::max<int64_t>(cacheType.getDimSize(3), 1), 16))};
    Part part = loadBlock(emit, kernel.input(rows), type, at, shape, /*padded=*/true);
    cacheRows.store(part, cache, cacheType, at, shape);
  }
  auto config = tile::ConfigAttr::get(host.getContext(), host.getDenseI64ArrayAttr({blockRows}),
                                      std::nullopt, /*warps=*/4);
  return kernel.finish(config, {"attn.kv_append"});
}

} // namespace heddle
