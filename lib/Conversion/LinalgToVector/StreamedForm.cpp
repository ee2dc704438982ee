//===- StreamedForm.cpp - contractions that read rhs where it lies --------===//
//
// The product is computed transposed, out^T[n][m] = sum over k of rhs[n][k] * lhs^T[k][m], so that an rhs whose rows are contiguous along k,
// as weights are stored, is never packed:
//
// 1. lhs is packed once, by all threads, to [batch][row panel][step of k][32 rows].
// 2. A task takes some columns, and all rows unless that gives too few tasks. For each row panel and a group of columns it keeps accumulators
//    in registers:
//      vectors   half a group is a register tile: its columns are broadcast step by step, 2 vectors hold the panel's rows. Blocks of k are
//                long, and for precision alone: longer sums of f32 would lose more of it
//      AMX       32 columns x 32 rows are 2 x 2 tiles; 16 columns x 32 k are a tile as they lie, 16 pairs x 16 rows are one of the panel.
//                The next tasks' columns are fetched meanwhile
// 3. Sums go to a buffer [half of the panel][column][row], are transposed in squares and added to the output; or, where it holds zeros,
//    rounded and stored.
//
// Columns behind the last one repeat it. What AMX would read behind k's end comes from a small copy with zeros: lhs has zeros there, too,
// but 0 * NaN is not 0.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {
namespace {

/// With few rows, tasks are small: reading rhs is what they do. With more, a panel of lhs is used by more columns while it is in the cache.
constexpr int64_t fewRows = 64, leastColumns = 32, mostColumns = 128;
/// How many tasks a product is split into at least: by columns, and by rows as well. Consecutive tasks have the same columns, which stay
/// in the cache, and small ones let threads end at the same time.
constexpr int64_t minTasks = 16, tasksOfRows = 256;
/// Steps along k that are added up in one accumulator.
constexpr int64_t vectorSteps = 1024;
/// Rows of a tile of any type, pairs in a row of a tile of bf16.
constexpr int64_t tileRows = 16;

class StreamedFormBuilder {
public:
  StreamedFormBuilder(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                      const ContractionTile &tile, Value packed)
      : b(b), math(b), space(space), c(space.c), tile(tile), step(b, space, tile), packed(packed),
        vectorType(VectorType::get({tile.lanes}, space.c.accumulator)), amx(usesAMX(c, tile)),
        groupColumns(amx ? 2 * tileRows : tile.lanes) {
    c0 = math.constant(0);
    c1 = math.constant(1);
  }

  void compute();

private:
  void multiplyVectors(Value batch, Value column, Value panel);
  void multiplyTiles(Value batch, Value column, Value panel);
  void addToOutput(Value batch, Value column, Value panel);
  SmallVector<SmallVector<Value>> rowsOfNextTask(Value batch, Value column, Value panel);
  SmallVector<Value> rhsPoint(Value batch, Value column);

  ImplicitLocOpBuilder &b;
  IndexMath math;
  const ContractionSpace &space;
  const Contraction &c;
  const ContractionTile &tile;
  KStep step;
  Value packed, sums, copy, nextTask; ///< the columns of a task
  VectorType vectorType;
  bool amx;
  int64_t groupColumns;
  Value c0, c1;
};

void StreamedFormBuilder::compute() {
  Value least = math.constant(leastColumns);
  Value share = math.ceilDiv(math.mul(space.batches, space.columns), minTasks);
  share = math.mul(math.ceilDiv(share, leastColumns), least);
  share = math.max(math.min(share, math.constant(mostColumns)), least);
  Value isFew = math.lessEqual(space.rows, math.constant(fewRows));
  Value taskColumns = arith::SelectOp::create(b, isFew, least, share);
  auto ceilDiv = [&](Value x, Value y) { return math.floorDiv(math.add(x, math.sub(y, c1)), y); };
  Value groups = ceilDiv(space.columns, taskColumns);
  Value panels = math.ceilDiv(space.rows, tile.columns());
  Value outer = math.max(math.mul(space.batches, groups), c1);
  Value rowGroups = math.max(math.min(ceilDiv(math.constant(tasksOfRows), outer), panels), c1);
  rowGroups = arith::SelectOp::create(b, isFew, c1, rowGroups);
  Value panelsPerGroup = ceilDiv(panels, rowGroups);
  buildTasks(b, math.mul(math.mul(space.batches, groups), rowGroups), [&](Value number) {
    Value task = math.floorDiv(number, rowGroups);
    Value firstPanel = math.mul(math.rem(number, rowGroups), panelsPerGroup);
    Value endPanel = math.min(math.add(firstPanel, panelsPerGroup), panels);
    IntegerAttr alignment = b.getI64IntegerAttr(64);
    sums = memref::AllocaOp::create(
        b, MemRefType::get({tile.vectors, groupColumns, tile.lanes}, c.accumulator), alignment);
    if (amx)
      copy = memref::AllocaOp::create(
          b, MemRefType::get({2 * tileRows, 2 * tileRows}, b.getBF16Type()), alignment);
    nextTask = taskColumns;
    Value batch = math.floorDiv(task, groups);
    Value begin = math.mul(math.rem(task, groups), taskColumns);
    Value end = math.min(math.add(begin, taskColumns), space.columns);
    // The panel of lhs stays while the task's columns pass, if there are several panels; else there is nothing to choose.
    buildFor(b, firstPanel, endPanel, c1, [&](Value panel) {
      buildFor(b, begin, end, math.constant(groupColumns), [&](Value column) {
        if (amx)
          multiplyTiles(batch, column, panel);
        else
          multiplyVectors(batch, column, panel);
        addToOutput(batch, column, panel);
      });
    });
  });
}

/// The point of a column, or of the last one for those behind it.
SmallVector<Value> StreamedFormBuilder::rhsPoint(Value batch, Value column) {
  return space.point(math, batch, nullptr, math.min(column, math.sub(space.columns, c1)), nullptr);
}

void StreamedFormBuilder::multiplyVectors(Value batch, Value column, Value panel) {
  // As many rows with the stride of rhs as an L1 cache has ways, and registers for their accumulators.
  int64_t columns = tile.rows >= 12 ? 8 : 4;
  buildFor(b, c0, math.constant(groupColumns), math.constant(columns), [&](Value first) {
    SmallVector<SmallVector<Value>> points;
    for (int64_t i = 0; i < columns; ++i)
      points.push_back(rhsPoint(batch, math.add(column, math.add(first, math.constant(i)))));
    auto accumulate = [&](Value begin, Value end, ValueRange init, auto load) {
      auto loop = scf::ForOp::create(b, begin, end, c1, init);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value k = loop.getInductionVar();
      SmallVector<Value> rows, next;
      for (int64_t v = 0; v < tile.vectors; ++v)
        rows.push_back(vector::LoadOp::create(
            b, step.vector(), packed, ValueRange{batch, panel, k, math.constant(v * tile.lanes)}));
      for (int64_t i = 0; i < columns; ++i) {
        Value factor = step.broadcast(load(points[i], k));
        for (int64_t v = 0; v < tile.vectors; ++v)
          next.push_back(
              step.multiplyAdd(factor, rows[v], loop.getRegionIterArg(i * tile.vectors + v)));
      }
      scf::YieldOp::create(b, next);
      return SmallVector<Value>(loop.getResults());
    };
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    SmallVector<Value> start(columns * tile.vectors, zeros);
    auto eachSum = [&](function_ref<void(int64_t, ValueRange)> body) {
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t v = 0; v < tile.vectors; ++v)
          body(i * tile.vectors + v,
               ValueRange{math.constant(v), math.add(first, math.constant(i)), c0});
    };
    auto add = [&](ArrayRef<Value> results) {
      eachSum([&](int64_t i, ValueRange at) {
        Value old = vector::LoadOp::create(b, vectorType, sums, at);
        vector::StoreOp::create(b, arith::AddFOp::create(b, old, results[i]), sums, at);
      });
    };
    eachSum([&](int64_t i, ValueRange at) { vector::StoreOp::create(b, start[i], sums, at); });
    Value steps = math.constant(vectorSteps);
    buildFor(b, c0, step.wholeCount(), steps, [&](Value k0) {
      add(accumulate(k0, math.min(math.add(k0, steps), step.wholeCount()), start,
                     [&](SmallVector<Value> &point, Value k) {
                       return step.loadWhole(c.rhs, c.rhsMap, point, k);
                     }));
    });
    if (step.size() > 1)
      add(accumulate(step.wholeCount(), step.count(), start,
                     [&](SmallVector<Value> &point, Value k) {
                       return step.load(c.rhs, c.rhsMap, point, k);
                     }));
  });
}

/// The columns that are fetched with a panel: 16 panels of rows fetch those of the task that follows, two each.
SmallVector<SmallVector<Value>> StreamedFormBuilder::rowsOfNextTask(Value batch, Value column,
                                                                    Value panel) {
  constexpr int64_t atOnce = 2;
  Value first =
      math.min(math.mul(panel, math.constant(atOnce)), math.constant(groupColumns - atOnce));
  SmallVector<SmallVector<Value>> points;
  for (int64_t i = 0; i < atOnce; ++i)
    points.push_back(
        rhsPoint(batch, math.add(math.add(column, nextTask), math.add(first, math.constant(i)))));
  return points;
}

void StreamedFormBuilder::multiplyTiles(Value batch, Value column, Value panel) {
  auto tileOf = [&](int64_t width, Type type) {
    return amx::TileType::get({tileRows, width}, type);
  };
  amx::TileType factorType = tileOf(2 * tileRows, b.getBF16Type()),
                sumType = tileOf(tileRows, c.accumulator);
  Value lastTile = math.constant(tileRows), kTile = math.constant(2 * tileRows);

  // A step: 2 tiles of rhs, at `at` of `from`, times 2 of lhs.
  auto multiply = [&](Value from, function_ref<SmallVector<Value>(Value half)> at, Value k,
                      ValueRange accumulators) {
    Value pair = math.floorDiv(k, math.constant(2));
    Value factors[2], rows[2];
    for (int64_t i = 0; i < 2; ++i) {
      Value half = math.constant(i * tileRows);
      factors[i] = amx::TileLoadOp::create(b, factorType, from, at(half));
      rows[i] =
          amx::TileLoadOp::create(b, factorType, packed, ValueRange{batch, panel, pair, half});
    }
    SmallVector<Value> next;
    for (int64_t i = 0; i < 4; ++i)
      next.push_back(
          amx::TileMulFOp::create(b, sumType, factors[i / 2], rows[i % 2], accumulators[i]));
    return next;
  };
  // Through the copy: columns behind the last, k behind the end.
  auto multiplyCopied = [&](Value k, ValueRange accumulators) {
    buildFor(b, c0, math.constant(2 * tileRows), c1, [&](Value i) {
      SmallVector<Value> point = rhsPoint(batch, math.add(column, i));
      buildFor(b, c0, kTile, c1, [&](Value j) {
        Value kHere = math.add(k, j);
        buildIf(
            b, math.less(kHere, space.depth),
            [&] {
              point[c.k] = kHere;
              Value value = memref::LoadOp::create(b, c.rhs, space.access(c.rhsMap, point));
              memref::StoreOp::create(b, value, copy, ValueRange{i, j});
            },
            [&] {
              Value none = arith::ConstantOp::create(b, b.getFloatAttr(b.getBF16Type(), 0.0));
              memref::StoreOp::create(b, none, copy, ValueRange{i, j});
            });
      });
    });
    return multiply(
        copy, [&](Value half) { return SmallVector<Value>{half, c0}; }, k, accumulators);
  };
  auto loopOverK = [&](Value begin, Value end, ValueRange init, auto body) {
    auto loop = scf::ForOp::create(b, begin, end, kTile, init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  };

  // A zero of its own for each accumulator: a shared one would be copied through memory.
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i < 4; ++i)
    accumulators.push_back(amx::TileZeroOp::create(b, sumType));
  Value isWhole = math.lessEqual(math.add(column, math.constant(groupColumns)), space.columns);
  Value whole = math.mul(math.floorDiv(space.depth, kTile), kTile);
  whole = arith::SelectOp::create(b, isWhole, whole, c0);
  SmallVector<SmallVector<Value>> fetched = rowsOfNextTask(batch, column, panel);
  accumulators = loopOverK(c0, whole, accumulators, [&](Value k, ValueRange previous) {
    for (SmallVector<Value> &point : fetched) {
      point[c.k] = k;
      constexpr unsigned secondLevel = 2;
      memref::PrefetchOp::create(b, c.rhs, space.access(c.rhsMap, point), /*isWrite=*/false,
                                 secondLevel, /*isDataCache=*/true);
    }
    auto at = [&](Value half) {
      SmallVector<Value> point = space.point(math, batch, nullptr, math.add(column, half), k);
      return space.access(c.rhsMap, point);
    };
    return multiply(c.rhs, at, k, previous);
  });
  accumulators = loopOverK(whole, space.depth, accumulators, multiplyCopied);
  for (int64_t i = 0; i < 4; ++i)
    amx::TileStoreOp::create(b, sums, ValueRange{math.constant(i % 2), i / 2 ? lastTile : c0, c0},
                             accumulators[i]);
}

void StreamedFormBuilder::addToOutput(Value batch, Value column, Value panel) {
  Value lanes = math.constant(tile.lanes);
  auto maskType = VectorType::get({tile.lanes}, b.getI1Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  Value firstRow = math.mul(panel, math.constant(tile.columns()));
  buildFor(b, c0, math.constant(tile.vectors), c1, [&](Value half) {
    Value row = math.add(firstRow, math.mul(half, lanes));
    buildIf(b, math.less(row, space.rows), [&] {
      buildFor(b, c0, math.constant(groupColumns), lanes, [&](Value offset) {
        SmallVector<Value> square;
        for (int64_t i = 0; i < tile.lanes; ++i)
          square.push_back(vector::LoadOp::create(
              b, vectorType, sums, ValueRange{half, math.add(offset, math.constant(i)), c0}));
        transposeSquare(b, square);
        Value first = math.add(column, offset);
        Value mask = vector::CreateMaskOp::create(
            b, maskType, ValueRange{math.max(math.sub(space.columns, first), c0)});
        for (int64_t i = 0; i < tile.lanes; ++i) {
          Value m = math.add(row, math.constant(i));
          buildIf(b, math.less(m, space.rows), [&] {
            SmallVector<Value> at =
                space.access(c.outMap, space.point(math, batch, m, first, nullptr));
            Value sum = square[i];
            if (!c.zeros) {
              Value old = vector::MaskedLoadOp::create(b, vectorType, c.out, at, mask, none);
              sum = arith::AddFOp::create(b, old, sum);
            }
            vector::MaskedStoreOp::create(b, c.result(), at, mask, step.toResult(sum));
          });
        }
      });
    });
  });
}

} // namespace

bool usesAMX(const Contraction &c, const ContractionTile &tile) {
  if (!tile.amx || !multipliesPairs(c, tile) || tile.columns() != 2 * tileRows ||
      !Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.k) || c.rhsMap.getNumResults() < 2)
    return false;
  // A tile has one stride, that of the dimension in front of k.
  auto rows = dyn_cast<AffineDimExpr>(c.rhsMap.getResult(c.rhsMap.getNumResults() - 2));
  return rows && rows.getPosition() == c.n;
}

bool hasStreamedForm(const Contraction &c, const ContractionTile &tile) {
  Type type = getElementTypeOrSelf(c.rhs.getType());
  return Contraction::isContiguousAlong(c.rhs, c.rhsMap, c.k) &&
         (type == c.accumulator || multipliesPairs(c, tile));
}

Value buildStreamedBuffer(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                          const ContractionTile &tile, int64_t maxRows) {
  IndexMath math(b);
  PanelPacker packer(b, space, tile);
  return packer.allocateLhs(tile.columns(), math.min(space.rows, math.constant(maxRows)),
                            packer.paddedCount(usesAMX(space.c, tile) ? tileRows : 1));
}

void buildStreamedForm(ImplicitLocOpBuilder &b, const ContractionSpace &space,
                       const ContractionTile &tile, Value packed) {
  PanelPacker packer(b, space, tile);
  packer.packLhs(tile.columns(), packed, packer.paddedCount(usesAMX(space.c, tile) ? tileRows : 1));
  StreamedFormBuilder(b, space, tile, packed).compute();
}

} // namespace heddle
