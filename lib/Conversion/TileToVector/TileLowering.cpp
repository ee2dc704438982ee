//===- TileLowering.cpp - one kernel's tiles as buffers and vectors -------===//
//
// Ops are lowered in the order of the program. The rules that keep this simple:
//
// 1. A tile is virtual or has a buffer (TileAnalysis.h). A virtual tile is computed where it is read: in the loops that fill a buffer,
//    reduce, store, or start the accumulators of a dot. Loops go over rows and the vectors of a row.
// 2. A buffer is a static memref.alloca of rows x columns, columns padded to whole vectors. What lies in the padding is never
//    defined: whoever mixes lanes (reductions, divisions of integers, memory) masks it.
// 3. A buffer is free after the last op that reads its tile, directly or through virtual tiles. Then the next tile of that shape
//    takes it.
// 4. A tile that a loop carries has one buffer: initial value, region argument, yielded value and result. It is taken over from the
//    initial value if nobody else reads that, and the op that computes the yielded value writes there at once if the old value is
//    no longer read (`bind`).
//
// Worked example, attention: s = dot(q, k) is a buffer; scores = select(visible, s * scale) is one, and its row maximum is computed
// in the same loops; visible, s * scale are virtual. acc * decay starts the accumulators of dot(weights, v), which writes to acc.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle {

/// Vectors of a turn of a loop over a long row.
static constexpr int64_t loopVectors = 4;

void TileLowering::setGrid(ArrayRef<Value> ids, ArrayRef<Value> extents) {
  programIds.assign(ids.begin(), ids.end());
  programs.assign(extents.begin(), extents.end());
}

void TileLowering::prepare(tile::KernelOp kernel) {
  kernel.walk([&](tile::DotOp op) { hasMatrixTiles |= takesMatrixTiles(op); });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult TileLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> outer = std::move(temporaries);
    temporaries.clear();
    b.setLoc(op.getLoc());
    if (!lowered.contains(&op) && failed(lowerOp(&op)))
      return failure();
    for (Value buffer : temporaries)
      release(buffer);
    temporaries = std::move(outer);
    releaseAt(&op);
  }
  return success();
}

LogicalResult TileLowering::lowerOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return lowerIf(branch);
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return lowerDot(dot);
  if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    return map(id, programIds[unsigned(id.getAxis())]), success();
  if (auto count = dyn_cast<tile::NumProgramsOp>(op))
    return map(count, programs[unsigned(count.getAxis())]), success();
  if (auto extent = dyn_cast<tile::ExtentOp>(op))
    return map(extent, views[extent.getView()].extents[extent.getDim()]), success();
  if (auto view = dyn_cast<tile::ViewOp>(op))
    return lowerView(view), success();
  if (auto view = dyn_cast<tile::GatherViewOp>(op))
    return lowerGatherView(view), success();
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return lowerLoad(load), success();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return lowerStore(store), success();
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return lowerReduce(reduce), success();
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return lowerScan(scan), success();
  if (auto solve = dyn_cast<tile::SolveTriangularOp>(op))
    return lowerSolve(solve), success();
  if (auto transpose = dyn_cast<tile::TransposeOp>(op))
    return lowerTranspose(transpose), success();
  if (auto concat = dyn_cast<tile::ConcatOp>(op))
    return lowerConcat(concat), success();

  auto isTileValue = [](Value value) { return isa<TensorType, tile::ViewType>(value.getType()); };
  if (op->getNumResults() == 1 && tileType(op->getResult(0))) {
    if (isVirtual(op->getResult(0)))
      return success();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return lowerConstant(constant), success();
    if (isElementwise(op) || isa<tile::BroadcastOp, tile::SliceOp, tile::GatherOp>(op))
      return lowerElementwise(op), success();
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Value from = extract.getTensor();
    if (isScalarTile(from.getType()))
      return map(extract, scalar(from)), success();
    if (auto type = tileType(from)) {
      SmallVector<Value> indices;
      if (type.getRank() == 1)
        indices.push_back(math.constant(0));
      for (Value index : extract.getIndices())
        indices.push_back(scalar(index));
      Value stored = memref::LoadOp::create(b, bufferOf(from), indices);
      return map(extract, fromStorage(stored, type.getElementType())), success();
    }
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op);
             constant && isScalarTile(constant.getType())) {
    auto value = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>();
    return map(constant, arith::ConstantOp::create(b, value)), success();
  } else if (isa<tensor::SplatOp, tensor::FromElementsOp>(op) &&
             isScalarTile(op->getResult(0).getType())) {
    return map(op->getResult(0), scalar(op->getOperand(0))), success();
  } else if (isElementwise(op) && isScalarTile(op->getResult(0).getType())) {
    if (isa<tile::ConvertLayoutOp>(op))
      return map(op->getResult(0), scalar(op->getOperand(0))), success();
    Operation *clone = op->clone(scalars);
    clone->getResult(0).setType(getElementTypeOrSelf(op->getResult(0).getType()));
    b.insert(clone);
    return map(op->getResult(0), clone->getResult(0)), success();
  } else if (!llvm::any_of(op->getOperands(), isTileValue) &&
             !llvm::any_of(op->getResults(), isTileValue)) {
    WalkResult walk = op->walk([&](Operation *inner) {
      bool hasTiles = isa_and_nonnull<tile::TileDialect>(inner->getDialect()) ||
                      llvm::any_of(inner->getOperands(), isTileValue) ||
                      llvm::any_of(inner->getResults(), isTileValue);
      return hasTiles ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!walk.wasInterrupted())
      return b.clone(*op, scalars), success();
  }
  return op->emitOpError("is not supported in kernels for CPUs");
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Type TileLowering::storageOf(Type element) {
  if (element.isF16() || (element.isBF16() && !target.bf16Pairs))
    return b.getF32Type();
  return element.isInteger(1) ? b.getI8Type() : element;
}

Value TileLowering::acquire(TileShape shape, Type element) {
  int64_t columns = llvm::alignTo(shape.columns, target.lanes);
  // Matrix tiles are 16 rows of one cache line. Rows that are a multiple of 512 bytes apart would be in few sets of the L1 cache.
  Type stored = storageOf(element);
  if (hasMatrixTiles && shape.rows >= 16 && stored.isIntOrFloat() &&
      columns * stored.getIntOrFloatBitWidth() % (8 * 512) == 0)
    columns += 8 * 64 / stored.getIntOrFloatBitWidth();
  auto type = MemRefType::get({shape.rows, columns}, stored);
  SmallVector<Value> &free = freeBuffers[type];
  return free.empty() ? newBuffer(type) : free.pop_back_val();
}

Value TileLowering::newBuffer(MemRefType type) {
  int64_t elementBytes =
      type.getElementType().isIndex()
          ? 8
          : llvm::PowerOf2Ceil(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  bytes += llvm::alignTo(type.getNumElements() * elementBytes, 64);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(task);
  return memref::AllocaOp::create(b, type, b.getI64IntegerAttr(64));
}

void TileLowering::release(Value buffer) { freeBuffers[buffer.getType()].push_back(buffer); }

void TileLowering::releaseAt(Operation *op) {
  auto found = releases.find(op);
  if (found == releases.end())
    return;
  for (Value buffer : found->second)
    release(buffer);
  releases.erase(found);
}

Value TileLowering::temporary(TileShape shape, Type element) {
  Value buffer = acquire(shape, element);
  temporaries.push_back(buffer);
  return buffer;
}

Value TileLowering::bufferOf(Value tile) {
  if (!isVirtual(tile))
    return buffers.lookup(tile);
  RankedTensorType type = tileType(tile);
  Value buffer = temporary(shapeOf(type), type.getElementType());
  fill(tile, buffer);
  return buffer;
}

Value TileLowering::carriedBufferFor(Value result, bool readsInPlace) {
  if (!result.hasOneUse())
    return nullptr;
  OpOperand &use = *result.use_begin();
  auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
  if (!loop || !isa<scf::YieldOp>(use.getOwner()) || result.getParentBlock() != loop.getBody())
    return nullptr;
  Value carried = buffers.lookup(loop.getRegionIterArg(use.getOperandNumber()));
  Operation *writer = result.getDefiningOp();
  // The carried value, and results of inner loops that took its buffer over.
  for (auto [tile, buffer] : buffers) {
    if (buffer != carried || tile.getParentBlock() != loop.getBody())
      continue;
    Operation *last = lastRead(tile, loop.getBody());
    if (last && !last->isBeforeInBlock(writer) && !(last == writer && readsInPlace))
      return nullptr;
  }
  return carried;
}

Value TileLowering::bind(Value result, bool readsInPlace) {
  if (Value memory = inPlace.lookup(result))
    return buffers[result] = memory;
  if (Value carried = carriedBufferFor(result, readsInPlace))
    return buffers[result] = carried;
  RankedTensorType type = tileType(result);
  Value buffer = acquire(shapeOf(type), type.getElementType());
  bindOwned(result, buffer);
  return buffer;
}

void TileLowering::bindOwned(Value result, Value buffer) {
  buffers[result] = buffer;
  Operation *last = lastRead(result, result.getParentBlock());
  releases[last ? last : result.getDefiningOp()].push_back(buffer);
}

//===----------------------------------------------------------------------===//
// Vectors and loops
//===----------------------------------------------------------------------===//

Value TileLowering::toStorage(Value value, Type element) {
  Type storage = storageOf(element);
  if (storage == element)
    return value;
  Type type = isa<VectorType>(value.getType()) ? Type(vectorOf(storage)) : storage;
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, type, value);
  return arith::ExtFOp::create(b, type, value);
}

Value TileLowering::fromStorage(Value value, Type element) {
  if (storageOf(element) == element)
    return value;
  Type type = isa<VectorType>(value.getType()) ? Type(vectorOf(element)) : element;
  if (element.isInteger(1))
    return arith::TruncIOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

void TileLowering::eachRow(int64_t rows, function_ref<void(Value)> body) {
  if (rows == 1)
    return body(math.constant(0));
  buildFor(b, math.constant(0), math.constant(rows), math.constant(1), body);
}

SmallVector<Value>
TileLowering::eachVector(int64_t columns, ValueRange carried,
                         function_ref<void(Value, int64_t, MutableArrayRef<Value>)> body,
                         int64_t lanes) {
  if (lanes == 0)
    lanes = target.lanes;
  SmallVector<Value> values(carried);
  int64_t first = 0;
  if (llvm::divideCeil(columns, lanes) > uint64_t(unrolledVectors)) {
    int64_t step = lanes * loopVectors;
    first = columns / step * step;
    auto loop =
        scf::ForOp::create(b, math.constant(0), math.constant(first), math.constant(step), values);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    for (int64_t v = 0; v < loopVectors; ++v)
      body(math.add(loop.getInductionVar(), math.constant(v * lanes)), lanes, inner);
    if (!inner.empty())
      scf::YieldOp::create(b, inner);
    values.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (int64_t column = first; column < columns; column += lanes)
    body(math.constant(column), std::min(lanes, columns - column), values);
  return values;
}

} // namespace heddle
