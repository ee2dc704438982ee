//===- FewRowDots.cpp - products of few rows ------------------------------===//
//
// Few rows read each element of b only a few times, so b is used where it lies: in memory, if its load needs no padding (`isDirect`),
// and without a transposed panel (`dotForm`): then sums run along K in vectors, one for each of a few rows and columns, and are
// added up across lanes at the end. Without a transposition, register tiles of few rows are wider (Dots.cpp).
//
// Products of bf16 take two of its elements a lane, where the CPU has instructions for that (FewRowPairs.cpp).
//
// Such products run at the speed of memory. A load that says which rows come next has them fetched vector by vector, while the same
// columns of its own rows are used.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle {

/// Rows of b that are read at once. Rows are often 4 KiB or a multiple apart, and an L1 cache holds 8 lines that are.
static constexpr int64_t mostStreams = 8;

bool TileLowering::takesDotForm(tile::DotOp op) {
  int64_t rows = op.getType().getDimSize(0);
  return rows <= fewRows && rows <= target.lanes && op.getTransposeB() && !op.getTransposeA() &&
         isVirtual(op.getAcc()) &&
         isa<arith::ConstantOp, tensor::SplatOp>(op.getAcc().getDefiningOp());
}

bool TileLowering::isDirect(tile::LoadOp load) {
  Value tile = load.getResult();
  if (load.getPad() || !tile.hasOneUse() || !views.lookup(load.getView()).hasVectors())
    return false;
  auto dot = dyn_cast<tile::DotOp>(*tile.user_begin());
  if (!dot || dot->getBlock() != load->getBlock())
    return false;
  bool isPacked = dot.getA() == tile && packsSquares(dot);
  if (!isPacked &&
      (dot.getType().getDimSize(0) > fewRows || (dot.getTransposeB() && !takesDotForm(dot))))
    return false;
  // A left operand that would have to be converted again for each column has a buffer.
  if (dot.getB() != tile && !isPacked &&
      !(takesDotForm(dot) && (takesPairs(dot) || tileType(tile).getElementType().isF32())))
    return false;
  for (Operation *op = load->getNextNode(); op != dot; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<tile::LoadOp, memref::LoadOp>(op))
      return false;
  return true;
}

TileLowering::MatrixRow TileLowering::rowOf(Value tile, Value row) {
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (buffers.contains(tile) || !load) {
    Value buffer = bufferOf(tile);
    return {buffer, {row, math.constant(0)}, 1};
  }
  return rowInMemory(load, row);
}

TileLowering::MatrixRow TileLowering::rowInMemory(tile::LoadOp load, Value row) {
  if (auto found = pageRows.find(load.getResult()); found != pageRows.end())
    return rowOfPage(load, found->second, row);
  const TileView view = views.lookup(load.getView());
  Value viewRow =
      load.getIndices().size() == 2 ? math.add(scalar(load.getIndices()[0]), row) : Value();
  Value entry = tableEntry(view, viewRow, nullptr).first;
  SmallVector<Value> first = address(view, viewRow, entry, scalar(load.getIndices().back()));
  return {view.source, first, static_cast<unsigned>(view.columnDim), rowAhead(load, viewRow)};
}

/// As many as keep as many sums under way as a whole tile has, and as divide the columns into equal parts.
int64_t TileLowering::vectorsOfFewRows(int64_t rows, int64_t columns) {
  int64_t most = std::clamp<int64_t>(target.rows * target.vectors / rows, target.vectors, fewRows);
  int64_t all = llvm::divideCeil(columns, target.lanes);
  return llvm::divideCeil(all, llvm::divideCeil(all, most));
}

/// a times the transpose of b for few rows: `group` columns of the result at a time, with one vector of partial sums for each of its
/// elements there. Stage d of the sum over lanes adds lanes that differ in bit d, of two vectors at once: the sums of the first stay where
/// the bit is 0, those of the second where it is 1.
void TileLowering::dotForm(tile::DotOp op) {
  TileShape shape = shapeOf(op.getType());
  Type element = op.getType().getElementType();
  VectorType type = vectorOf(element);
  int64_t lanes = target.lanes;
  bool inPairs = takesPairs(op);
  int64_t width = inPairs ? 2 * lanes : lanes;
  int64_t depth = tileType(op.getA()).getDimSize(1);
  int64_t group = std::min<int64_t>(llvm::bit_floor(uint64_t(lanes / shape.rows)), mostStreams);
  auto factorOf = [&](Value tile) { return isVirtual(tile) ? bufferOf(tile) : tile; };
  auto factorRow = [&](Value factor, Value row) {
    return isa<MemRefType>(factor.getType()) ? MatrixRow{factor, {row, math.constant(0)}, 1}
                                             : rowOf(factor, row);
  };
  bool isPacked = inPairs && (isVirtual(op.getA()) || buffers.contains(op.getA()));
  Value a = isPacked ? packPairs(op.getA()) : factorOf(op.getA()), factor = factorOf(op.getB());
  auto load = [&](const MatrixRow &row, Value k, int64_t valid) {
    return inPairs ? loadPairs(row, k, valid) : loadFrom(row, k, valid, element);
  };
  Value dest = bind(op.getResult());

  auto columns = [&](Value first, int64_t count) {
    SmallVector<MatrixRow> aRows, bRows;
    for (int64_t m = 0; m < shape.rows; ++m)
      aRows.push_back(factorRow(a, math.constant(m)));
    for (int64_t n = 0; n < count; ++n)
      bRows.push_back(factorRow(factor, math.add(first, math.constant(n))));
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
    SmallVector<Value> sums(shape.rows * count, zeros);
    auto step = [&](Value k, int64_t valid, MutableArrayRef<Value> partial) {
      // Two vectors may share a cache line; in a loop it is not known which.
      int64_t number = getConstantIntValue(k).value_or(0) / lanes;
      SmallVector<Value> left;
      for (const MatrixRow &row : aRows)
        left.push_back(load(row, k, valid));
      for (int64_t n = 0; n < count; ++n) {
        if (!bRows[n].ahead.empty())
          fetch(bRows[n].source, bRows[n].ahead, bRows[n].columnDim, k, number);
        Value right = load(bRows[n], k, valid);
        for (int64_t m = 0; m < shape.rows; ++m) {
          Value &sum = partial[m * count + n];
          sum = inPairs ? multiplyPairs(left[m], right, sum) : multiplyAdd(left[m], right, sum);
        }
      }
    };
    sums = eachVector(depth, sums, step, width);
    // Lane m * group + n is for row m, column n.
    SmallVector<Value> parts(lanes, zeros);
    for (int64_t m = 0; m < shape.rows; ++m)
      for (int64_t n = 0; n < count; ++n)
        parts[m * group + n] = sums[m * count + n];
    for (int64_t d = 1; d < lanes; d *= 2) {
      SmallVector<int64_t> kept, moved;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        int64_t from = lane & d ? lanes : 0;
        kept.push_back(from + lane);
        moved.push_back(from + (lane ^ d));
      }
      for (int64_t i = 0; i < lanes; i += 2 * d) {
        Value stay = vector::ShuffleOp::create(b, parts[i], parts[i + d], kept);
        Value move = vector::ShuffleOp::create(b, parts[i], parts[i + d], moved);
        parts[i] = combine(tile::CombiningKind::Add, stay, move);
      }
    }
    TilePoint start(math.constant(0), first, lanes);
    Value total = combine(tile::CombiningKind::Add, parts[0], eval(op.getAcc(), start));
    for (int64_t m = 0; m < shape.rows; ++m) {
      Value part = vector::ExtractStridedSliceOp::create(
          b, total, ArrayRef<int64_t>{m * group}, ArrayRef<int64_t>{group}, ArrayRef<int64_t>{1});
      vector::StoreOp::create(b, part, dest, ValueRange{math.constant(m), first});
    }
  };
  int64_t whole = shape.columns / group * group;
  bool turns = isUneven(op, whole, group);
  if (whole > 0)
    buildFor(b, math.constant(0), math.constant(whole), math.constant(group),
             [&](Value first) { columns(turns ? withoutStride(first, group) : first, group); });
  if (whole < shape.columns)
    columns(math.constant(whole), shape.columns - whole);
}

} // namespace heddle
