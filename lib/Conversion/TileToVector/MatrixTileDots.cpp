//===- MatrixTileDots.cpp - products of bf16 by matrix tiles (AMX) --------===//
//
// A matrix tile is 16 rows of 64 bytes. tdpbf16ps adds to 16 x 16 sums in f32 the product of
//
//   left    16 rows x 32 k of bf16: natural rows of a, or, with `transpose_a`, rows that are interleaved in pairs along k (PairDots.cpp)
//           and transposed as 32-bit elements
//   right   16 pairs of k x 16 columns: pairs[k / 2][n] of PairDots.cpp
//
// Two by two sums are under way, so that 4 tiles are loaded for 4 products. They start from the accumulator operand, which is computed
// to where the result goes, or each from a zero of its own: a shared one would be copied through memory. A depth that is no multiple of
// 32 is filled up with zeros in both factors, since 0 * NaN is not 0.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Rows of a tile; pairs, or sums, in one of its rows.
static constexpr int64_t tileRows = 16;

bool TileLowering::takesMatrixTiles(tile::DotOp op) {
  return target.amx && takesPairTiles(op) && op.getType().getElementType().isF32() &&
         op.getType().getDimSize(0) % tileRows == 0 && op.getType().getDimSize(1) % tileRows == 0;
}

/// Rows of a buffer of pairs: with zeros behind the last ones, whole matrix tiles.
int64_t TileLowering::pairRows(int64_t depth) {
  return target.amx ? llvm::alignTo(depth / 2, tileRows) : depth / 2;
}

/// Whether the left factor is made of rows of this block that are interleaved and transposed at once, in squares.
bool TileLowering::packsSquares(tile::DotOp op) {
  Value a = op.getA();
  return op.getTransposeA() && takesMatrixTiles(op) && !isVirtual(a) &&
         a.getParentBlock() == op->getBlock() && tileType(a).getDimSize(0) % squareSize == 0 &&
         tileType(a).getDimSize(1) % squareSize == 0;
}

/// A square of a left factor: 32 rows of bf16 with 32 columns become 32 rows of 16 pairs. Halves of rows are loaded to where they stay, in
/// rows of four lanes of 128 bits; all but the last step exchange elements within those lanes.
void TileLowering::packSquare(Value tile, Value row, Value column, Value to) {
  int64_t lanes = target.lanes;
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
  auto loadHalf = [&](int64_t r, int64_t half) {
    MatrixRow from = rowOf(tile, math.add(row, math.constant(r)));
    SmallVector<Value> at(from.first);
    at[from.columnDim] =
        math.add(at[from.columnDim], math.add(column, math.constant(half * lanes)));
    Value loaded = vector::LoadOp::create(b, vectorOf(b.getBF16Type()), from.source, at);
    return vector::BitCastOp::create(b, vectorOf(b.getI16Type()), loaded);
  };
  SmallVector<int64_t> joined = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  for (int64_t half : {0, 1}) {
    // pairs[u][i]: pairs i and i + 4 of rows, for i from 0 to 3 and from 8 to 11; columns 4u to 4u + 3 and 4u + 8 to 4u + 11.
    SmallVector<Value> pairs[2];
    for (int64_t i : {0, 1, 2, 3, 8, 9, 10, 11}) {
      Value low = shuffle(loadHalf(2 * i, half), loadHalf(2 * i + 8, half), joined);
      Value high = shuffle(loadHalf(2 * i + 1, half), loadHalf(2 * i + 9, half), joined);
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
          Value toRow = math.add(column, math.constant(half * lanes + 8 * s + 4 * u + e));
          vector::StoreOp::create(b, packed, to,
                                  ValueRange{toRow, math.floorDiv(row, math.constant(2))});
        }
    }
  }
}

/// The left factor, k along whole rows of tiles.
Value TileLowering::leftTiles(tile::DotOp op) {
  RankedTensorType type = tileType(op.getA());
  TileShape shape = shapeOf(op.getType());
  if (packsSquares(op)) {
    Value tiles = temporary({shape.rows, type.getDimSize(0) / 2}, b.getI32Type());
    Value size = math.constant(squareSize);
    buildFor(b, math.constant(0), math.constant(type.getDimSize(0)), size, [&](Value row) {
      buildFor(b, math.constant(0), math.constant(shape.rows), size,
               [&](Value column) { packSquare(op.getA(), row, column, tiles); });
    });
    return tiles;
  }
  if (op.getTransposeA()) {
    int64_t pairs = type.getDimSize(0) / 2;
    Value tiles = temporary({shape.rows, pairRows(2 * pairs)}, b.getI32Type());
    transposeInto(pairsOf(op.getA(), op->getBlock()), {pairs, shape.rows}, tiles);
    return tiles;
  }
  Value from = bufferOf(op.getA());
  int64_t depth = type.getDimSize(1), whole = llvm::alignTo(depth, 2 * tileRows);
  if (depth == whole)
    return from;
  VectorType vectorType = vectorOf(b.getBF16Type());
  Value tiles = temporary({shape.rows, whole}, b.getBF16Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  eachRow(shape.rows, [&](Value row) {
    for (int64_t k = 0; k < whole; k += target.lanes) {
      SmallVector<Value> at{row, math.constant(k)};
      Value vector = none;
      if (int64_t valid = depth - k; valid >= target.lanes)
        vector = vector::LoadOp::create(b, vectorType, from, at);
      else if (valid > 0)
        vector = vector::MaskedLoadOp::create(b, vectorType, from, at, tailMask(valid), none);
      vector::StoreOp::create(b, vector, tiles, at);
    }
  });
  return tiles;
}

/// Matrix tiles of a factor along k.
int64_t TileLowering::matrixSteps(tile::DotOp op) {
  int64_t depth = tileType(op.getA()).getDimSize(op.getTransposeA() ? 0 : 1);
  return llvm::divideCeil(depth, 2 * tileRows);
}

/// rows x columns tiles of sums, at most 2 x 2. `beside`, if there is one, adds work to each step that has nothing to do with the tiles.
void TileLowering::multiplyBlock(const TileBlock &block, int64_t rows, int64_t columns,
                                 int64_t steps, function_ref<void(Value)> beside) {
  auto factorType = amx::TileType::get({tileRows, 2 * tileRows}, b.getBF16Type());
  auto sumType = amx::TileType::get({tileRows, tileRows}, b.getF32Type());
  int64_t leftStep = getElementTypeOrSelf(block.left.getType()).isBF16() ? 2 * tileRows : tileRows;
  auto offset = [&](Value first, int64_t number) {
    return math.add(first, math.constant(number * tileRows));
  };
  auto place = [&](int64_t number) {
    return SmallVector<Value>{offset(block.destRow, number / columns),
                              offset(block.destColumn, number % columns)};
  };
  SmallVector<Value> sums;
  for (int64_t i = 0; i < rows * columns; ++i)
    sums.push_back(block.startsFromZero
                       ? Value(amx::TileZeroOp::create(b, sumType))
                       : Value(amx::TileLoadOp::create(b, sumType, block.dest, place(i))));
  auto loop = scf::ForOp::create(b, math.constant(0), math.constant(steps), math.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    SmallVector<Value> lefts, rights, next;
    for (int64_t r = 0; r < rows; ++r)
      lefts.push_back(amx::TileLoadOp::create(
          b, factorType, block.left,
          ValueRange{offset(block.leftRow, r), math.mul(step, math.constant(leftStep))}));
    Value pair = math.add(block.rightRow, math.mul(step, math.constant(tileRows)));
    for (int64_t c = 0; c < columns; ++c)
      rights.push_back(amx::TileLoadOp::create(b, factorType, block.right,
                                               ValueRange{pair, offset(block.rightColumn, c)}));
    for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs()))
      next.push_back(
          amx::TileMulFOp::create(b, sumType, lefts[i / columns], rights[i % columns], sum));
    if (beside)
      beside(step);
    scf::YieldOp::create(b, next);
  }
  for (auto [i, sum] : llvm::enumerate(loop.getResults()))
    amx::TileStoreOp::create(b, block.dest, place(i), sum);
}

/// Adds the product of the factors to `dest`, or starts there with zeros.
void TileLowering::multiplyTiles(tile::DotOp op, Value left, Value pairs, Value dest) {
  TileShape shape = shapeOf(op.getType());
  Value acc = op.getAcc();
  bool startsFromZero = matchPattern(acc, m_PosZeroFloat());
  if (!startsFromZero && (isVirtual(acc) || buffers.lookup(acc) != dest))
    fill(acc, dest);

  int64_t steps = matrixSteps(op);
  // Blocks of two tiles, and one of one tile where the number is odd.
  auto split = [&](int64_t extent, function_ref<void(Value, int64_t)> body) {
    int64_t whole = extent / (2 * tileRows) * (2 * tileRows);
    if (whole > 0)
      buildFor(b, math.constant(0), math.constant(whole), math.constant(2 * tileRows),
               [&](Value first) { body(first, 2); });
    if (whole < extent)
      body(math.constant(whole), 1);
  };
  split(shape.columns, [&](Value column, int64_t columns) {
    split(shape.rows, [&](Value row, int64_t rows) {
      TileBlock block{left, row, pairs,  math.constant(0), column,
                      dest, row, column, startsFromZero};
      multiplyBlock(block, rows, columns, steps);
    });
  });
}

} // namespace heddle
