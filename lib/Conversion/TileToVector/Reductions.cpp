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

/// Stage d combines lanes that differ in bit d, of two vectors at once: those of the first go where the bit is 0. So bit 0 of a vector's
/// number becomes the highest bit of its lane, and so on.
Value TileLowering::horizontals(tile::CombiningKind kind, SmallVector<Value> vectors) {
  int64_t lanes = target.lanes, count = vectors.size();
  SmallVector<int64_t> place(lanes, 0);
  for (int64_t d = lanes / 2, bit = 1; d > 0; d /= 2, bit *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t from = lane & d ? lanes : 0;
      low.push_back(from + (lane & ~d));
      high.push_back(from + (lane | d));
      if (lane & bit)
        place[lane] |= d;
    }
    SmallVector<Value> half;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value first = vectors[i], second = vectors[std::min(i + 1, vectors.size() - 1)];
      half.push_back(combine(kind, vector::ShuffleOp::create(b, first, second, low),
                             vector::ShuffleOp::create(b, first, second, high)));
    }
    vectors = std::move(half);
  }
  for (int64_t lane = count; lane < lanes; ++lane)
    place[lane] = 0;
  return vector::ShuffleOp::create(b, vectors.front(), vectors.front(), place);
}

/// Few rows are written out one by one: what they add up to is one vector then, and nobody waits for elements that are stored one by
/// one and loaded together.
void TileLowering::reduceRows(TileShape shape, MutableArrayRef<tile::ReduceOp> reductions,
                              function_ref<SmallVector<Value>(Value)> reduceRow) {
  auto store = [&](tile::ReduceOp reduce, Value value, Value column) {
    Type element = reduce.getType().getElementType();
    Value buffer = buffers.lookup(reduce.getResult()), stored = toStorage(value, element);
    SmallVector<Value> to{math.constant(0), column};
    if (isa<VectorType>(stored.getType()))
      vector::StoreOp::create(b, stored, buffer, to);
    else
      memref::StoreOp::create(b, stored, buffer, to);
  };
  bool isSmall = shape.columns <= target.lanes * unrolledVectors;
  if (shape.rows == 1 || shape.rows > std::min(fewRows, target.lanes) || !isSmall) {
    eachRow(shape.rows, [&](Value row) {
      SmallVector<Value> partial = reduceRow(row);
      for (auto [reduce, vector] : llvm::zip_equal(reductions, partial))
        store(reduce, horizontal(reduce.getKind(), vector), row);
    });
    return;
  }
  SmallVector<SmallVector<Value>> ofReductions(reductions.size());
  for (int64_t row = 0; row < shape.rows; ++row)
    for (auto [all, vector] : llvm::zip_equal(ofReductions, reduceRow(math.constant(row))))
      all.push_back(vector);
  for (auto [reduce, all] : llvm::zip_equal(reductions, ofReductions))
    store(reduce, horizontals(reduce.getKind(), all), math.constant(0));
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
  auto reduceRow = [&](Value row) {
    return eachVector(shapeOf(type).columns, neutral(op.getKind(), vectorOf(element)),
                      [&](Value column, int64_t valid, MutableArrayRef<Value> partial) {
                        TilePoint point{row, column, valid};
                        partial[0] =
                            combine(op.getKind(), partial[0],
                                    withNeutralTail(op.getKind(), eval(input, point), valid));
                      });
  };
  if (type.getRank() == 1)
    return map(op.getResult(), horizontal(op.getKind(), reduceRow(math.constant(0))[0]));
  bind(op.getResult());
  reduceRows(shapeOf(type), op, reduceRow);
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
