//===- Shapes.cpp - transposed and joined tiles ---------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

void TileLowering::lowerTranspose(tile::TransposeOp op) {
  if (packTransposed(op))
    return;
  RankedTensorType type = tileType(op.getInput());
  if (target.bf16Pairs && type.getElementType().isBF16() && !isVirtual(op.getInput()) &&
      type.getDimSize(0) % squareSize == 0 && type.getDimSize(1) % squareSize == 0) {
    Value to = bind(op.getResult()), size = math.constant(squareSize);
    buildFor(b, math.constant(0), math.constant(type.getDimSize(0)), size, [&](Value row) {
      buildFor(b, math.constant(0), math.constant(type.getDimSize(1)), size,
               [&](Value column) { transposeBF16Square(op.getInput(), row, column, to); });
    });
    return;
  }
  Value from = bufferOf(op.getInput());
  transposeInto(from, shapeOf(tileType(op.getInput())), bind(op.getResult()));
}

/// Transposes 32 rows and columns of bf16; `to` may count pairs of its elements as one. Halves of rows are loaded to where they stay, in rows
/// of four lanes of 128 bits, and all but the last step exchange elements within those lanes: 4 shuffles and a load that inserts for each row
/// of the result.
void TileLowering::transposeBF16Square(Value tile, Value row, Value column, Value to) {
  int64_t lanes = target.lanes;
  bool hasPairs = getElementTypeOrSelf(to.getType()).isInteger(32);
  auto shuffle = [&](Value x, Value y, ArrayRef<int64_t> mask) -> Value {
    return vector::ShuffleOp::create(b, x, y, mask);
  };
  // Elements of the lower or upper half of each lane in turns; `size` elements a lane, of which `unit` stay together.
  auto unpack = [&](Value x, Value y, int64_t half, int64_t size, int64_t unit) {
    int64_t count = cast<VectorType>(x.getType()).getDimSize(0);
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < count; lane += size)
      for (int64_t i = half * size / 2; i < (half + 1) * size / 2; i += unit)
        for (int64_t from : {int64_t(0), count})
          for (int64_t j = 0; j < unit; ++j)
            mask.push_back(from + lane + i + j);
    return shuffle(x, y, mask);
  };
  auto loadHalf = [&](int64_t r, Value firstColumn) {
    MatrixRow from = rowOf(tile, math.add(row, math.constant(r)));
    SmallVector<Value> at(from.first);
    at[from.columnDim] = math.add(at[from.columnDim], firstColumn);
    Value loaded = vector::LoadOp::create(b, vectorOf(b.getBF16Type()), from.source, at);
    return vector::BitCastOp::create(b, vectorOf(b.getI16Type()), loaded);
  };
  SmallVector<int64_t> joined = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  buildFor(b, math.constant(0), math.constant(2), math.constant(1), [&](Value half) {
    Value firstColumn = math.add(column, math.mul(half, math.constant(lanes)));
    // pairs[u][i]: pairs i and i + 4 of rows, for i from 0 to 3 and from 8 to 11; columns 4u to 4u + 3 and 4u + 8 to 4u + 11.
    SmallVector<Value> pairs[2];
    for (int64_t i : {0, 1, 2, 3, 8, 9, 10, 11}) {
      Value low = shuffle(loadHalf(2 * i, firstColumn), loadHalf(2 * i + 8, firstColumn), joined);
      Value high =
          shuffle(loadHalf(2 * i + 1, firstColumn), loadHalf(2 * i + 9, firstColumn), joined);
      for (int64_t u : {0, 1})
        pairs[u].push_back(vector::BitCastOp::create(b, vectorOf(b.getI32Type()),
                                                     unpack(low, high, u, lanes / 2, 1)));
    }
    for (int64_t u : {0, 1}) {
      // quarters[g][e]: of columns 4u + e and 4u + e + 8, pairs 0 to 7 or 8 to 15.
      SmallVector<Value> quarters[2];
      for (int64_t g : {0, 1}) {
        ArrayRef<Value> four = ArrayRef(pairs[u]).slice(4 * g, 4);
        for (int64_t e = 0; e < 4; ++e) {
          Value x = unpack(four[0], four[1], e / 2, 4, 1),
                y = unpack(four[2], four[3], e / 2, 4, 1);
          quarters[g].push_back(unpack(x, y, e % 2, 4, 2));
        }
      }
      for (int64_t e = 0; e < 4; ++e)
        for (int64_t s : {0, 1}) {
          SmallVector<int64_t> mask;
          for (int64_t lane : {s, s + 2, s + 4, s + 6})
            for (int64_t j = 0; j < 4; ++j)
              mask.push_back(4 * lane + j);
          Value packed = shuffle(quarters[0][e], quarters[1][e], mask);
          Value toRow = math.add(firstColumn, math.constant(8 * s + 4 * u + e));
          if (hasPairs)
            vector::StoreOp::create(b, packed, to,
                                    ValueRange{toRow, math.floorDiv(row, math.constant(2))});
          else
            vector::StoreOp::create(b, asPairs(packed), to, ValueRange{toRow, row});
        }
    }
  });
}

/// Squares of lanes x lanes, transposed in registers. Rows that `from` lacks are zeros in the padding of `to`.
void TileLowering::transposeInto(Value from, TileShape shape, Value to) {
  int64_t lanes = target.lanes;
  VectorType type = vectorOf(cast<MemRefType>(from.getType()).getElementType());
  auto square = [&](Value row, int64_t rows, Value column, int64_t columns) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < lanes; ++i) {
      if (i < rows)
        vectors.push_back(vector::LoadOp::create(
            b, type, from, ValueRange{math.add(row, math.constant(i)), column}));
      else
        vectors.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
    }
    transposeSquare(b, vectors);
    for (int64_t i = 0; i < columns; ++i)
      vector::StoreOp::create(b, vectors[i], to,
                              ValueRange{math.add(column, math.constant(i)), row});
  };
  // A partial square is always the last one.
  auto split = [&](int64_t extent, function_ref<void(Value, int64_t)> body) {
    int64_t whole = extent / lanes * lanes;
    if (whole == lanes)
      body(math.constant(0), lanes);
    else if (whole > 0)
      buildFor(b, math.constant(0), math.constant(whole), math.constant(lanes),
               [&](Value first) { body(first, lanes); });
    if (whole < extent)
      body(math.constant(whole), extent - whole);
  };
  split(shape.rows, [&](Value row, int64_t rows) {
    split(shape.columns,
          [&](Value column, int64_t columns) { square(row, rows, column, columns); });
  });
}

void TileLowering::lowerConcat(tile::ConcatOp op) {
  if (packedRows.contains(op.getResult()))
    return;
  Value to = bind(op.getResult());
  RankedTensorType type = tileType(op.getResult());
  bool alongRow = int64_t(op.getAlong()) + 1 == type.getRank();
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    fill(input, to, alongRow ? 0 : offset, alongRow ? offset : 0);
    offset += tileType(input).getDimSize(op.getAlong());
  }
}

} // namespace heddle
