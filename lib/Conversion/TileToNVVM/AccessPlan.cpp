//===- AccessPlan.cpp - which registers an access moves at once -----------===//
//
// 1. A run is as many neighbours along the columns as a thread holds, up to 16 bytes, as far as rows are aligned in memory and the
//    position of the tile is a multiple of the run. Where columns can be outside of the view, its extent is one too, so that a run is
//    inside or outside as a whole.
// 2. Runs are grouped by row: the rows of a thread are at constant distances, so one condition and one pointer serve a row, and the
//    pointer moves on from row to row by multiples of the row stride.
// 3. Elements that several registers hold are moved once.
//
//===----------------------------------------------------------------------===//

#include "GlobalAccess.h"

#include "heddle/Layout/LayoutQueries.h"
#include <map>

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;

namespace {

/// What is known of one dimension of an access.
struct AccessDim {
  Value index;     ///< of the tile's first element
  Value extent;    ///< of the view
  bool isChecked;  ///< whether elements may be outside
  bool isPositive; ///< whether all coordinates of the tile are known to be at least 0
};

} // namespace

static AccessDim dimOf(KernelLowering &lowering, Value index, Value extent, int64_t tileExtent,
                       bool isChecked) {
  AccessDim dim{lowering.scalar(index), extent, isChecked,
                lowering.isNonNegative(index, tileExtent)};
  std::optional<int64_t> first = constantOf(index), size = constantOf(extent);
  if (first && size && *first >= 0 && *first + tileExtent <= *size)
    dim.isChecked = false;
  return dim;
}

/// The condition that the coordinate (thread ^ toggled) + added is inside; null if that is known.
static Value isInside(KernelLowering &lowering, const AccessDim &dim,
                      const LayoutArithmetic &layout, Value first, int64_t reg) {
  if (!dim.isChecked)
    return {};
  IntegerMath &math = lowering.math;
  // All registers compare the same difference with a constant.
  if (layout.isAdditive() && dim.isPositive)
    return math.compare(arith::CmpIPredicate::sgt, math.sub(dim.extent, first), layout.added(reg));
  return lowering.isInside(layout.isAdditive()
                               ? math.add(first, layout.added(reg))
                               : math.add(layout.apply(math, first, reg), dim.index),
                           dim.extent);
}

FailureOr<SmallVector<AccessRow>> planAccess(KernelLowering &lowering, Operation *op,
                                             RankedTensorType tile, const GlobalView &view,
                                             ValueRange indices, bool isChecked) {
  FailureOr<Layout> layout = lowering.layoutOf(op, tile);
  if (failed(layout))
    return failure();
  IntegerMath &math = lowering.math;
  bool hasRows = tile.getRank() == 2 || view.table, hasColumns = tile.getRank() == 2 || !view.table;
  unsigned columnDim = tile.getRank() - 1;
  LayoutArithmetic rowArithmetic(*layout, hasRows ? Dim::Coord0 : Dim::Offset);
  LayoutArithmetic columnArithmetic(*layout,
                                    hasColumns ? tile::coordinate(columnDim) : Dim::Offset);
  if (!rowArithmetic.isValid() || !columnArithmetic.isValid())
    return op->emitOpError("expected a layout whose registers are at constant distances, got ")
           << tile;
  AccessDim row, column;
  if (hasRows)
    row = dimOf(lowering, indices[0], view.extents[0], tile.getDimSize(0), isChecked);
  if (hasColumns)
    column = dimOf(lowering, indices[columnDim], view.extents[columnDim],
                   tile.getDimSize(columnDim), isChecked);

  // 1. The run.
  int64_t count = 1;
  layout::ContiguousElements neighbours;
  if (hasColumns && view.contiguousDim == int(columnDim)) {
    neighbours = layout::contiguousElements(*layout, tile::coordinate(columnDim));
    count = std::min({neighbours.count, view.alignment / view.elementBytes,
                      tile_nv::knownDivisor(indices[columnDim])});
    if (column.isChecked) {
      std::optional<int64_t> extent = constantOf(column.extent);
      count = extent ? std::min(count, *extent & -*extent) : 1;
    }
    count = std::max<int64_t>(count, 1);
  }
  SmallVector<int64_t> steps;
  for (const layout::Axis &axis : layout->inputs())
    for (size_t bit = 0; axis.dim == Dim::Register && (int64_t(1) << bit) < count; ++bit)
      steps.push_back(axis.weights[neighbours.registerBits[bit]]);

  // 2. Runs by row, in the order of rows.
  SmallVector<int64_t> first = firstRegisters(*layout);
  std::map<std::pair<int64_t, int64_t>, SmallVector<int64_t>> rows;
  for (int64_t reg = 0; reg < int64_t(first.size()); ++reg) {
    bool startsRun =
        first[reg] == reg && llvm::all_of(steps, [&](int64_t step) { return reg / step % 2 == 0; });
    if (startsRun)
      rows[{rowArithmetic.toggled(reg), rowArithmetic.added(reg)}].push_back(reg);
  }
  auto inputs = lowering.threadInputs();
  Value rowThread = rowArithmetic.thread(math, inputs);
  Value columnThread = columnArithmetic.thread(math, inputs);
  auto positionOf = [&](const AccessDim &dim, const LayoutArithmetic &arithmetic, Value thread,
                        int64_t reg) {
    return math.add(arithmetic.apply(math, thread, reg), dim.index);
  };
  Value columnStride = hasColumns ? view.strides[columnDim] : math.i64(0);
  Value firstColumn = hasColumns ? math.add(column.index, columnThread) : math.i32(0);

  // Columns whose registers are at constant distances are part of the row's pointer.
  auto withColumns = [&](Value pointer) {
    if (!hasColumns || !columnArithmetic.isAdditive())
      return pointer;
    return lowering.advance(pointer, math.mul(math.wide(firstColumn), columnStride),
                            view.elementBytes);
  };

  SmallVector<AccessRow> plan;
  Value walking;
  int64_t walked = 0;
  for (auto &[position, starts] : rows) {
    AccessRow &entry = plan.emplace_back();
    Value pointer;
    if (!hasRows) {
      pointer = withColumns(view.pointer);
    } else if (view.table) {
      // Rows inside of the view's extent may still have a negative entry.
      GlobalRow found =
          lowering.rowOf(view, positionOf(row, rowArithmetic, rowThread, starts[0]), isChecked);
      pointer = withColumns(found.pointer);
      entry.inside = found.inside;
    } else {
      Value firstRow = rowArithmetic.isAdditive() ? math.add(row.index, rowThread) : rowThread;
      entry.inside = isInside(lowering, row, rowArithmetic, firstRow, starts[0]);
      if (walking && rowArithmetic.isAdditive())
        pointer = lowering.advance(walking, math.mul(view.strides[0], position.second - walked),
                                   view.elementBytes);
      else
        pointer = withColumns(
            lowering.rowOf(view, positionOf(row, rowArithmetic, rowThread, starts[0]), false)
                .pointer);
      walking = pointer;
      walked = position.second;
    }
    for (int64_t start : starts) {
      AccessRun &run = entry.runs.emplace_back();
      for (int64_t i = 0; i < count; ++i) {
        int64_t reg = start;
        for (auto [bit, step] : llvm::enumerate(steps))
          reg += (i >> bit & 1) * step;
        run.registers.push_back(reg);
      }
      run.pointer = pointer;
      if (!hasColumns)
        continue;
      if (columnArithmetic.isAdditive()) {
        run.inside = isInside(lowering, column, columnArithmetic, firstColumn, start);
        run.pointer = lowering.advance(
            pointer, math.mul(columnStride, columnArithmetic.added(start)), view.elementBytes);
      } else {
        run.inside = isInside(lowering, column, columnArithmetic, columnThread, start);
        Value at = positionOf(column, columnArithmetic, columnThread, start);
        run.pointer =
            lowering.advance(pointer, math.mul(math.wide(at), columnStride), view.elementBytes);
      }
    }
  }
  return plan;
}

} // namespace heddle
