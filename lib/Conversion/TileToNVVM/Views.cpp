//===- Views.cpp - memrefs, views and addresses ---------------------------===//

#include "KernelABI.h"
#include "KernelLowering.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value KernelLowering::advance(Value pointer, Value elements, int64_t bytes) {
  Value distance = math.mul(elements, bytes);
  if (std::optional<int64_t> constant = constantOf(distance);
      constant && llvm::isInt<32>(*constant))
    return advance(pointer, *constant);
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, distance);
}

Value KernelLowering::advance(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value KernelLowering::isInside(Value coordinate, Value extent) {
  return math.compare(arith::CmpIPredicate::ult, coordinate, extent);
}

GlobalRow KernelLowering::rowOf(const GlobalView &view, Value row, bool checked) {
  GlobalRow result{view.pointer, checked ? isInside(row, view.extents[0]) : Value()};
  if (!view.table) {
    result.pointer =
        advance(view.pointer, math.mul(math.wide(row), view.strides[0]), view.elementBytes);
    return result;
  }
  auto entryOf = [&]() -> Value {
    Value index = row;
    if (view.pageRows)
      index = math.div(row, view.pageRows);
    GlobalRow entry = rowOf(*view.table, index, /*checked=*/false);
    return LLVM::LoadOp::create(b, view.table->element, entry.pointer, view.table->elementBytes);
  };
  // The table is not read for a row at or past the extent.
  Value entry;
  if (!isTrue(result.inside)) {
    auto branch = scf::IfOp::create(b, view.table->element, result.inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, entryOf());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, math.constant(-1, view.table->element));
    entry = branch.getResult(0);
  } else {
    entry = entryOf();
  }
  if (checked) {
    Value extent =
        view.table->element.isInteger(64) ? math.wide(view.entryExtent) : view.entryExtent;
    result.inside = isInside(entry, extent);
  }
  Value elements = math.mul(math.wide(entry), view.entryStride);
  if (view.pageRows)
    elements =
        math.add(elements, math.mul(math.wide(math.rem(row, view.pageRows)), view.strides[0]));
  result.pointer = advance(view.pointer, elements, view.elementBytes);
  return result;
}

//===----------------------------------------------------------------------===//
// What is known about an index
//===----------------------------------------------------------------------===//

bool KernelLowering::isNonNegative(Value index, int64_t count) {
  if (std::optional<int64_t> constant = constantOf(index))
    return *constant >= 0 && llvm::isInt<32>(*constant + count - 1);
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNonNegative(loop.getLowerBound());
  }
  Operation *op = index.getDefiningOp();
  if (isa<tile::ProgramIdOp, tile::NumProgramsOp, tile::ExtentOp, memref::DimOp>(op))
    return true;
  if (isa<arith::MaxSIOp>(op))
    return isNonNegative(op->getOperand(0)) || isNonNegative(op->getOperand(1));
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::RemUIOp,
          arith::MinSIOp>(op))
    return isNonNegative(op->getOperand(0)) && isNonNegative(op->getOperand(1));
  return false;
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

FailureOr<GlobalMemory> KernelLowering::memoryOf(Operation *op, Value memref) {
  auto found = memories.find(memref);
  if (found == memories.end())
    return op->emitOpError("expected an argument of the kernel, or a subview of one, got ")
           << memref.getType();
  return found->second;
}

LogicalResult KernelLowering::lowerSubview(memref::SubViewOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  if (failed(source))
    return failure();
  int64_t bytes = tile_nv::bytesOfElement(op.getType().getElementType());
  auto valueOf = [&](OpFoldResult value) -> Value {
    if (auto constant = dyn_cast<Attribute>(value))
      return math.i32(cast<IntegerAttr>(constant).getInt());
    return scalar(cast<Value>(value));
  };
  GlobalMemory result{source->pointer, {}, {}, source->alignment};
  llvm::SmallBitVector dropped = op.getDroppedDims();
  int64_t rank = op.getSourceType().getRank();
  Value distance = math.i64(0);
  for (int64_t dim = 0; dim < rank; ++dim) {
    OpFoldResult offset = op.getMixedOffsets()[dim], step = op.getMixedStrides()[dim];
    distance = math.add(distance, math.mul(math.wide(valueOf(offset)), source->strides[dim]));
    int64_t divisor = 1;
    if (auto constant = getConstantIntValue(offset))
      divisor = *constant == 0 ? 16 : *constant & -*constant;
    else
      divisor = tile_nv::knownDivisor(cast<Value>(offset));
    if (dim == rank - 1)
      result.alignment = std::max(bytes, std::min(result.alignment, divisor * bytes));
    if (dropped.test(dim))
      continue;
    result.extents.push_back(valueOf(op.getMixedSizes()[dim]));
    result.strides.push_back(math.mul(source->strides[dim], math.wide(valueOf(step))));
  }
  result.pointer = advance(source->pointer, distance, bytes);
  mapMemory(op, result);
  return success();
}

LogicalResult KernelLowering::lowerMemoryCast(memref::CastOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  if (failed(source))
    return failure();
  if (!from || !to)
    return notSupported(op, "of an unranked memref");
  GlobalMemory result = *source;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (succeeded(to.getStridesAndOffset(strides, offset)))
    for (auto [known, stride] : llvm::zip_equal(strides, result.strides))
      if (!ShapedType::isDynamic(known))
        stride = math.i64(known);
  for (auto [known, extent] : llvm::zip_equal(to.getShape(), result.extents))
    if (!ShapedType::isDynamic(known))
      extent = math.i32(known);
  mapMemory(op, result);
  return success();
}

LogicalResult KernelLowering::lowerMemorySelect(arith::SelectOp op) {
  FailureOr<GlobalMemory> yes = memoryOf(op, op.getTrueValue());
  FailureOr<GlobalMemory> no = memoryOf(op, op.getFalseValue());
  if (failed(yes) || failed(no))
    return failure();
  Value condition = scalar(op.getCondition());
  auto choose = [&](Value a, Value b) -> Value {
    std::optional<int64_t> constant = constantOf(a);
    bool isSame = a == b || (constant && constant == constantOf(b));
    return isSame ? a : arith::SelectOp::create(this->b, condition, a, b);
  };
  GlobalMemory result{
      choose(yes->pointer, no->pointer), {}, {}, std::min(yes->alignment, no->alignment)};
  for (auto [a, b] : llvm::zip_equal(yes->extents, no->extents))
    result.extents.push_back(choose(a, b));
  for (auto [a, b] : llvm::zip_equal(yes->strides, no->strides))
    result.strides.push_back(choose(a, b));
  mapMemory(op, result);
  return success();
}

LogicalResult KernelLowering::lowerMemoryDim(memref::DimOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (failed(source))
    return failure();
  if (!dim || *dim < 0 || *dim >= int64_t(source->extents.size()))
    return notSupported(op, "expected a constant dimension");
  mapScalar(op, source->extents[*dim]);
  return success();
}

LogicalResult KernelLowering::lowerScalarLoad(memref::LoadOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getMemRef());
  if (failed(source))
    return failure();
  Type element = op.getType();
  Value distance = math.i64(0);
  for (auto [index, stride] : llvm::zip_equal(op.getIndices(), source->strides))
    distance = math.add(distance, math.mul(math.wide(scalar(index)), stride));
  int64_t bytes = tile_nv::bytesOfElement(element);
  Value pointer = advance(source->pointer, distance, bytes);
  if (element.isInteger(1)) {
    Value byte = LLVM::LoadOp::create(b, b.getI8Type(), pointer, bytes);
    mapScalar(op, math.compare(arith::CmpIPredicate::ne, byte, 0));
  } else {
    mapScalar(op, LLVM::LoadOp::create(b, element, pointer, bytes));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Completes a view with the dimensions of `source` that it keeps, but for those that a table selects, and with where its first
/// element lies: the other dimensions are fixed by `indices`.
void KernelLowering::cutDimensions(GlobalView &view, const GlobalMemory &source, ValueRange indices,
                                   ArrayRef<int64_t> keptDims, ArrayRef<int64_t> tableDims) {
  int64_t rank = source.extents.size();
  auto fixed = indices.begin();
  Value distance = math.i64(0);
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(tableDims, dim))
      continue;
    if (llvm::is_contained(keptDims, dim)) {
      if (dim + 1 == rank && constantOf(source.strides[dim]) == 1)
        view.contiguousDim = view.extents.size();
      view.extents.push_back(source.extents[dim]);
      view.strides.push_back(source.strides[dim]);
    } else {
      distance = math.add(distance, math.mul(math.wide(scalar(*fixed++)), source.strides[dim]));
    }
  }
  view.alignment = view.contiguousDim >= 0 ? source.alignment : view.elementBytes;
  view.pointer = advance(source.pointer, distance, view.elementBytes);
}

LogicalResult KernelLowering::lowerView(tile::ViewOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  if (failed(source))
    return failure();
  MemRefType type = op.getSource().getType();
  GlobalView view;
  view.element = type.getElementType();
  view.elementBytes = tile_nv::bytesOfElement(view.element);
  cutDimensions(view, *source, op.getIndices(), op.getKeptDims(), /*tableDims=*/{});
  views[op.getView()] = std::move(view);
  return success();
}

LogicalResult KernelLowering::lowerGatherView(tile::GatherViewOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  if (failed(source))
    return failure();
  auto table = std::make_shared<GlobalView>();
  if (auto found = views.find(op.getTable()); found != views.end()) {
    *table = found->second;
  } else {
    FailureOr<GlobalMemory> entries = memoryOf(op, op.getTable());
    if (failed(entries))
      return failure();
    table->element = cast<MemRefType>(op.getTable().getType()).getElementType();
    table->elementBytes = tile_nv::bytesOfElement(table->element);
    table->pointer = entries->pointer;
    table->extents = entries->extents;
    table->strides = entries->strides;
    table->alignment = table->elementBytes;
  }
  MemRefType type = op.getSource().getType();
  int64_t tableDim = op.getTableDim();
  GlobalView view;
  view.element = type.getElementType();
  view.elementBytes = tile_nv::bytesOfElement(view.element);
  view.entryStride = source->strides[tableDim];
  view.entryExtent = source->extents[tableDim];
  Value rows = table->extents[0];
  if (op.getPaged()) {
    view.pageRows = source->extents[tableDim + 1];
    rows = math.mul(rows, view.pageRows);
  }
  if (op.getRows())
    rows = scalar(op.getRows());
  view.table = std::move(table);
  view.extents.push_back(rows);
  view.strides.push_back(op.getPaged() ? source->strides[tableDim + 1] : view.entryStride);
  SmallVector<int64_t> tableDims{tableDim};
  if (op.getPaged())
    tableDims.push_back(tableDim + 1);
  cutDimensions(view, *source, op.getIndices(), op.getKeptDims(), tableDims);
  views[op.getView()] = std::move(view);
  return success();
}

} // namespace heddle
