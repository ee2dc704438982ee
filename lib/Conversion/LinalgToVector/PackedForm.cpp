//===- PackedForm.cpp - contractions as packed register tiles -------------===//
//
// The usual organisation of a fast matrix product, for any number of rows, columns and contracted elements:
//
// 1. lhs is packed once, by all threads, to [batch][row panel][step of k][rows]: a register tile then reads `rows` neighbouring
//    scalars for every step. Panels are always whole, so that no tile needs a mask while it computes.
// 2. A task owns `columnPanels` register tiles side by side and a range of row panels. For one block of k it packs the columns of
//    rhs to [panel][step][columns] (on the stack; every element is then used by all rows), then walks the row panels.
// 3. A register tile keeps rows x vectors accumulators as loop-carried vectors over the k block and adds them to the output at the
//    end; only this last step knows about partial panels.
//
// Worked example, 12 x 32 tiles, M = 500, N = 100, K = 2048: 42 row panels (the last with 8 rows), 2 column groups of 64 of which
// the second stores 36 columns, 4 blocks of k; or 2 blocks of 512 pairs, where KStep.h says that steps are pairs.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

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
      : b(b), math(b), space(space), c(space.c), tile(tile), packed(packed), step(b, space, tile),
        packer(b, space, tile), type(space.c.accumulator),
        vectorType(VectorType::get({tile.lanes}, type)) {
    zero = arith::ConstantOp::create(b, b.getFloatAttr(type, 0.0));
    c0 = math.constant(0);
    c1 = math.constant(1);
    columnStep = math.constant(tile.columns());
  }

  void packLhs() { packer.packLhs(tile.rows, packed, step.count()); }
  void compute();

private:
  void packColumns(Value batch, Value column, Value panel, Value k0, Value kCount);
  SmallVector<Value> multiply(Value batch, Value rowPanel, Value panel, Value k0, Value kCount);
  void addToOutput(Value batch, Value row, Value column, ArrayRef<Value> sums);

  ImplicitLocOpBuilder &b;
  IndexMath math;
  const ContractionSpace &space;
  const Contraction &c;
  const ContractionTile &tile;
  Value packed, scratch;
  KStep step;
  PanelPacker packer;
  FloatType type;
  VectorType vectorType;
  Value zero, c0, c1, columnStep;
};

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
        b, MemRefType::get({tile.columnPanels, tile.kBlock, tile.columns()}, step.type()),
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

    buildFor(b, c0, step.count(), kStep, [&](Value k0) {
      Value kCount = math.min(kStep, math.sub(step.count(), k0));
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

void PackedFormBuilder::packColumns(Value batch, Value column, Value panel, Value k0,
                                    Value kCount) {
  auto point = [&](Value lane) {
    return space.point(math, batch, nullptr, math.add(column, lane), nullptr);
  };
  Panel columns{c.rhs, c.rhsMap, tile.columns(), math.sub(space.columns, column), k0, point};
  packer.pack(columns, kCount, scratch, panel);
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
    columns.push_back(vector::LoadOp::create(b, step.vector(), scratch,
                                             ValueRange{panel, k, math.constant(v * tile.lanes)}));
  Value kGlobal = math.add(k0, k);
  SmallVector<Value> next;
  for (int64_t r = 0; r < tile.rows; ++r) {
    Value scalar =
        memref::LoadOp::create(b, packed, ValueRange{batch, rowPanel, kGlobal, math.constant(r)});
    Value row = step.broadcast(scalar);
    for (int64_t v = 0; v < tile.vectors; ++v)
      next.push_back(
          step.multiplyAdd(row, columns[v], loop.getRegionIterArg(r * tile.vectors + v)));
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
  KStep step(b, space, tile);
  return PanelPacker(b, space, tile).allocateLhs(tile.rows, space.rows, step.count());
}

void buildPackedForm(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                     const ContractionTile &tile, Value packed) {
  PackedFormBuilder builder(b, space, tile, packed);
  builder.packLhs();
  builder.compute();
}

} // namespace heddle
