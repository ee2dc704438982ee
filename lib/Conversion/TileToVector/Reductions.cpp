//===- Reductions.cpp - reductions and scans ------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Columns that are reduced side by side, in vectors.
static constexpr int64_t columnVectors = 4;

Value TileLowering::neutral(tile::CombiningKind kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  bool isMax = kind == tile::CombiningKind::Max, isMin = kind == tile::CombiningKind::Min;
  TypedAttr value;
  if (auto floating = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    APFloat number = APFloat::getInf(semantics, /*Negative=*/isMax);
    if (!isMax && !isMin)
      number = kind == tile::CombiningKind::Mul ? APFloat::getOne(semantics)
                                                : APFloat::getZero(semantics);
    value = b.getFloatAttr(floating, number);
  } else {
    unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    APInt number(width, kind == tile::CombiningKind::Mul ? 1 : 0);
    if (isMax)
      number = APInt::getSignedMinValue(width);
    if (isMin)
      number = APInt::getSignedMaxValue(width);
    value = b.getIntegerAttr(element, number);
  }
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(b, value);
}

Value TileLowering::combine(tile::CombiningKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  auto selectIf = [&](arith::CmpFPredicate predicate) -> Value {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, y), x, y);
  };
  switch (kind) {
  case tile::CombiningKind::Add:
    return isFloat ? Value(arith::AddFOp::create(b, x, y)) : arith::AddIOp::create(b, x, y);
  case tile::CombiningKind::Mul:
    return isFloat ? Value(arith::MulFOp::create(b, x, y)) : arith::MulIOp::create(b, x, y);
  case tile::CombiningKind::Max:
    return isFloat ? selectIf(arith::CmpFPredicate::OGT) : arith::MaxSIOp::create(b, x, y);
  case tile::CombiningKind::Min:
    return isFloat ? selectIf(arith::CmpFPredicate::OLT) : arith::MinSIOp::create(b, x, y);
  }
  llvm_unreachable("unknown combining kind");
}

Value TileLowering::horizontal(tile::CombiningKind kind, Value vector) {
  for (int64_t distance = target.lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < target.lanes; ++lane)
      lanes.push_back(lane ^ distance);
    Value other = vector::ShuffleOp::create(b, vector, vector, lanes);
    vector = combine(kind, vector, other);
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}

Value TileLowering::withNeutralTail(tile::CombiningKind kind, Value vector, int64_t valid) {
  if (valid == target.lanes)
    return vector;
  return arith::SelectOp::create(b, tailMask(valid), vector, neutral(kind, vector.getType()));
}

void TileLowering::lowerReduce(tile::ReduceOp op) {
  Value input = op.getInput();
  RankedTensorType type = tileType(input);
  if (type.getRank() == 2 && op.getAlong() == 0) {
    bind(op.getResult());
    return reduceColumns(type, op, [&](TilePoint point) { return eval(input, point); });
  }
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  Value result = type.getRank() == 2 ? bind(op.getResult()) : Value();
  eachRow(shape.rows, [&](Value row) {
    SmallVector<Value> carried =
        eachVector(shape.columns, neutral(op.getKind(), vectorOf(element)),
                   [&](Value column, int64_t valid, MutableArrayRef<Value> partial) {
                     TilePoint point{row, column, valid};
                     partial[0] = combine(op.getKind(), partial[0],
                                          withNeutralTail(op.getKind(), eval(input, point), valid));
                   });
    Value sum = horizontal(op.getKind(), carried[0]);
    if (result)
      memref::StoreOp::create(b, toStorage(sum, element), result,
                              ValueRange{math.constant(0), row});
    else
      map(op.getResult(), sum);
  });
}

void TileLowering::reduceColumns(RankedTensorType type, MutableArrayRef<tile::ReduceOp> reductions,
                                 function_ref<Value(TilePoint)> compute) {
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  int64_t lanes = target.lanes;
  for (int64_t first = 0; first < shape.columns; first += lanes * columnVectors) {
    int64_t count =
        std::min<int64_t>(columnVectors, llvm::divideCeil(shape.columns - first, lanes));
    SmallVector<Value> inits;
    for (tile::ReduceOp reduce : reductions)
      inits.append(count, neutral(reduce.getKind(), vectorOf(element)));
    auto loop =
        scf::ForOp::create(b, math.constant(0), math.constant(shape.rows), math.constant(1), inits);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next(loop.getRegionIterArgs());
      for (int64_t v = 0; v < count; ++v) {
        int64_t column = first + v * lanes;
        Value vector = compute(TilePoint(loop.getInductionVar(), math.constant(column),
                                         std::min(lanes, shape.columns - column)));
        for (auto [r, reduce] : llvm::enumerate(reductions)) {
          Value &partial = next[r * count + v];
          partial = combine(reduce.getKind(), partial, vector);
        }
      }
      scf::YieldOp::create(b, next);
    }
    for (auto [r, reduce] : llvm::enumerate(reductions))
      for (int64_t v = 0; v < count; ++v)
        vector::StoreOp::create(b, toStorage(loop.getResult(r * count + v), element),
                                buffers.lookup(reduce.getResult()),
                                ValueRange{math.constant(0), math.constant(first + v * lanes)});
  }
}

/// One element after another along a row, one vector after another along a column.
void TileLowering::lowerScan(tile::ScanOp op) {
  RankedTensorType type = tileType(op.getInput());
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  bool alongRow = int64_t(op.getAlong()) + 1 == type.getRank();
  bool isInclusive = op.getMode() == tile::ScanMode::Inclusive;
  Value from = bufferOf(op.getInput());
  Value to = bind(op.getResult());
  VectorType stored = vectorOf(storageOf(element));

  auto scanLine = [&](int64_t length, Type resultType, function_ref<Value(Value)> load,
                      function_ref<void(Value, Value)> store) {
    auto loop = scf::ForOp::create(b, math.constant(0), math.constant(length), math.constant(1),
                                   neutral(op.getKind(), resultType));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value before = loop.getRegionIterArg(0);
    Value after = combine(op.getKind(), before, fromStorage(load(loop.getInductionVar()), element));
    store(loop.getInductionVar(), toStorage(isInclusive ? after : before, element));
    scf::YieldOp::create(b, after);
  };
  if (alongRow) {
    eachRow(shape.rows, [&](Value row) {
      scanLine(
          shape.columns, element,
          [&](Value i) { return memref::LoadOp::create(b, from, ValueRange{row, i}); },
          [&](Value i, Value value) { memref::StoreOp::create(b, value, to, ValueRange{row, i}); });
    });
    return;
  }
  eachVector(shape.columns, {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
    scanLine(
        shape.rows, vectorOf(element),
        [&](Value i) { return vector::LoadOp::create(b, stored, from, ValueRange{i, column}); },
        [&](Value i, Value value) {
          vector::StoreOp::create(b, value, to, ValueRange{i, column});
        });
  });
}

} // namespace heddle
