//===- RowsKernel.cpp - elementwise work, and rotations -------------------===//

#include "GroupKernels.h"
#include "TileEvaluator.h"
#include "TileMath.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace heddle {

/// A grid over the blocks of a tensor, and where in it a program's block is. Loops are numbered like the tensor's dimensions.
static Placement placeProgram(KernelBuilder &kernel, Value tensor, int64_t rowDim,
                              BlockShape block) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  auto extent = [&](int64_t dim) {
    return dim == rowDim ? block.rows : dim == rank - 1 ? block.columns : 1;
  };
  // Columns first, then rows.
  SmallVector<GridAxis> axes;
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    axes.push_back(GridAxis::blocks(tensor, dim, extent(dim)));
  SmallVector<Index> program = kernel.setGrid(axes);
  Placement at;
  for (int64_t dim = 0; dim < rank; ++dim) {
    PlaceKind kind = dim == rowDim     ? PlaceKind::Row
                     : dim == rank - 1 ? PlaceKind::Column
                                       : PlaceKind::Fixed;
    at.push_back({kind, program[rank - 1 - dim] * extent(dim), int(dim)});
  }
  return at;
}

static tile::ConfigAttr blockConfig(MLIRContext *context, BlockShape block) {
  return tile::ConfigAttr::get(context,
                               DenseI64ArrayAttr::get(context, {block.rows, block.columns}),
                               std::nullopt, /*warps=*/4);
}

tile::DispatchOp buildRows(KernelTable &kernels, ImplicitLocOpBuilder &host,
                           const KernelGroup &group, const RowsPlan &plan) {
  SmallVector<Value> inits, memrefs;
  for (Value output : group.outputs)
    inits.push_back(createInit(host, group, output));
  KernelBuilder kernel(kernels, host, "rows");
  for (Value init : inits)
    memrefs.push_back(kernel.output(init));
  Placement at = placeProgram(kernel, inits.front(), plan.rowDim, plan.block);
  TileEvaluator blocks(kernel, group, plan.block);
  blocks.hasAlignedColumns = !plan.rowColumns || plan.rowColumns == plan.block.columns;
  for (auto [output, init, memref] : llvm::zip_equal(group.outputs, inits, memrefs)) {
    kernel.noteLoops(init, at);
    blocks.store(output, memref, at);
  }
  return kernel.finish(blockConfig(host.getContext(), plan.block),
                       opNames(group.ops.getArrayRef()));
}

//===----------------------------------------------------------------------===//
// Rotation of columns 2i and 2i + 1
//===----------------------------------------------------------------------===//

namespace {
/// A memref that has every second column of another, and what is left of a tensor's type then.
struct Columns {
  Value memref;
  RankedTensorType type;
};
} // namespace

static Columns selectColumns(TileEmitter &emit, Value memref, RankedTensorType type, int64_t first,
                             int64_t count, int64_t stride) {
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, emit.getIndexAttr(0)), sizes,
      strides(rank, emit.getIndexAttr(1));
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    sizes.push_back(Value(emit.dim(memref, dim)));
  sizes.push_back(emit.getIndexAttr(count));
  offsets.back() = emit.getIndexAttr(first);
  strides.back() = emit.getIndexAttr(stride);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = count;
  return {memref::SubViewOp::create(emit, memref, offsets, sizes, strides),
          RankedTensorType::get(shape, type.getElementType())};
}

tile::DispatchOp buildInterleavedRope(KernelTable &kernels, ImplicitLocOpBuilder &host,
                                      attn::RopeOp op, const RowsPlan &plan) {
  KernelGroup group{{}, {op.getOutput()}};
  group.ops.insert(op);
  Value init = createInit(host, group, op.getOutput());
  KernelBuilder kernel(kernels, host, "rope");
  Value to = kernel.output(init), from = kernel.input(op.getInput());
  TileEmitter &emit = kernel.tiles();
  RankedTensorType type = plan.type;
  int64_t half = op.getRotaryDimValue() / 2, rest = type.getDimSize(3) - 2 * half;
  Placement at = placeProgram(kernel, init, plan.rowDim, plan.block);
  kernel.noteLoops(init, at);
  kernel.noteLoops(op.getInput(), at);

  BlockShape pairs{plan.block.rows, half};
  TileEvaluator blocks(kernel, group, pairs);
  SinCos turn = blocks.rotation(op, at);
  auto load = [&](int64_t first) {
    Columns columns = selectColumns(emit, from, type, first, half, 2);
    Part part = loadBlock(emit, columns.memref, columns.type, at, pairs, /*padded=*/true);
    return emit.tile(part.value).to(emit.getF32Type());
  };
  auto store = [&](Tile tile, int64_t first) {
    Columns columns = selectColumns(emit, to, type, first, half, 2);
    storeBlock(emit, {tile.to(type.getElementType()), true, true}, columns.memref, columns.type, at,
               pairs);
  };
  Tile x1 = load(0), x2 = load(1);
  store(x1 * turn.cosine - x2 * turn.sine, 0);
  store(x2 * turn.cosine + x1 * turn.sine, 1);
  if (rest > 0) {
    BlockShape others{plan.block.rows, rest};
    Columns source = selectColumns(emit, from, type, 2 * half, rest, 1);
    Columns target = selectColumns(emit, to, type, 2 * half, rest, 1);
    Part part = loadBlock(emit, source.memref, source.type, at, others, /*padded=*/true);
    storeBlock(emit, part, target.memref, target.type, at, others);
  }
  return kernel.finish(blockConfig(host.getContext(), plan.block), {"attn.rope"});
}

} // namespace heddle
