//===- PackedForm.cpp - contractions as packed register tiles -------------===//
//
// The usual organisation of a fast matrix product, for any number of rows, columns and contracted elements:
//
// 1. lhs is packed once, by all threads, to [batch][row panel][k][rows]: a register tile then reads `rows` neighbouring scalars
//    for every k, and rows past the end are zeros, so that no tile needs a mask while it computes.
// 2. A task owns `columnPanels` register tiles side by side and a range of row panels. For one block of k it packs the columns of
//    rhs to [panel][k][columns] (on the stack; every element is then used by all rows), then walks the row panels.
// 3. A register tile keeps rows x vectors accumulators as loop-carried vectors over the k block and adds them to the output at the
//    end; only this last step knows about partial panels.
//
// Worked example, 12 x 32 tiles, M = 500, N = 100, K = 2048: 42 row panels (the last with 8 rows), 2 column groups of 64 of which
// the second stores 36 columns, 4 blocks of k.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {
namespace {

/// How many tasks a product is split into at least, if it has the rows for it.
constexpr int64_t minTasks = 16;

class PackedFormBuilder {
public:
  PackedFormBuilder(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                    const ContractionTile &tile, Value packed)
      : b(b), math(b), space(space), c(space.c), tile(tile), packed(packed),
        type(space.c.accumulator), vectorType(VectorType::get({tile.lanes}, type)) {
    zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0.0));
    c0 = math.constant(0);
    c1 = math.constant(1);
    columnStep = math.constant(tile.columns());
  }

  void packLhs();
  void compute();

private:
  void packColumns(Value batch, Value column, Value panel, Value k0, Value kCount);
  void packContiguousColumns(ArrayRef<Value> origin, Value column, Value panel, Value kCount);
  void packTransposedColumns(Value batch, Value column, Value panel, Value k0, Value kCount);
  void packScalars(Value batch, Value column, Value panel, Value k0, Value kFirst, Value kCount);
  SmallVector<Value> multiply(Value batch, Value rowPanel, Value panel, Value k0, Value kCount);
  void addToOutput(Value batch, Value row, Value column, ArrayRef<Value> sums);
  Value loadRhs(Value batch, Value column, Value k);

  ImplicitLocOpBuilder &b;
  IndexMath math;
  const ContractionSpace &space;
  const Contraction &c;
  const ContractionTile &tile;
  Value packed, scratch;
  FloatType type;
  VectorType vectorType;
  Value zero, c0, c1, columnStep;
};

void PackedFormBuilder::packLhs() {
  Value panels = math.ceilDiv(space.rows, tile.rows);
  buildTasks(b, math.mul(space.batches, panels), [&](Value task) {
    Value batch = math.floorDiv(task, panels);
    Value panel = math.rem(task, panels);
    buildFor(b, c0, math.constant(tile.rows), c1, [&](Value r) {
      Value row = math.add(math.mul(panel, math.constant(tile.rows)), r);
      SmallVector<Value> point;
      buildIf(
          b, math.less(row, space.rows),
          [&] {
            point = space.point(math, batch, row, nullptr, nullptr);
            buildFor(b, c0, space.depth, c1, [&](Value k) {
              point[c.k] = k;
              Value value = memref::LoadOp::create(b, c.lhs, space.access(c.lhsMap, point));
              memref::StoreOp::create(b, convertFloat(b, value, type), packed,
                                      ValueRange{batch, panel, k, r});
            });
          },
          [&] {
            buildFor(b, c0, space.depth, c1, [&](Value k) {
              memref::StoreOp::create(b, zero, packed, ValueRange{batch, panel, k, r});
            });
          });
    });
  });
}

void PackedFormBuilder::compute() {
  Value rowPanels = math.ceilDiv(space.rows, tile.rows);
  Value groupColumns = math.constant(tile.columns() * tile.columnPanels);
  Value columnGroups = math.ceilDiv(space.columns, tile.columns() * tile.columnPanels);
  // Rows are split only where batches and columns give too few tasks, since every row group packs its columns again.
  Value outer = math.max(math.mul(space.batches, columnGroups), c1);
  Value wanted = math.floorDiv(math.add(math.constant(minTasks - 1), outer), outer);
  Value rowGroups = math.max(math.min(wanted, rowPanels), c1);
  Value panelsPerGroup = math.floorDiv(math.add(rowPanels, math.sub(rowGroups, c1)), rowGroups);

  Value tasks = math.mul(math.mul(space.batches, columnGroups), rowGroups);
  buildTasks(b, tasks, [&](Value task) {
    scratch = memref::AllocaOp::create(
        b, MemRefType::get({tile.columnPanels, tile.kBlock, tile.columns()}, type),
        b.getI64IntegerAttr(64));
    Value rowGroup = math.rem(task, rowGroups);
    Value rest = math.floorDiv(task, rowGroups);
    Value column0 = math.mul(math.rem(rest, columnGroups), groupColumns);
    Value batch = math.floorDiv(rest, columnGroups);
    Value panelBegin = math.mul(rowGroup, panelsPerGroup);
    Value panelEnd = math.min(math.add(panelBegin, panelsPerGroup), rowPanels);
    Value kStep = math.constant(tile.kBlock);
    Value panelCount = math.min(math.constant(tile.columnPanels),
                                math.ceilDiv(math.sub(space.columns, column0), tile.columns()));

    buildFor(b, c0, space.depth, kStep, [&](Value k0) {
      Value kCount = math.min(kStep, math.sub(space.depth, k0));
      buildFor(b, c0, panelCount, c1, [&](Value panel) {
        Value column = math.add(column0, math.mul(panel, columnStep));
        packColumns(batch, column, panel, k0, kCount);
      });
      buildFor(b, panelBegin, panelEnd, c1, [&](Value rowPanel) {
        buildFor(b, c0, panelCount, c1, [&](Value panel) {
          SmallVector<Value> sums = multiply(batch, rowPanel, panel, k0, kCount);
          addToOutput(batch, math.mul(rowPanel, math.constant(tile.rows)),
                      math.add(column0, math.mul(panel, columnStep)), sums);
        });
      });
    });
  });
}

Value PackedFormBuilder::loadRhs(Value batch, Value column, Value k) {
  SmallVector<Value> point = space.point(math, batch, nullptr, column, k);
  Value value = memref::LoadOp::create(b, c.rhs, space.access(c.rhsMap, point));
  return convertFloat(b, value, type);
}

void PackedFormBuilder::packColumns(Value batch, Value column, Value panel, Value k0,
                                    Value kCount) {
  Value full = math.lessEqual(math.add(column, columnStep), space.columns);
  auto scalars = [&] { packScalars(batch, column, panel, k0, c0, kCount); };
  if (Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.n)) {
    buildIf(
        b, full,
        [&] {
          SmallVector<Value> point = space.point(math, batch, nullptr, column, k0);
          packContiguousColumns(point, column, panel, kCount);
        },
        scalars);
  } else if (Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.k)) {
    buildIf(b, full, [&] { packTransposedColumns(batch, column, panel, k0, kCount); }, scalars);
  } else {
    scalars();
  }
}

void PackedFormBuilder::packContiguousColumns(ArrayRef<Value> origin, Value column, Value panel,
                                              Value kCount) {
  auto loadType = VectorType::get({tile.lanes}, getElementTypeOrSelf(c.rhs.getType()));
  SmallVector<Value> point(origin);
  buildFor(b, c0, kCount, c1, [&](Value k) {
    point[c.k] = math.add(origin[c.k], k);
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value lane = math.constant(v * tile.lanes);
      point[c.n] = math.add(column, lane);
      Value value = vector::LoadOp::create(b, loadType, c.rhs, space.access(c.rhsMap, point));
      vector::StoreOp::create(b, convertFloat(b, value, type), scratch, ValueRange{panel, k, lane});
    }
  });
}

void PackedFormBuilder::packTransposedColumns(Value batch, Value column, Value panel, Value k0,
                                              Value kCount) {
  auto loadType = VectorType::get({tile.lanes}, getElementTypeOrSelf(c.rhs.getType()));
  Value lanes = math.constant(tile.lanes);
  Value kWhole = math.mul(math.floorDiv(kCount, lanes), lanes);
  buildFor(b, c0, math.constant(tile.vectors), c1, [&](Value v) {
    Value lane = math.mul(v, lanes);
    Value first = math.add(column, lane);
    buildFor(b, c0, kWhole, lanes, [&](Value k) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < tile.lanes; ++i) {
        SmallVector<Value> point =
            space.point(math, batch, nullptr, math.add(first, math.constant(i)), math.add(k0, k));
        Value row = vector::LoadOp::create(b, loadType, c.rhs, space.access(c.rhsMap, point));
        rows.push_back(convertFloat(b, row, type));
      }
      transposeSquare(b, rows);
      for (auto [i, row] : llvm::enumerate(rows))
        vector::StoreOp::create(b, row, scratch,
                                ValueRange{panel, math.add(k, math.constant(i)), lane});
    });
  });
  packScalars(batch, column, panel, k0, kWhole, kCount);
}

/// Any strides, any number of columns; columns past the end become zeros.
void PackedFormBuilder::packScalars(Value batch, Value column, Value panel, Value k0, Value kFirst,
                                    Value kCount) {
  buildFor(b, c0, columnStep, c1, [&](Value lane) {
    Value n = math.add(column, lane);
    buildIf(
        b, math.less(n, space.columns),
        [&] {
          buildFor(b, kFirst, kCount, c1, [&](Value k) {
            memref::StoreOp::create(b, loadRhs(batch, n, math.add(k0, k)), scratch,
                                    ValueRange{panel, k, lane});
          });
        },
        [&] {
          buildFor(b, kFirst, kCount, c1, [&](Value k) {
            memref::StoreOp::create(b, zero, scratch, ValueRange{panel, k, lane});
          });
        });
  });
}

/// The register tile: accumulators are loop-carried vectors, rows x vectors of them, row by row.
SmallVector<Value> PackedFormBuilder::multiply(Value batch, Value rowPanel, Value panel, Value k0,
                                               Value kCount) {
  Value start = vector::BroadcastOp::create(b, vectorType, zero);
  SmallVector<Value> accumulators(tile.rows * tile.vectors, start);
  auto loop = scf::ForOp::create(b, c0, kCount, c1, accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  SmallVector<Value> columns;
  for (int64_t v = 0; v < tile.vectors; ++v)
    columns.push_back(vector::LoadOp::create(b, vectorType, scratch,
                                             ValueRange{panel, k, math.constant(v * tile.lanes)}));
  Value kGlobal = math.add(k0, k);
  SmallVector<Value> next;
  for (int64_t r = 0; r < tile.rows; ++r) {
    Value scalar =
        memref::LoadOp::create(b, packed, ValueRange{batch, rowPanel, kGlobal, math.constant(r)});
    Value row = vector::BroadcastOp::create(b, vectorType, scalar);
    for (int64_t v = 0; v < tile.vectors; ++v)
      next.push_back(
          vector::FMAOp::create(b, row, columns[v], loop.getRegionIterArg(r * tile.vectors + v)));
  }
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

void PackedFormBuilder::addToOutput(Value batch, Value row, Value column, ArrayRef<Value> sums) {
  auto rowPoint = [&](int64_t r) {
    return space.point(math, batch, math.add(row, math.constant(r)), column, nullptr);
  };
  auto eachVector = [&](int64_t r, function_ref<void(ArrayRef<Value>, Value, Value)> store) {
    SmallVector<Value> point = rowPoint(r);
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value lane = math.constant(v * tile.lanes);
      point[c.n] = math.add(column, lane);
      store(space.access(c.outMap, point), point[c.n], sums[r * tile.vectors + v]);
    }
  };

  Value wholeRows = math.lessEqual(math.add(row, math.constant(tile.rows)), space.rows);
  Value wholeColumns = math.lessEqual(math.add(column, columnStep), space.columns);
  Value whole = b.createOrFold<arith::AndIOp>(wholeRows, wholeColumns);
  buildIf(
      b, whole,
      [&] {
        for (int64_t r = 0; r < tile.rows; ++r)
          eachVector(r, [&](ArrayRef<Value> indices, Value, Value sum) {
            Value old = vector::LoadOp::create(b, vectorType, c.out, indices);
            vector::StoreOp::create(b, arith::AddFOp::create(b, old, sum), c.out, indices);
          });
      },
      [&] {
        auto maskType = VectorType::get({tile.lanes}, b.getI1Type());
        Value none = vector::BroadcastOp::create(b, vectorType, zero);
        for (int64_t r = 0; r < tile.rows; ++r)
          buildIf(b, math.less(math.add(row, math.constant(r)), space.rows), [&] {
            eachVector(r, [&](ArrayRef<Value> indices, Value n, Value sum) {
              Value mask =
                  vector::CreateMaskOp::create(b, maskType, ValueRange{math.sub(space.columns, n)});
              Value old = vector::MaskedLoadOp::create(b, vectorType, c.out, indices, mask, none);
              vector::MaskedStoreOp::create(b, c.out, indices, mask,
                                            arith::AddFOp::create(b, old, sum));
            });
          });
      });
}

} // namespace

Value buildPackedBuffer(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                        const ContractionTile &tile) {
  IndexMath math(b);
  int64_t dynamic = ShapedType::kDynamic;
  auto type = MemRefType::get({dynamic, dynamic, dynamic, tile.rows}, space.c.accumulator);
  return memref::AllocOp::create(
      b, type, ValueRange{space.batches, math.ceilDiv(space.rows, tile.rows), space.depth},
      b.getI64IntegerAttr(64));
}

void buildPackedForm(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                     const ContractionTile &tile, Value packed) {
  PackedFormBuilder builder(b, space, tile, packed);
  builder.packLhs();
  builder.compute();
}

} // namespace heddle
