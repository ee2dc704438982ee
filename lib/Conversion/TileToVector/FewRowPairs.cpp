//===- FewRowPairs.cpp - products of few rows of bf16 in pairs ------------===//
//
// vdpbf16ps multiplies vectors of bf16 and adds two neighbouring products to each f32 lane. It has twice the multiply-adds of an f32
// instruction, and needs no conversions. Products and sums are in f32; numbers below 2^-126 count as 0.
//
// * b transposed: neighbours along K are neighbours in memory, of both operands.
// * b not transposed: two rows of b are interleaved, and a pair of a row of a is repeated in all lanes.
//
// A tile that has a buffer is copied to a buffer of pairs: an i32 has the even element in its low half. Past its last column there
// are zeros.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

/// Whether b is in memory, and the CPU multiplies in pairs.
bool TileLowering::takesPairs(tile::DotOp op) {
  auto load = op.getB().getDefiningOp<tile::LoadOp>();
  return target.bf16Pairs && load && !buffers.contains(op.getB()) && !isVirtual(op.getB()) &&
         !op.getTransposeA() && tileType(op.getB()).getElementType().isBF16() &&
         op.getType().getElementType().isF32();
}

VectorType TileLowering::pairsType() {
  return VectorType::get({2 * target.lanes}, b.getBF16Type());
}

Value TileLowering::packPairs(Value tile) {
  TileShape shape = shapeOf(tileType(tile));
  int64_t lanes = target.lanes;
  Type i32 = b.getI32Type();
  Value buffer = temporary({shape.rows, int64_t(llvm::divideCeil(shape.columns, 2))}, i32);
  SmallVector<int64_t> inTurn(llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes)));
  Value rounded = roundedHere(tile);
  Type element = rounded ? b.getF32Type() : Type(b.getBF16Type());
  eachRow(shape.rows, [&](Value row) {
    for (int64_t column = 0; column < shape.columns; column += 2 * lanes) {
      Value parts[2];
      for (int64_t half : {0, 1}) {
        int64_t first = column + half * lanes;
        int64_t valid = std::clamp<int64_t>(shape.columns - first, 0, lanes);
        Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorOf(element)));
        if (valid == 0) {
          parts[half] = zeros;
        } else {
          TilePoint point{row, math.constant(first), valid};
          parts[half] = rounded ? eval(rounded, point) : evalStored(tile, point);
          if (valid < lanes)
            parts[half] = arith::SelectOp::create(b, tailMask(valid), parts[half], zeros);
        }
      }
      Value packed = rounded ? roundBoth(parts[0], parts[1])
                             : vector::ShuffleOp::create(b, parts[0], parts[1], inTurn).getResult();
      vector::StoreOp::create(b, vector::BitCastOp::create(b, vectorOf(i32), packed), buffer,
                              ValueRange{row, math.constant(column / 2)});
    }
  });
  return buffer;
}

/// `valid` elements of a row from `column` on, which is even, and zeros after them.
Value TileLowering::loadPairs(const MatrixRow &row, Value column, int64_t valid) {
  SmallVector<Value> indices(row.first);
  VectorType type = pairsType();
  if (getElementTypeOrSelf(row.source.getType()).isInteger(32)) {
    Value pair = math.floorDiv(column, math.constant(2));
    indices[row.columnDim] = math.add(indices[row.columnDim], pair);
    return asPairs(vector::LoadOp::create(b, vectorOf(b.getI32Type()), row.source, indices));
  }
  indices[row.columnDim] = math.add(indices[row.columnDim], column);
  if (valid == type.getNumElements())
    return vector::LoadOp::create(b, type, row.source, indices);
  SmallVector<bool> lanes(type.getNumElements());
  std::fill_n(lanes.begin(), valid, true);
  auto maskType = VectorType::get(type.getShape(), b.getI1Type());
  Value mask = arith::ConstantOp::create(b, DenseElementsAttr::get(maskType, lanes));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, row.source, indices, mask, none);
}

Value TileLowering::multiplyPairs(Value x, Value y, Value sum) {
  return LLVM::CallIntrinsicOp::create(b, sum.getType(),
                                       b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       ValueRange{sum, x, y})
      .getResults();
}

/// A register tile of all rows and `valid.size()` vectors of 2 * lanes columns from `column` on, each with so many columns of the tile.
void TileLowering::pairTile(tile::DotOp op, Value pairs, Value dest, int64_t column,
                            ArrayRef<int64_t> valid) {
  Type element = op.getType().getElementType();
  int64_t lanes = target.lanes, rows = op.getType().getDimSize(0), units = valid.size();
  int64_t depth = tileType(op.getB()).getDimSize(0);
  auto place = [&](int64_t r, int64_t v) {
    return SmallVector<Value>{math.constant(r), math.constant(column + v * lanes)};
  };
  // The vectors of f32 that have columns.
  SmallVector<int64_t> vectors;
  for (int64_t v = 0; v < 2 * units; ++v)
    if (valid[v / 2] > v % 2 * lanes)
      vectors.push_back(v);
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v : vectors) {
      SmallVector<Value> at = place(r, v);
      TilePoint point{at[0], at[1], std::min(lanes, valid[v / 2] - v % 2 * lanes)};
      sums.push_back(eval(op.getAcc(), point));
    }

  auto step = [&](Value pair, int64_t rowsOfB, SmallVectorImpl<Value> &partial) {
    SmallVector<Value> columns;
    SmallVector<MatrixRow> from;
    Value k = math.mul(pair, math.constant(2));
    for (int64_t i = 0; i < rowsOfB; ++i)
      from.push_back(rowOf(op.getB(), math.add(k, math.constant(i))));
    for (int64_t u = 0; u < units; ++u) {
      Value first = math.constant(column + 2 * u * lanes), loaded[2];
      for (int64_t i : {0, 1}) {
        if (i == rowsOfB) {
          loaded[i] = arith::ConstantOp::create(b, b.getZeroAttr(pairsType()));
          continue;
        }
        if (!from[i].ahead.empty())
          fetch(from[i].source, from[i].ahead, from[i].columnDim, first, 2 * u);
        loaded[i] = loadPairs(from[i], first, valid[u]);
      }
      for (int64_t half : {0, 1})
        if (valid[u] > half * lanes)
          columns.push_back(interleaveHalves(loaded[0], loaded[1], half));
    }
    for (int64_t r = 0; r < rows; ++r) {
      Value both = memref::LoadOp::create(b, pairs, ValueRange{math.constant(r), pair});
      Value factors = asPairs(vector::BroadcastOp::create(b, vectorOf(b.getI32Type()), both));
      for (size_t v = 0; v < columns.size(); ++v) {
        Value &sum = partial[r * columns.size() + v];
        sum = multiplyPairs(factors, columns[v], sum);
      }
    }
  };
  int64_t whole = depth / 2, unroll = whole % 2 == 0 ? 2 : 1;
  SmallVector<Value> results(sums);
  if (whole > 0) {
    auto loop =
        scf::ForOp::create(b, math.constant(0), math.constant(whole), math.constant(unroll), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> partial(loop.getRegionIterArgs());
    Value first = loop.getInductionVar();
    if (isUneven(op, whole, unroll))
      first = withoutStride(first, unroll);
    for (int64_t i = 0; i < unroll; ++i)
      step(math.add(first, math.constant(i)), 2, partial);
    scf::YieldOp::create(b, partial);
    results.assign(loop.result_begin(), loop.result_end());
  }
  if (depth % 2)
    step(math.constant(whole), 1, results);
  const Value *result = results.begin();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v : vectors)
      vector::StoreOp::create(b, toStorage(*result++, element), dest, place(r, v));
}

void TileLowering::pairForm(tile::DotOp op, Value dest) {
  TileShape shape = shapeOf(op.getType());
  Value pairs = packPairs(op.getA());
  int64_t width = 2 * target.lanes, all = llvm::divideCeil(shape.columns, width);
  int64_t most = std::max<int64_t>(target.rows * target.vectors / (2 * shape.rows), 1);
  int64_t units = llvm::divideCeil(all, llvm::divideCeil(all, std::min(most, fewRows / 2)));
  for (int64_t first = 0; first < all; first += units) {
    SmallVector<int64_t> valid;
    for (int64_t u = first; u < std::min(first + units, all); ++u)
      valid.push_back(std::min(width, shape.columns - u * width));
    pairTile(op, pairs, dest, first * width, valid);
  }
}

} // namespace heddle
