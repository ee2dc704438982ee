//===- Elementwise.cpp - tiles computed vector by vector ------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

Value TileLowering::eval(Value tile, TilePoint &point) {
  if (Value known = point.known.lookup(tile))
    return known;
  Type element = getElementTypeOrSelf(tile.getType());
  Value result;
  if (isScalarTile(tile.getType())) {
    result = vector::BroadcastOp::create(b, vectorOf(element), scalar(tile));
  } else if (isVirtual(tile)) {
    result = evalVirtual(tile, point);
  } else {
    Value stored = vector::LoadOp::create(b, vectorOf(storageOf(element)), buffers.lookup(tile),
                                          ValueRange{point.row, point.column});
    result = fromStorage(stored, element);
  }
  return point.known[tile] = result;
}

Value TileLowering::evalStored(Value tile, TilePoint &point) {
  Type element = getElementTypeOrSelf(tile.getType());
  if (tileType(tile) && !isVirtual(tile))
    return vector::LoadOp::create(b, vectorOf(storageOf(element)), buffers.lookup(tile),
                                  ValueRange{point.row, point.column});
  return toStorage(eval(tile, point), element);
}

Value TileLowering::evalVirtual(Value tile, TilePoint &point) {
  Operation *op = tile.getDefiningOp();
  VectorType type = vectorOf(getElementTypeOrSelf(tile.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return vector::BroadcastOp::create(b, type, scalar(splat.getInput()));
  if (auto iota = dyn_cast<tile::IotaOp>(op))
    return evalIota(iota, point);
  if (auto slice = dyn_cast<tile::SliceOp>(op))
    return evalSlice(slice, point);
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    return evalGather(gather, point);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    Value input = broadcast.getInput();
    if (isScalarTile(input.getType()))
      return vector::BroadcastOp::create(b, type, scalar(input));
    if (broadcast.getAlong() == 1)
      return vector::BroadcastOp::create(b, type, elementAt(input, point.row));
    TilePoint inRow{math.constant(0), point.column, point.valid};
    return eval(input, inRow);
  }
  return evalElementwise(op, point);
}

Value TileLowering::evalElementwise(Operation *op, TilePoint &point) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<tile::ConvertLayoutOp>(op))
    return eval(op->getOperand(0), point);
  if (isa<arith::ExtFOp>(op)) {
    // A buffer holds the wide value already.
    Value from = op->getOperand(0);
    Type narrow = getElementTypeOrSelf(from.getType());
    if (storageOf(narrow) != narrow)
      return convertFloat(b, evalStored(from, point), element);
  }
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand,
                 isa<TensorType>(operand.getType()) ? eval(operand, point) : scalar(operand));
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
          arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
      point.valid < target.lanes) {
    // A zero in the padding would trap.
    Value divisor = op->getOperand(1);
    Value ones = arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorOf(element), b.getIntegerAttr(element, 1)));
    operands.map(divisor,
                 arith::SelectOp::create(b, tailMask(point.valid), operands.lookup(divisor), ones));
  }
  Operation *clone = op->clone(operands);
  clone->getResult(0).setType(vectorOf(element));
  b.insert(clone);
  return clone->getResult(0);
}

Value TileLowering::evalIota(tile::IotaOp op, TilePoint &point) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType();
  bool alongColumns = int64_t(op.getAlong()) + 1 == type.getRank();
  Value first = alongColumns ? point.column : point.row;
  if (Value start = op.getStart())
    first = math.add(scalar(start), first);
  if (!element.isIndex())
    first = arith::IndexCastOp::create(b, element, first);
  Value firsts = vector::BroadcastOp::create(b, vectorOf(element), first);
  if (!alongColumns)
    return firsts;
  SmallVector<Attribute> numbers;
  for (int64_t lane = 0; lane < target.lanes; ++lane)
    numbers.push_back(b.getIntegerAttr(element, lane));
  Value lanes = arith::ConstantOp::create(b, DenseElementsAttr::get(vectorOf(element), numbers));
  return arith::AddIOp::create(b, firsts, lanes);
}

Value TileLowering::evalSlice(tile::SliceOp op, TilePoint &point) {
  RankedTensorType type = op.getType();
  ArrayRef<int64_t> offsets = op.getOffsets();
  int64_t rowOffset = type.getRank() == 2 ? offsets[0] : 0, columnOffset = offsets.back();
  TilePoint moved{math.add(point.row, math.constant(rowOffset)),
                  math.add(point.column, math.constant(columnOffset)), point.valid};
  Value input = op.getInput();
  if (isFree(input) || columnOffset % target.lanes == 0 || point.valid == target.lanes)
    return eval(input, moved);
  // A whole vector could reach past the last row of the buffer.
  VectorType stored = vectorOf(storageOf(type.getElementType()));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(stored));
  Value vector = vector::MaskedLoadOp::create(
      b, stored, bufferOf(input), ValueRange{moved.row, moved.column}, tailMask(point.valid), none);
  return fromStorage(vector, type.getElementType());
}

/// Lanes outside of the tile are clamped like the others, and read some element.
Value TileLowering::evalGather(tile::GatherOp op, TilePoint &point) {
  Value source = scalar(op.getSource());
  Type element = op.getType().getElementType();
  VectorType indexType = vectorOf(b.getIndexType());
  auto repeated = [&](Value index) -> Value {
    return vector::BroadcastOp::create(b, indexType, index);
  };
  Value zero = repeated(math.constant(0));
  auto layout = memref::ExtractStridedMetadataOp::create(b, source);
  Value distance = zero;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value at = isa<TensorType>(index.getType()) ? eval(index, point) : repeated(scalar(index));
    if (at.getType() != indexType)
      at = arith::IndexCastOp::create(b, indexType, at);
    Value last = math.sub(b.createOrFold<memref::DimOp>(source, int64_t(dim)), math.constant(1));
    at = arith::MinSIOp::create(b, at, repeated(last));
    at = arith::MaxSIOp::create(b, at, zero);
    Value step = arith::MulIOp::create(b, at, repeated(layout.getStrides()[dim]));
    distance = dim == 0 ? step : Value(arith::AddIOp::create(b, distance, step));
  }
  // The elements as one row, whatever the strides are.
  constexpr int64_t dynamic = ShapedType::kDynamic;
  auto flat =
      MemRefType::get({dynamic}, element, StridedLayoutAttr::get(b.getContext(), dynamic, {1}));
  OpFoldResult one = b.getIndexAttr(1);
  Value row = memref::ReinterpretCastOp::create(b, flat, layout.getBaseBuffer(),
                                                OpFoldResult(layout.getOffset()), {one}, {one});
  VectorType type = vectorOf(element);
  if (element.getIntOrFloatBitWidth() % 8 == 0) {
    Value all = tailMask(target.lanes);
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::GatherOp::create(b, type, row, ValueRange(math.constant(0)), distance, all,
                                    none);
  }
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < target.lanes; ++lane)
    lanes.push_back(
        memref::LoadOp::create(b, row, ValueRange(vector::ExtractOp::create(b, distance, lane))));
  return vector::FromElementsOp::create(b, type, lanes);
}

Value TileLowering::elementAt(Value tile, Value index) {
  Type element = getElementTypeOrSelf(tile.getType());
  if (!isFree(tile)) {
    Value stored = memref::LoadOp::create(b, bufferOf(tile), ValueRange{math.constant(0), index});
    return fromStorage(stored, element);
  }
  Operation *op = tile.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(
        b, cast<SplatElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>());
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    Value number = iota.getStart() ? math.add(scalar(iota.getStart()), index) : index;
    return element.isIndex() ? number : arith::IndexCastOp::create(b, element, number);
  }
  return scalar(op->getOperand(0)); // a splat, or a broadcast of a scalar
}

void TileLowering::fill(Value tile, Value buffer, int64_t rowOffset, int64_t columnOffset) {
  TileShape shape = shapeOf(tileType(tile));
  eachRow(shape.rows, [&](Value row) {
    eachVector(shape.columns, {}, [&](Value column, int64_t valid, MutableArrayRef<Value>) {
      TilePoint point{row, column, valid};
      Value stored = evalStored(tile, point);
      SmallVector<Value> to{math.add(row, math.constant(rowOffset)),
                            math.add(column, math.constant(columnOffset))};
      if (columnOffset % target.lanes != 0 && valid < target.lanes)
        vector::MaskedStoreOp::create(b, buffer, to, tailMask(valid), stored);
      else
        vector::StoreOp::create(b, stored, buffer, to);
    });
  });
}

SmallVector<tile::ReduceOp> TileLowering::takeReductions(Operation *op, int64_t along) {
  Value result = op->getResult(0);
  RankedTensorType type = tileType(result);
  SmallVector<tile::ReduceOp> reductions;
  for (Operation *user : result.getUsers()) {
    auto reduce = dyn_cast<tile::ReduceOp>(user);
    if (!reduce || reduce->getBlock() != op->getBlock() || type.getRank() != 2 ||
        int64_t(reduce.getAlong()) != along)
      continue;
    bindOwned(reduce.getResult(), acquire(shapeOf(reduce.getType()), type.getElementType()));
    reductions.push_back(reduce);
    lowered.insert(reduce);
  }
  return reductions;
}

Value TileLowering::takeOver(Operation *op) {
  if (!isElementwise(op))
    return nullptr;
  Value result = op->getResult(0);
  llvm::SetVector<Value> leaves;
  bool samePlace = true;
  for (Value operand : op->getOperands())
    collectLeaves(operand, leaves, samePlace);
  auto pending = releases.find(op);
  if (!samePlace || pending == releases.end())
    return nullptr;
  RankedTensorType type = tileType(result);
  for (Value leaf : leaves) {
    RankedTensorType from = tileType(leaf);
    Value buffer = buffers.lookup(leaf);
    if (!llvm::is_contained(pending->second, buffer) || from.getShape() != type.getShape() ||
        storageOf(from.getElementType()) != storageOf(type.getElementType()))
      continue;
    llvm::erase(pending->second, buffer);
    return buffer;
  }
  return nullptr;
}

void TileLowering::lowerElementwise(Operation *op) {
  Value result = op->getResult(0);
  SmallVector<tile::ReduceOp> alongRows = takeReductions(op, 1);
  // Lanes are reduced by other loops than columns.
  SmallVector<tile::ReduceOp> alongColumns;
  if (alongRows.empty())
    alongColumns = takeReductions(op, 0);
  Value buffer = carriedBufferFor(result, /*readsInPlace=*/false);
  if (!buffer)
    buffer = takeOver(op);
  if (buffer && carriedBufferFor(result, /*readsInPlace=*/false) == buffer)
    buffers[result] = buffer;
  else if (buffer)
    bindOwned(result, buffer);
  else
    buffer = bind(result);
  if (alongColumns.empty())
    lowerWithRowReductions(result, buffer, alongRows);
  else
    lowerWithColumnReductions(result, buffer, alongColumns);
}

void TileLowering::lowerWithRowReductions(Value result, Value buffer,
                                          MutableArrayRef<tile::ReduceOp> reductions) {
  RankedTensorType type = tileType(result);
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  auto computeRow = [&](Value row) {
    SmallVector<Value> carried;
    for (tile::ReduceOp reduce : reductions)
      carried.push_back(neutral(reduce.getKind(), vectorOf(element)));
    return eachVector(
        shape.columns, carried, [&](Value column, int64_t valid, MutableArrayRef<Value> partial) {
          TilePoint point{row, column, valid};
          Value vector = evalVirtual(result, point);
          vector::StoreOp::create(b, toStorage(vector, element), buffer, ValueRange{row, column});
          for (auto [reduce, value] : llvm::zip_equal(reductions, partial))
            value =
                combine(reduce.getKind(), value, withNeutralTail(reduce.getKind(), vector, valid));
        });
  };
  if (reductions.empty())
    return eachRow(shape.rows, [&](Value row) { computeRow(row); });
  reduceRows(shape, reductions, computeRow);
}

void TileLowering::lowerWithColumnReductions(Value result, Value buffer,
                                             MutableArrayRef<tile::ReduceOp> reductions) {
  Type element = tileType(result).getElementType();
  reduceColumns(tileType(result), reductions, [&](TilePoint point) {
    Value vector = evalVirtual(result, point);
    vector::StoreOp::create(b, toStorage(vector, element), buffer,
                            ValueRange{point.row, point.column});
    return vector;
  });
}

void TileLowering::lowerConstant(arith::ConstantOp op) {
  Value result = op.getResult();
  RankedTensorType type = tileType(result);
  TileShape shape = shapeOf(type);
  Type element = type.getElementType();
  Value buffer = bind(result);
  SmallVector<Attribute> values(cast<DenseElementsAttr>(op.getValue()).getValues<Attribute>());
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; column += target.lanes) {
      SmallVector<Attribute> lanes;
      for (int64_t lane = 0; lane < target.lanes; ++lane)
        lanes.push_back(values[row * shape.columns + std::min(column + lane, shape.columns - 1)]);
      Value vector = arith::ConstantOp::create(b, DenseElementsAttr::get(vectorOf(element), lanes));
      vector::StoreOp::create(b, toStorage(vector, element), buffer,
                              ValueRange{math.constant(row), math.constant(column)});
    }
}

} // namespace heddle
