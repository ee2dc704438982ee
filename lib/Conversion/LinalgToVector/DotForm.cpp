//===- DotForm.cpp - contractions with few rows, as dot products ----------===//
//
// With few rows (decoding one token) the product is bound by reading rhs. Both operands are contiguous along k here, so nothing is
// packed: a task takes a range of columns, and for a few columns and one or two rows at a time keeps one accumulator vector per
// (column, row), with lanes along k. rhs is read once from memory, in order, and converted as it is read, if KStep.h does not multiply it
// as it is.
//
//===----------------------------------------------------------------------===//

#include "KStep.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {
namespace {

constexpr int64_t columnsPerTask = 32;

class DotFormBuilder {
public:
  DotFormBuilder(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                 const ContractionTile &tile)
      : b(b), math(b), space(space), c(space.c), tile(tile), step(b, space, tile),
        type(space.c.accumulator), vectorType(VectorType::get({tile.lanes}, type)) {
    c0 = math.constant(0);
    c1 = math.constant(1);
  }

  void compute();

private:
  void rowsOfColumns(Value batch, Value column, int64_t columns);
  void dotProducts(Value batch, Value column, int64_t columns, Value row, int64_t rows);
  Value loadScalar(Value operand, ArrayRef<Value> indices);
  void prefetch(SmallVector<Value> point, int64_t columns, Value k);

  ImplicitLocOpBuilder &b;
  IndexMath math;
  const ContractionSpace &space;
  const Contraction &c;
  const ContractionTile &tile;
  KStep step;
  FloatType type;
  VectorType vectorType;
  Value c0, c1;
};

Value DotFormBuilder::loadScalar(Value operand, ArrayRef<Value> indices) {
  return convertFloat(b, memref::LoadOp::create(b, operand, indices), type);
}

/// The same place of the column that comes next in this one's stead: each is a short stream that hardware is too late for. Every
/// second column is enough, which costs less where rhs lies in a cache.
void DotFormBuilder::prefetch(SmallVector<Value> point, int64_t columns, Value k) {
  Value last = math.sub(space.columns, c1);
  point[c.n] = math.min(math.add(point[c.n], math.constant(columns)), last);
  step.prefetch(c.rhs, c.rhsMap, point, k);
}

void DotFormBuilder::compute() {
  // Two rows of so many columns keep the accumulators in registers: 16 of 32, or 8 of 16.
  int64_t columnsAtOnce = tile.rows >= 12 ? 8 : 4;
  Value groups = math.ceilDiv(space.columns, columnsPerTask);
  buildTasks(b, math.mul(space.batches, groups), [&](Value task) {
    Value batch = math.floorDiv(task, groups);
    Value begin = math.mul(math.rem(task, groups), math.constant(columnsPerTask));
    Value end = math.min(math.add(begin, math.constant(columnsPerTask)), space.columns);
    Value step = math.constant(columnsAtOnce);
    Value whole = math.add(begin, math.mul(math.floorDiv(math.sub(end, begin), step), step));
    buildFor(b, begin, whole, step,
             [&](Value column) { rowsOfColumns(batch, column, columnsAtOnce); });
    buildFor(b, whole, end, c1, [&](Value column) { rowsOfColumns(batch, column, 1); });
  });
}

void DotFormBuilder::rowsOfColumns(Value batch, Value column, int64_t columns) {
  Value two = math.constant(2);
  Value pairs = c0;
  // Single columns are few, and every combination is more code.
  if (columns > 1) {
    pairs = math.mul(math.floorDiv(space.rows, two), two);
    buildFor(b, c0, pairs, two, [&](Value row) { dotProducts(batch, column, columns, row, 2); });
  }
  buildFor(b, pairs, space.rows, c1,
           [&](Value row) { dotProducts(batch, column, columns, row, 1); });
}

void DotFormBuilder::dotProducts(Value batch, Value column, int64_t columns, Value row,
                                 int64_t rows) {
  SmallVector<SmallVector<Value>> lhsPoints, rhsPoints;
  for (int64_t r = 0; r < rows; ++r)
    lhsPoints.push_back(
        space.point(math, batch, math.add(row, math.constant(r)), nullptr, nullptr));
  for (int64_t n = 0; n < columns; ++n)
    rhsPoints.push_back(
        space.point(math, batch, nullptr, math.add(column, math.constant(n)), nullptr));

  // Reads both operands at `unroll` places from k on, `stride` apart, and adds the products to the accumulators.
  auto accumulate = [&](Value lo, Value hi, int64_t stride, int64_t unroll, ValueRange init,
                        bool prefetches, auto load, auto multiplyAdd) {
    auto loop = scf::ForOp::create(b, lo, hi, math.constant(stride * unroll), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> places;
    for (int64_t i = 0; i < unroll; ++i)
      places.push_back(math.add(loop.getInductionVar(), math.constant(i * stride)));
    SmallVector<SmallVector<Value>> lhs(unroll);
    for (auto [k, loaded] : llvm::zip_equal(places, lhs))
      for (auto &point : lhsPoints)
        loaded.push_back(load(c.lhs, c.lhsMap, point, k));
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (int64_t n = 0; n < columns; ++n)
      for (auto [k, loaded] : llvm::zip_equal(places, lhs)) {
        if (prefetches && n % 2 == 0)
          prefetch(rhsPoints[n], columns, k);
        Value rhs = load(c.rhs, c.rhsMap, rhsPoints[n], k);
        for (int64_t r = 0; r < rows; ++r) {
          Value &sum = next[n * rows + r];
          sum = multiplyAdd(loaded[r], rhs, sum);
        }
      }
    scf::YieldOp::create(b, next);
    return SmallVector<Value>(loop.getResults());
  };

  auto wholeOf = [&](int64_t size) {
    return math.mul(math.floorDiv(step.wholeCount(), math.constant(size)), math.constant(size));
  };
  // More rows leave no registers for the addresses. Of a product with itself, both operands are the same value.
  bool prefetches = rows == 1 && columns > 1 && c.lhs != c.rhs;
  Value zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0.0));
  Value zeros = vector::BroadcastOp::create(b, vectorType, zero);
  SmallVector<Value> vectors(rows * columns, zeros);
  Value done = c0;
  auto addVectors = [&](int64_t unroll) {
    Value end = wholeOf(tile.lanes * unroll);
    vectors = accumulate(
        done, end, tile.lanes, unroll, vectors, prefetches,
        [&](Value operand, AffineMap map, const SmallVector<Value> &point, Value k) {
          return step.loadAlongK(operand, map, point, k);
        },
        [&](Value x, Value y, Value acc) { return step.multiplyAdd(x, y, acc); });
    done = end;
  };
  // Two lines of a column at once are faster where they come from a cache. Fewer registers don't hold their addresses.
  if (prefetches && tile.rows >= 12)
    addVectors(2);
  addVectors(1);
  SmallVector<Value> tails = accumulate(
      math.mul(done, math.constant(step.size())), space.depth, 1, 1,
      SmallVector<Value>(rows * columns, zero), /*prefetches=*/false,
      [&](Value operand, AffineMap map, SmallVector<Value> point, Value k) {
        point[c.k] = k;
        return loadScalar(operand, space.access(map, point));
      },
      [&](Value x, Value y, Value acc) -> Value { return math::FmaOp::create(b, x, y, acc); });

  for (int64_t n = 0; n < columns; ++n)
    for (int64_t r = 0; r < rows; ++r) {
      SmallVector<Value> point(lhsPoints[r]);
      point[c.n] = math.add(column, math.constant(n));
      SmallVector<Value> indices = space.access(c.outMap, point);
      Value sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, vectors[n * rows + r],
                                              tails[n * rows + r], arith::FastMathFlags::reassoc);
      if (!c.zeros)
        sum = arith::AddFOp::create(b, memref::LoadOp::create(b, c.out, indices), sum);
      memref::StoreOp::create(b, step.toResult(sum), c.result(), indices);
    }
}

} // namespace

bool hasDotForm(const Contraction &c) {
  return Contraction::isContiguousAlong(c.lhs, c.lhsMap, c.k) &&
         Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.k);
}

void buildDotForm(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                  const ContractionTile &tile) {
  DotFormBuilder(b, space, tile).compute();
}

} // namespace heddle
