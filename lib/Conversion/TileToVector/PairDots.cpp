//===- PairDots.cpp - products of bf16 by pairs ---------------------------===//
//
// vdpbf16ps adds two products of bf16 to each f32 lane: x[2i] y[2i] + x[2i + 1] y[2i + 1]. So a product contracts over pairs (k, k + 1),
// which are 32 bits:
//
//   left    a, M x K, lies in natural rows; a pair of a row is one 32-bit element, which is broadcast to all lanes
//           with `transpose_a`, K x M, two rows are interleaved: pairs[k / 2][m]
//   right   two rows of b are interleaved: pairs[k / 2][n]. Rows of a virtual b are rounded to bf16 on the way
//
// What a loop reads but does not compute is packed once, before the loop. Register tiles are those of Dots.cpp. The instruction takes
// numbers below the smallest normal one as zero, as does the rounding from f32.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

bool TileLowering::takesPairTiles(tile::DotOp op) {
  int64_t depth = op.getA().getType().getDimSize(op.getTransposeA() ? 0 : 1);
  return target.bf16Pairs && op.getA().getType().getElementType().isBF16() && depth % 2 == 0 &&
         op.getType().getDimSize(0) > fewRows;
}

/// Elements 0, 1, ... of `low` and `high` in turns, as 32-bit pairs.
Value TileLowering::interleave(Value low, Value high) {
  auto bits = [&](Value half) -> Value {
    Value narrow = vector::BitCastOp::create(b, vectorOf(b.getI16Type()), half);
    return arith::ExtUIOp::create(b, vectorOf(b.getI32Type()), narrow);
  };
  Value sixteen = arith::ConstantOp::create(
      b, DenseElementsAttr::get(vectorOf(b.getI32Type()), b.getI32IntegerAttr(16)));
  return arith::OrIOp::create(b, bits(low), arith::ShLIOp::create(b, bits(high), sixteen));
}

/// Elements of the first or second halves of two vectors of 2 * lanes, in turns.
Value TileLowering::interleaveHalves(Value low, Value high, int64_t half) {
  SmallVector<int64_t> turns;
  for (int64_t i = 0; i < target.lanes; ++i)
    turns.append({half * target.lanes + i, (2 + half) * target.lanes + i});
  return vector::ShuffleOp::create(b, low, high, turns);
}

/// The tile of f32 whose elements a tile of bf16 without a buffer rounds; null for any other tile.
Value TileLowering::roundedHere(Value tile) {
  auto rounding = tile.getDefiningOp<arith::TruncFOp>();
  bool rounds = rounding && isVirtual(tile) && tileType(tile).getElementType().isBF16() &&
                getElementTypeOrSelf(rounding.getIn().getType()).isF32();
  return rounds ? rounding.getIn() : Value();
}

/// The elements of two vectors of f32, rounded to bf16.
Value TileLowering::roundBoth(Value low, Value high) {
  return LLVM::CallIntrinsicOp::create(b, pairsType(),
                                       b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                       ValueRange{high, low})
      .getResults();
}

/// The same as `interleave` for vectors of f32, which are rounded.
Value TileLowering::interleaveRounded(Value low, Value high) {
  int64_t lanes = target.lanes;
  Value both = roundBoth(low, high);
  SmallVector<int64_t> turns;
  for (int64_t lane = 0; lane < lanes; ++lane)
    turns.append({lane, lanes + lane});
  Value shuffled = vector::ShuffleOp::create(b, both, both, turns);
  return vector::BitCastOp::create(b, vectorOf(b.getI32Type()), shuffled);
}

/// Zeros in all rows of a buffer from `first` on.
void TileLowering::zeroRows(Value buffer, int64_t first) {
  auto type = cast<MemRefType>(buffer.getType());
  VectorType vectorType = vectorOf(type.getElementType());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  for (int64_t row = first; row < type.getDimSize(0); ++row)
    eachVector(type.getDimSize(1), {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
      vector::StoreOp::create(b, zeros, buffer, ValueRange{math.constant(row), column});
    });
}

/// Rows 2i and 2i + 1 of a tile of bf16, interleaved.
void TileLowering::packRows(Value tile, Value pairs) {
  TileShape shape = shapeOf(tileType(tile));
  zeroRows(pairs, shape.rows / 2);
  Value rounded = roundedHere(tile);
  bool isWide = !isVirtual(tile) && shape.columns % (2 * target.lanes) == 0;
  buildFor(b, math.constant(0), math.constant(shape.rows / 2), math.constant(1), [&](Value pair) {
    Value row = math.mul(pair, math.constant(2));
    if (isWide) {
      auto load = [&](Value at, Value column) {
        return vector::LoadOp::create(b, pairsType(), buffers.lookup(tile), ValueRange{at, column});
      };
      eachVector(
          shape.columns, {},
          [&](Value column, int64_t, MutableArrayRef<Value>) {
            Value low = load(row, column), high = load(math.add(row, math.constant(1)), column);
            for (int64_t half : {0, 1}) {
              Value packed = vector::BitCastOp::create(b, vectorOf(b.getI32Type()),
                                                       interleaveHalves(low, high, half));
              Value to = math.add(column, math.constant(half * target.lanes));
              vector::StoreOp::create(b, packed, pairs, ValueRange{pair, to});
            }
          },
          2 * target.lanes);
      return;
    }
    eachVector(shape.columns, {}, [&](Value column, int64_t valid, MutableArrayRef<Value>) {
      TilePoint low{row, column, valid}, high{math.add(row, math.constant(1)), column, valid};
      Value packed = rounded ? interleaveRounded(eval(rounded, low), eval(rounded, high))
                             : interleave(eval(tile, low), eval(tile, high));
      vector::StoreOp::create(b, packed, pairs, ValueRange{pair, column});
    });
  });
}

/// The interleaved rows of a tile. They are computed where the tile is, if that is in front of a loop around here.
Value TileLowering::pairsOf(Value tile, Block *user) {
  if (Value known = packedRows.lookup(tile))
    return known;
  RankedTensorType type = tileType(tile);
  TileShape shape{pairRows(type.getDimSize(0)), type.getDimSize(1)};
  Operation *loop = nullptr;
  for (Block *block = user; block != tile.getParentBlock();
       block = block->getParentOp()->getBlock())
    loop = loop ? loop->getParentOp() : b.getInsertionBlock()->getParentOp();
  if (isVirtual(tile) || !loop) {
    Value pairs = temporary(shape, b.getI32Type());
    packRows(tile, pairs);
    return pairs;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  Value pairs = acquire(shape, b.getI32Type());
  packRows(tile, pairs);
  if (Operation *last = lastRead(tile, tile.getParentBlock()))
    releases[last].push_back(pairs);
  return packedRows[tile] = pairs;
}

/// The tile that a transposed one is a part of, with its first column there, if all that reads the tile are products that contract over
/// pairs of its rows; null otherwise.
std::pair<Value, int64_t> TileLowering::pairedWhole(Value transposed) {
  auto op = transposed.getDefiningOp<tile::TransposeOp>();
  if (!op || isVirtual(op.getInput()) || !op.getType().getElementType().isBF16() ||
      op.getType().getDimSize(0) % (2 * target.lanes) != 0 ||
      op.getType().getDimSize(1) % target.lanes != 0)
    return {};
  Value whole = transposed;
  int64_t column = 0;
  auto concat = op->hasOneUse() ? dyn_cast<tile::ConcatOp>(*op->user_begin()) : tile::ConcatOp();
  if (concat && concat->getBlock() != op->getBlock())
    return {};
  if (concat && concat.getAlong() == 1) {
    whole = concat.getResult();
    for (Value input :
         llvm::make_range(concat.getInputs().begin(), llvm::find(concat.getInputs(), transposed)))
      column += tileType(input).getDimSize(1);
  }
  bool isPaired = llvm::all_of(whole.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<tile::DotOp>(user);
    return dot && dot.getB() == whole && dot.getA() != whole && dot.getAcc() != whole &&
           !dot.getTransposeB() && takesPairTiles(dot);
  });
  return isPaired ? std::pair(whole, column) : std::pair<Value, int64_t>();
}

/// Pairs of a transposed tile are consecutive in its natural rows: a transposition of 32-bit elements gives them, without the tile.
bool TileLowering::packTransposed(tile::TransposeOp op) {
  std::pair<Value, int64_t> place = pairedWhole(op.getResult());
  Value whole = place.first;
  if (!whole)
    return false;
  if (auto concat = whole.getDefiningOp<tile::ConcatOp>();
      concat && !llvm::all_of(concat.getInputs(),
                              [&](Value input) { return pairedWhole(input).first == whole; }))
    return false;
  Value &pairs = packedRows[whole];
  if (!pairs) {
    RankedTensorType type = tileType(whole);
    pairs = acquire({pairRows(type.getDimSize(0)), type.getDimSize(1)}, b.getI32Type());
    if (Operation *last = lastRead(whole, whole.getParentBlock()))
      releases[last].push_back(pairs);
  }
  RankedTensorType natural = tileType(op.getInput());
  Value from = buffers.lookup(op.getInput()), to = pairs, lanes = math.constant(target.lanes);
  Value toColumn = math.constant(place.second);
  buildFor(b, math.constant(0), math.constant(natural.getDimSize(0)), lanes, [&](Value row) {
    buildFor(b, math.constant(0), math.constant(natural.getDimSize(1) / 2), lanes, [&](Value pair) {
      SmallVector<Value> square;
      for (int64_t i = 0; i < target.lanes; ++i) {
        SmallVector<Value> at{math.add(row, math.constant(i)), math.mul(pair, math.constant(2))};
        square.push_back(vector::BitCastOp::create(
            b, vectorOf(b.getI32Type()), vector::LoadOp::create(b, pairsType(), from, at)));
      }
      transposeSquare(b, square);
      for (int64_t i = 0; i < target.lanes; ++i)
        vector::StoreOp::create(
            b, square[i], to,
            ValueRange{math.add(pair, math.constant(i)), math.add(toColumn, row)});
    });
  });
  return true;
}

/// The right factor: pairs[k / 2][n].
Value TileLowering::rightPairs(tile::DotOp op) {
  if (!op.getTransposeB())
    return pairsOf(op.getB(), op->getBlock());
  // Pairs of a natural row are consecutive already: a transposition of 32-bit elements is all.
  RankedTensorType type = tileType(op.getB());
  Value from = bufferOf(op.getB());
  TileShape shape{type.getDimSize(0), type.getDimSize(1)};
  Value transposed = temporary({shape.columns, shape.rows}, type.getElementType());
  transposeInto(from, shape, transposed);
  Value pairs = temporary({pairRows(shape.columns), shape.rows}, b.getI32Type());
  zeroRows(pairs, shape.columns / 2);
  buildFor(b, math.constant(0), math.constant(shape.columns / 2), math.constant(1),
           [&](Value pair) {
             Value row = math.mul(pair, math.constant(2));
             eachVector(shape.rows, {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
               auto load = [&](Value at) {
                 return vector::LoadOp::create(b, vectorOf(b.getBF16Type()), transposed,
                                               ValueRange{at, column});
               };
               Value packed = interleave(load(row), load(math.add(row, math.constant(1))));
               vector::StoreOp::create(b, packed, pairs, ValueRange{pair, column});
             });
           });
  return pairs;
}

/// The left factor: natural rows of bf16, or pairs[k / 2][m].
Value TileLowering::leftPairs(tile::DotOp op) {
  return op.getTransposeA() ? pairsOf(op.getA(), op->getBlock()) : bufferOf(op.getA());
}

/// Pair number `pair` of a row of the left factor, in all lanes.
Value TileLowering::broadcastPair(Value left, Value row, Value pair) {
  Type i32 = b.getI32Type();
  Value bits;
  if (cast<MemRefType>(left.getType()).getElementType() == i32) {
    bits = memref::LoadOp::create(b, left, ValueRange{pair, row});
  } else {
    Value two = vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()), left,
                                       ValueRange{row, math.mul(pair, math.constant(2))});
    Value one = vector::BitCastOp::create(b, VectorType::get({1}, i32), two);
    bits = vector::ExtractOp::create(b, one, ArrayRef<int64_t>{0});
  }
  return asPairs(vector::BroadcastOp::create(b, vectorOf(i32), bits));
}

Value TileLowering::asPairs(Value vector) {
  return vector::BitCastOp::create(b, pairsType(), vector);
}

} // namespace heddle
