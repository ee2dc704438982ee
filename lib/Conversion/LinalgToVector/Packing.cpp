//===- Packing.cpp - operands of products in the order of use -------------===//

#include "Packing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

/// How many squares ahead of the transposed one rows are fetched.
constexpr int64_t squaresAhead = 4;

static SmallVector<Value> indices(ValueRange prefix, Value k, Value lane) {
  SmallVector<Value> result(prefix);
  result.append({k, lane});
  return result;
}

void PanelPacker::pack(const Panel &panel, Value count, Value buffer, ValueRange prefix) {
  const Contraction &c = space.c;
  Value c0 = math.constant(0), lanes = math.constant(tile.lanes);
  Value whole = math.min(count, math.sub(step.wholeCount(), panel.firstStep));
  if (Contraction::isContiguousAlong(panel.operand, panel.map, c.k)) {
    whole = math.mul(math.floorDiv(whole, lanes), lanes);
    packAlongK(panel, whole, buffer, prefix);
  } else if (panel.operand == c.rhs && Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.n)) {
    // Columns can't be repeated without loading them one by one.
    Value isFull = math.lessEqual(math.constant(panel.width), panel.valid);
    whole = arith::SelectOp::create(b, isFull, whole, c0);
    packAlongN(panel, whole, buffer, prefix);
  } else {
    whole = c0;
  }
  packScalars(panel, whole, count, buffer, prefix);
}

/// Squares of steps are transposed. Each row of a square is a stream of its own, too many for the hardware to fetch ahead.
void PanelPacker::packAlongK(const Panel &panel, Value whole, Value buffer, ValueRange prefix) {
  Value c0 = math.constant(0), last = math.sub(panel.valid, math.constant(1));
  for (int64_t lane = 0; lane < panel.width; lane += tile.lanes) {
    int64_t count = std::min(panel.width - lane, tile.lanes);
    SmallVector<SmallVector<Value>> points;
    for (int64_t i = 0; i < count; ++i)
      points.push_back(panel.point(math.min(math.constant(lane + i), last)));
    buildFor(b, c0, whole, math.constant(tile.lanes), [&](Value k) {
      SmallVector<Value> rows;
      Value ahead =
          math.add(panel.firstStep, math.add(k, math.constant(squaresAhead * tile.lanes)));
      for (int64_t i = 0; i < count; ++i)
        step.prefetch(panel.operand, panel.map, points[i], ahead);
      for (int64_t i = 0; i < tile.lanes; ++i)
        rows.push_back(i < count ? step.loadAlongK(panel.operand, panel.map, points[i],
                                                   math.add(panel.firstStep, k))
                                 : rows.back());
      transposeSquare(b, rows);
      for (auto [i, row] : llvm::enumerate(rows)) {
        if (count < tile.lanes)
          row = vector::ExtractStridedSliceOp::create(
              b, row, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
        vector::StoreOp::create(
            b, row, buffer, indices(prefix, math.add(k, math.constant(i)), math.constant(lane)));
      }
    });
  }
}

void PanelPacker::packAlongN(const Panel &panel, Value whole, Value buffer, ValueRange prefix) {
  Value c0 = math.constant(0);
  SmallVector<Value> origin = panel.point(c0), point(origin);
  buildFor(b, c0, whole, math.constant(1), [&](Value k) {
    for (int64_t lane = 0; lane < panel.width; lane += tile.lanes) {
      point[space.c.n] = math.add(origin[space.c.n], math.constant(lane));
      Value steps = step.loadAlongN(point, math.add(panel.firstStep, k));
      vector::StoreOp::create(b, steps, buffer, indices(prefix, k, math.constant(lane)));
    }
  });
}

/// Any strides.
void PanelPacker::packScalars(const Panel &panel, Value begin, Value end, Value buffer,
                              ValueRange prefix) {
  Value c0 = math.constant(0), c1 = math.constant(1);
  Value last = math.sub(panel.valid, c1);
  buildFor(b, c0, math.constant(panel.width), c1, [&](Value i) {
    SmallVector<Value> point = panel.point(math.min(i, last));
    buildFor(b, begin, end, c1, [&](Value k) {
      Value value = step.load(panel.operand, panel.map, point, math.add(panel.firstStep, k));
      memref::StoreOp::create(b, value, buffer, indices(prefix, k, i));
    });
  });
}

Value PanelPacker::paddedCount(int64_t multiple) {
  if (multiple == 1)
    return step.count();
  return math.mul(math.ceilDiv(step.count(), multiple), math.constant(multiple));
}

Value PanelPacker::allocateLhs(int64_t width, Value rows, Value steps) {
  int64_t dynamic = ShapedType::kDynamic;
  auto type = MemRefType::get({dynamic, dynamic, dynamic, width}, step.type());
  return memref::AllocOp::create(b, type,
                                 ValueRange{space.batches, math.ceilDiv(rows, width), steps},
                                 b.getI64IntegerAttr(64));
}

void PanelPacker::packLhs(int64_t width, Value packed, Value steps) {
  Value panels = math.ceilDiv(space.rows, width);
  Value c0 = math.constant(0), c1 = math.constant(1);
  buildTasks(b, math.mul(space.batches, panels), [&](Value task) {
    Value batch = math.floorDiv(task, panels);
    Value number = math.rem(task, panels);
    Value first = math.mul(number, math.constant(width));
    auto point = [&](Value r) {
      return space.point(math, batch, math.add(first, r), nullptr, nullptr);
    };
    Panel panel{space.c.lhs, space.c.lhsMap, width, math.sub(space.rows, first), c0, point};
    pack(panel, step.count(), packed, {batch, number});
    buildFor(b, step.count(), steps, c1, [&](Value k) {
      buildFor(b, c0, math.constant(width), c1, [&](Value lane) {
        memref::StoreOp::create(b, step.zero(), packed, ValueRange{batch, number, k, lane});
      });
    });
  });
}

} // namespace heddle
