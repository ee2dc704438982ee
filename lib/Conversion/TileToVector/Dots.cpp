//===- Dots.cpp - products as register tiles ------------------------------===//
//
// The result is cut into register tiles of rows x vectors. A tile starts with the accumulator operand, computed in place if it is
// virtual, and keeps its sums in loop-carried vectors over the whole of K: `vectors` loads of b and `rows` broadcast scalars of a feed
// rows * vectors multiply-adds. Columns of tiles are the outer loop, so that a panel of b stays in the L1 cache.
//
// Products of few rows have forms of their own in FewRowDots.cpp, products of bf16 by pairs in PairDots.cpp, by matrix tiles in
// MatrixTileDots.cpp.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

Value TileLowering::loadFrom(const MatrixRow &row, Value column, int64_t valid, Type element) {
  SmallVector<Value> indices(row.first);
  indices[row.columnDim] = math.add(indices[row.columnDim], column);
  VectorType type = vectorOf(getElementTypeOrSelf(row.source.getType()));
  Value vector;
  if (valid < target.lanes) {
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    vector = vector::MaskedLoadOp::create(b, type, row.source, indices, tailMask(valid), none);
  } else {
    vector = vector::LoadOp::create(b, type, row.source, indices);
  }
  return widened(vector, element);
}

/// A factor in the type of the accumulator.
Value TileLowering::widened(Value value, Type element) {
  if (isa<FloatType>(element))
    return convertFloat(b, value, element);
  Type to = isa<VectorType>(value.getType()) ? Type(vectorOf(element)) : element;
  return arith::ExtSIOp::create(b, to, value);
}

Value TileLowering::multiplyAdd(Value x, Value y, Value sum) {
  if (isa<FloatType>(getElementTypeOrSelf(sum.getType())))
    return vector::FMAOp::create(b, x, y, sum);
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
}

/// The buffer of a product's sums.
Value TileLowering::bindSums(tile::DotOp op) {
  // The sums may overwrite the tile that a loop carries unless a factor lies there.
  llvm::SetVector<Value> factors, accumulators;
  bool factorsSame = true, samePlace = true;
  collectLeaves(op.getA(), factors, factorsSame);
  collectLeaves(op.getB(), factors, factorsSame);
  collectLeaves(op.getAcc(), accumulators, samePlace);
  Value carried = carriedBufferFor(op.getResult(), /*readsInPlace=*/true);
  bool isFactor = llvm::any_of(
      factors, [&](Value factor) { return carried && buffers.lookup(factor) == carried; });
  return bind(op.getResult(), /*readsInPlace=*/samePlace && !isFactor);
}

LogicalResult TileLowering::lowerDot(tile::DotOp op) {
  if (takesDotForm(op))
    return dotForm(op), success();
  if (std::optional<ColumnChain> chain = columnChainFrom(op))
    return lowerColumnChain(*chain);

  bool inPairs = op.getType().getDimSize(0) <= fewRows && !op.getTransposeB() && takesPairs(op);
  bool isPaired = takesPairTiles(op), isTiled = takesMatrixTiles(op);
  Value a;
  if (isTiled)
    a = leftTiles(op);
  else if (!inPairs)
    a = isPaired ? leftPairs(op) : bufferOf(op.getA());
  Value panel = op.getB();
  if (isPaired) {
    panel = rightPairs(op);
  } else if (op.getTransposeB()) {
    RankedTensorType type = tileType(op.getB());
    panel = temporary({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    transposeInto(bufferOf(op.getB()), shapeOf(type), panel);
  } else if (isVirtual(panel)) {
    panel = bufferOf(panel);
  }
  Value dest = bindSums(op);

  if (inPairs)
    return pairForm(op, dest), success();
  if (isTiled)
    return multiplyTiles(op, a, panel, dest), success();

  TileShape shape = shapeOf(op.getType());
  int64_t lanes = target.lanes;
  bool isWide = op.getType().getElementType().isF64();
  int64_t rows = isWide ? std::max<int64_t>(target.rows / 2, 1) : target.rows;
  auto column = [&](Value first, ArrayRef<int64_t> valid) {
    int64_t whole = shape.rows / rows * rows;
    if (whole == rows)
      registerTile(op, a, panel, dest, math.constant(0), rows, first, valid);
    else if (whole > 0)
      buildFor(b, math.constant(0), math.constant(whole), math.constant(rows),
               [&](Value row) { registerTile(op, a, panel, dest, row, rows, first, valid); });
    if (whole < shape.rows)
      registerTile(op, a, panel, dest, math.constant(whole), shape.rows - whole, first, valid);
  };
  int64_t vectors =
      shape.rows < rows ? vectorsOfFewRows(shape.rows, shape.columns) : target.vectors;
  int64_t width = lanes * vectors;
  int64_t whole = shape.columns / width * width;
  SmallVector<int64_t> allValid(vectors, lanes);
  if (whole == width)
    column(math.constant(0), allValid);
  else if (whole > 0)
    buildFor(b, math.constant(0), math.constant(whole), math.constant(width),
             [&](Value first) { column(first, allValid); });
  SmallVector<int64_t> rest;
  for (int64_t first = whole; first < shape.columns; first += lanes)
    rest.push_back(std::min(lanes, shape.columns - first));
  if (!rest.empty())
    column(math.constant(whole), rest);
  return success();
}

void TileLowering::registerTile(tile::DotOp op, Value a, Value panel, Value dest, Value row,
                                int64_t rows, Value column, ArrayRef<int64_t> valid) {
  Type element = op.getType().getElementType();
  VectorType type = vectorOf(element);
  int64_t lanes = target.lanes, vectors = valid.size();
  bool isPaired = takesPairTiles(op);
  int64_t depth = tileType(op.getA()).getDimSize(op.getTransposeA() ? 0 : 1) / (isPaired ? 2 : 1);
  auto place = [&](int64_t r, int64_t v) {
    return SmallVector<Value>{math.add(row, math.constant(r)),
                              math.add(column, math.constant(v * lanes))};
  };

  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      SmallVector<Value> at = place(r, v);
      TilePoint point{at[0], at[1], valid[v]};
      sums.push_back(eval(op.getAcc(), point));
    }
  auto step = [&](Value k, SmallVectorImpl<Value> &partial) {
    SmallVector<Value> columns;
    MatrixRow from = isa<MemRefType>(panel.getType()) ? MatrixRow{panel, {k, math.constant(0)}, 1}
                                                      : rowOf(panel, k);
    for (int64_t v = 0; v < vectors; ++v) {
      if (!from.ahead.empty())
        fetch(from.source, from.ahead, from.columnDim, math.add(column, math.constant(v * lanes)),
              v);
      // Past the end of a row, a buffer has padding, but memory may end.
      bool isPadded = buffers.contains(panel) || isa<MemRefType>(panel.getType());
      columns.push_back(loadFrom(from, math.add(column, math.constant(v * lanes)),
                                 isPadded ? lanes : valid[v], element));
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value m = math.add(row, math.constant(r));
      SmallVector<Value> at =
          op.getTransposeA() ? SmallVector<Value>{k, m} : SmallVector<Value>{m, k};
      Value factor = widened(memref::LoadOp::create(b, a, at), element);
      Value factors = vector::BroadcastOp::create(b, type, factor);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = partial[r * vectors + v];
        sum = multiplyAdd(factors, columns[v], sum);
      }
    }
  };
  auto pairStep = [&](Value pair, SmallVectorImpl<Value> &partial) {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < vectors; ++v) {
      SmallVector<Value> at{pair, math.add(column, math.constant(v * lanes))};
      columns.push_back(asPairs(vector::LoadOp::create(b, vectorOf(b.getI32Type()), panel, at)));
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value factors = broadcastPair(a, math.add(row, math.constant(r)), pair);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = partial[r * vectors + v];
        sum = multiplyPairs(factors, columns[v], sum);
      }
    }
  };
  int64_t unroll = depth % 2 == 0 ? 2 : 1;
  auto loop =
      scf::ForOp::create(b, math.constant(0), math.constant(depth), math.constant(unroll), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> partial(loop.getRegionIterArgs());
    constexpr int64_t rowsOfGroup = 4;
    Value first = loop.getInductionVar();
    if (isUneven(op, depth, rowsOfGroup))
      first = withoutStride(first, rowsOfGroup);
    for (int64_t i = 0; i < unroll; ++i) {
      Value k = math.add(first, math.constant(i));
      isPaired ? pairStep(k, partial) : step(k, partial);
    }
    scf::YieldOp::create(b, partial);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, toStorage(loop.getResult(r * vectors + v), element), dest,
                              place(r, v));
}

/// Forward substitution, row by row, columns in vectors.
void TileLowering::lowerSolve(tile::SolveTriangularOp op) {
  Value a = bufferOf(op.getA());
  RankedTensorType type = tileType(op.getResult());
  TileShape shape = shapeOf(type);
  VectorType vectorType = vectorOf(type.getElementType());
  Value x = acquire(shape, type.getElementType());
  fill(op.getB(), x);
  eachRow(shape.rows, [&](Value i) {
    eachVector(shape.columns, {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
      Value start = vector::LoadOp::create(b, vectorType, x, ValueRange{i, column});
      auto loop = scf::ForOp::create(b, math.constant(0), i, math.constant(1), start);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar();
        Value factor = arith::NegFOp::create(b, memref::LoadOp::create(b, a, ValueRange{i, k}));
        Value factors = vector::BroadcastOp::create(b, vectorType, factor);
        Value known = vector::LoadOp::create(b, vectorType, x, ValueRange{k, column});
        Value sum = vector::FMAOp::create(b, factors, known, loop.getRegionIterArg(0));
        scf::YieldOp::create(b, sum);
      }
      vector::StoreOp::create(b, loop.getResult(0), x, ValueRange{i, column});
    });
  });
  bindOwned(op.getResult(), x);
}

} // namespace heddle
