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

/// The left factor, k along whole rows of tiles.
Value TileLowering::leftTiles(tile::DotOp op) {
  RankedTensorType type = tileType(op.getA());
  TileShape shape = shapeOf(op.getType());
  if (packsSquares(op)) {
    Value tiles = temporary({shape.rows, type.getDimSize(0) / 2}, b.getI32Type());
    Value size = math.constant(squareSize);
    buildFor(b, math.constant(0), math.constant(type.getDimSize(0)), size, [&](Value row) {
      buildFor(b, math.constant(0), math.constant(shape.rows), size,
               [&](Value column) { transposeBF16Square(op.getA(), row, column, tiles); });
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
