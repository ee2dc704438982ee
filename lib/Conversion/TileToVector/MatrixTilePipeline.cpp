//===- MatrixTilePipeline.cpp - products beside what is computed in between ===//
//
// In an online softmax whose queries are lanes, a product gives scores, vectors make weights of them, and a second product multiplies the
// weights, rounded to bf16. Matrix tiles are multiplied by a unit of their own, so that vectors cost nothing while it is busy, if
// instructions for both are near each other: a CPU looks some 500 ahead, and the weights of 32 keys and 32 queries take 800.
//
// All that lies between the two products treats each column by itself (`columnChainFrom`). So it is done for panels of 32 columns, whose
// scores and weights stay in the L1 cache, and panels pass through three stages:
//
//   scores(0)
//   for each panel p:
//     reductions of the scores, and what else the weights need
//     scores(p + 1)   beside   weights of the first half of the rows of p
//     values(p - 1)   beside   weights of the second half of the rows of p
//     the accumulator of values(p), such as its decay
//   values(last)
//
// "Beside" means that each step along k of 2 x 2 tiles is followed by an equal share of the rows. Scores and weights of two panels are
// under way, in two buffers each. Weights are rounded, interleaved in pairs of rows and added up as they are computed.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Emits the loops of one chain.
class ChainPipeline {
public:
  ChainPipeline(TileLowering &lowering, TileLowering::ColumnChain &chain)
      : t(lowering), b(lowering.b), math(lowering.math), chain(chain),
        rows(chain.first.getType().getDimSize(0)), columns(chain.first.getType().getDimSize(1)),
        values(chain.last.getType().getDimSize(0)) {}

  void emit();

private:
  static constexpr int64_t panelColumns = TileLowering::panelColumns;

  void place();
  void emitPanel(Value panel, int64_t panels);
  void computeColumn(Operation *op);
  void computeRows(Value tile, MutableArrayRef<tile::ReduceOp> reductions, bool isStored);
  SmallVector<Value> neutrals(MutableArrayRef<tile::ReduceOp> reductions);
  void storeReduced(MutableArrayRef<tile::ReduceOp> reductions, ValueRange values);
  void computeWeights(Value firstPair, Value endPair);
  void startSums();
  bool fetches(Value tile);
  void fetchNext(tile::LoadOp load, Value pair);
  void multiplyScores(Value panel, function_ref<void(Value)> beside);
  void multiplyValues(Value panel, function_ref<void(Value)> beside);
  void eachBlock(int64_t extent, int64_t steps, function_ref<void(Value)> beside,
                 function_ref<void(Value, function_ref<void(Value)>)> multiply);
  void packValues();
  void computeAcc(Value from, Value to);
  std::function<void(Value)> share(int64_t extent, int64_t number,
                                   std::function<void(Value, Value)> work);

  int64_t scoreSteps() { return rows / panelColumns * t.matrixSteps(chain.first); }
  int64_t valueSteps() { return values / panelColumns * t.matrixSteps(chain.last); }
  int64_t lanes() const { return t.target.lanes; }
  int64_t vectors() const { return panelColumns / lanes(); }
  Value columnOf(Value panel) { return math.mul(panel, math.constant(panelColumns)); }
  /// Where a panel's half of a buffer for two begins.
  Value halfOf(Value panel, int64_t rows) {
    return math.mul(math.rem(panel, math.constant(2)), math.constant(rows));
  }
  Value pointColumn(int64_t v) { return math.add(columnOf(panel), math.constant(v * lanes())); }
  TilePoint pointAt(Value row, int64_t v);
  SmallVector<Value> placeIn(Value row, int64_t v) { return {row, math.constant(v * lanes())}; }

  TileLowering &t;
  ImplicitLocOpBuilder &b;
  IndexMath &math;
  TileLowering::ColumnChain &chain;
  int64_t rows, columns, values;
  bool packsValues = false;
  bool isAccLate = false;              ///< whether the accumulator needs sums of weights
  Value left, right, valueTiles, sums; ///< factors, and the result of the last product
  Value scores, weights;               ///< of two panels
  llvm::MapVector<Value, Value>
      panelTiles; ///< tiles of the panel at hand, by the buffer they are in
  SmallVector<tile::ReduceOp> weightSums;
  SmallVector<tile::LoadOp> nextLoads; ///< of factors, whose rows for the next trip are fetched
  SmallVector<Operation *> before,
      after; ///< columns that do not, and that do, need sums of weights
  Value panel;
};

LogicalResult TileLowering::lowerColumnChain(ColumnChain &chain) {
  // Loads and the like come first; the chain does not change what they read. Chains are not nested.
  isInChain = true;
  for (Operation *op : chain.others) {
    if (!lowered.contains(op) && failed(lowerOp(op)))
      return failure();
    lowered.insert(op);
  }
  isInChain = false;
  b.setLoc(chain.first.getLoc());
  ChainPipeline(*this, chain).emit();
  lowered.insert(chain.between.begin(), chain.between.end());
  lowered.insert(chain.last);
  return success();
}

/// Chooses buffers, and what of a chain is computed when.
void ChainPipeline::place() {
  left = t.leftTiles(chain.first);
  right = t.rightPairs(chain.first);
  packsValues = t.packsSquares(chain.last);
  valueTiles =
      packsValues ? t.temporary({values, rows / 2}, b.getI32Type()) : t.leftTiles(chain.last);
  sums = t.bindSums(chain.last);
  scores = t.temporary({2 * rows, panelColumns}, b.getF32Type());
  weights = t.temporary({rows, panelColumns}, b.getI32Type());
  for (Operation *op : chain.between) {
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    bool addsWeights = chain.addsWeights(op);
    Value result = op->getResult(0);
    if (tileType(result).getRank() == 1 && (reduce || !isVirtual(result)))
      t.bind(result);
    if (addsWeights)
      weightSums.push_back(reduce);
    else if (!isVirtual(result) && result != chain.weights)
      (chain.needsSums.contains(op) ? after : before).push_back(op);
  }
  for (Value factor : {chain.first.getA(), chain.last.getA()})
    if (fetches(factor))
      nextLoads.push_back(factor.getDefiningOp<tile::LoadOp>());
  isAccLate = chain.needsSums.contains(chain.last.getAcc().getDefiningOp());
}

void ChainPipeline::emit() {
  place();
  int64_t panels = columns / panelColumns;
  packValues();
  buildFor(b, math.constant(0), math.constant(panels), math.constant(1),
           [&](Value number) { emitPanel(number, panels); });
  multiplyValues(math.constant(panels - 1), nullptr);
}

void ChainPipeline::emitPanel(Value number, int64_t panels) {
  panel = number;
  panelTiles.clear();
  panelTiles[chain.first.getResult()] = scores;
  llvm::SmallPtrSet<Operation *, 4> done;
  for (Operation *op : before) {
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    Value result = op->getResult(0);
    if (!reduce && tileType(result).getRank() == 1) {
      computeColumn(op);
      continue;
    }
    if (done.contains(op))
      continue;
    SmallVector<tile::ReduceOp> reductions;
    if (reduce) {
      reductions.push_back(reduce);
    } else {
      for (Operation *user : result.getUsers())
        if (auto other = dyn_cast<tile::ReduceOp>(user))
          reductions.push_back(other);
    }
    done.insert(reductions.begin(), reductions.end());
    computeRows(reduce ? reduce.getInput() : result, reductions, /*isStored=*/!reduce);
  }
  startSums();
  int64_t half = rows / 4;
  auto firstHalf = [&](Value from, Value to) { computeWeights(from, to); };
  auto secondHalf = [&](Value from, Value to) {
    Value offset = math.constant(half);
    computeWeights(math.add(offset, from), math.add(offset, to));
  };
  Value zero = math.constant(0), one = math.constant(1);
  Value next = math.add(panel, one), previous = math.sub(panel, one);
  buildIf(
      b, math.less(next, math.constant(panels)),
      [&] {
        auto besideWeights = share(half, scoreSteps(), firstHalf);
        auto besideAcc =
            share(values, scoreSteps(), [&](Value from, Value to) { computeAcc(from, to); });
        multiplyScores(next, [&](Value step) {
          besideWeights(step);
          if (!isAccLate)
            besideAcc(step);
        });
      },
      [&] {
        firstHalf(zero, math.constant(half));
        if (!isAccLate)
          computeAcc(zero, math.constant(values));
      });
  buildIf(
      b, math.less(zero, panel),
      [&] { multiplyValues(previous, share(half, valueSteps(), secondHalf)); },
      [&] { secondHalf(zero, math.constant(half)); });
  for (Operation *op : after)
    computeColumn(op);
  if (isAccLate)
    computeAcc(math.constant(0), math.constant(values));
}

/// The first product of the first panel, and beside it the left factor of the last one, if it is made here.
void ChainPipeline::packValues() {
  Value first = math.constant(0);
  if (!packsValues)
    return multiplyScores(first, nullptr);
  int64_t across = values / panelColumns;
  multiplyScores(
      first, share(rows / panelColumns * across, scoreSteps(), [&](Value from, Value to) {
        buildFor(b, from, to, math.constant(1), [&](Value square) {
          Value size = math.constant(panelColumns), count = math.constant(across);
          t.transposeBF16Square(chain.last.getA(), math.mul(math.floorDiv(square, count), size),
                                math.mul(math.rem(square, count), size), valueTiles);
        });
      }));
}

/// The accumulator of the last product, where its result will be.
void ChainPipeline::computeAcc(Value from, Value to) {
  Value acc = chain.last.getAcc();
  if (!isVirtual(acc) && t.buffers.lookup(acc) == sums)
    return;
  buildFor(b, from, to, math.constant(1), [&](Value row) {
    for (int64_t v = 0; v < vectors(); ++v) {
      TilePoint point = pointAt(row, v);
      Value stored = t.evalStored(acc, point);
      vector::StoreOp::create(b, stored, sums, ValueRange{point.row, point.column});
    }
  });
}

/// Work on `extent` things as work beside `number` steps, in equal shares.
std::function<void(Value)> ChainPipeline::share(int64_t extent, int64_t number,
                                                std::function<void(Value, Value)> work) {
  auto boundary = [this, extent, number](Value step) {
    return extent % number == 0
               ? math.mul(step, math.constant(extent / number))
               : math.floorDiv(math.mul(step, math.constant(extent)), math.constant(number));
  };
  return [=](Value step) { work(boundary(step), boundary(math.add(step, math.constant(1)))); };
}

/// A point of the panel, at vector `v` of it. Tiles of the panel are known there.
TilePoint ChainPipeline::pointAt(Value row, int64_t v) {
  TilePoint point{row, pointColumn(v), lanes()};
  for (auto [tile, buffer] : panelTiles) {
    Value at = buffer == scores ? math.add(halfOf(panel, rows), row) : row;
    point.known[tile] =
        vector::LoadOp::create(b, t.vectorOf(b.getF32Type()), buffer, placeIn(at, v));
  }
  return point;
}

/// An elementwise op on columns, or a reduction of weights that has been done.
void ChainPipeline::computeColumn(Operation *op) {
  Value result = op->getResult(0);
  Type element = tileType(result).getElementType();
  for (int64_t v = 0; v < vectors(); ++v) {
    TilePoint point = pointAt(math.constant(0), v);
    vector::StoreOp::create(b, t.toStorage(t.evalVirtual(result, point), element),
                            t.buffers.lookup(result), ValueRange{point.row, point.column});
  }
}

/// Where reductions of the panel begin: the vectors of each, one after the other.
SmallVector<Value> ChainPipeline::neutrals(MutableArrayRef<tile::ReduceOp> reductions) {
  SmallVector<Value> values;
  for (tile::ReduceOp reduce : reductions)
    values.append(vectors(), t.neutral(reduce.getKind(), t.vectorOf(b.getF32Type())));
  return values;
}

/// Stores such vectors to the panel's columns of the reductions' buffers.
void ChainPipeline::storeReduced(MutableArrayRef<tile::ReduceOp> reductions, ValueRange values) {
  for (auto [r, reduce] : llvm::enumerate(reductions))
    for (int64_t v = 0; v < vectors(); ++v)
      vector::StoreOp::create(b, values[r * vectors() + v], t.buffers.lookup(reduce.getResult()),
                              ValueRange{math.constant(0), pointColumn(v)});
}

/// Computes a tile of the panel and reductions of it, four rows at a time, which are reduced among each other first.
void ChainPipeline::computeRows(Value tile, MutableArrayRef<tile::ReduceOp> reductions,
                                bool isStored) {
  constexpr int64_t rowsAtOnce = 4;
  Value buffer;
  if (isStored) {
    // In place of the scores, if nothing else reads them.
    llvm::SetVector<Value> leaves;
    bool samePlace = true;
    for (Value operand : tile.getDefiningOp()->getOperands())
      collectLeaves(operand, leaves, samePlace);
    Value first = chain.first.getResult();
    bool replaces = samePlace && leaves.contains(first) &&
                    lastRead(first, first.getParentBlock()) == tile.getDefiningOp();
    buffer = replaces ? scores : t.temporary({rows, panelColumns}, b.getF32Type());
  }
  SmallVector<Value> inits = neutrals(reductions);
  auto loop = scf::ForOp::create(b, math.constant(0), math.constant(rows),
                                 math.constant(rowsAtOnce), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (int64_t v = 0; v < vectors(); ++v) {
      SmallVector<Value> computed;
      for (int64_t i = 0; i < rowsAtOnce; ++i) {
        Value row = math.add(loop.getInductionVar(), math.constant(i));
        TilePoint point = pointAt(row, v);
        computed.push_back(isStored ? t.evalVirtual(tile, point) : t.eval(tile, point));
        if (isStored) {
          Value at = buffer == scores ? math.add(halfOf(panel, rows), row) : row;
          vector::StoreOp::create(b, computed.back(), buffer, placeIn(at, v));
        }
      }
      for (auto [r, reduce] : llvm::enumerate(reductions)) {
        SmallVector<Value> level(computed);
        for (; level.size() > 1; level.resize(level.size() / 2))
          for (size_t i = 0; i < level.size() / 2; ++i)
            level[i] = t.combine(reduce.getKind(), level[2 * i], level[2 * i + 1]);
        Value &partial = next[r * vectors() + v];
        partial = t.combine(reduce.getKind(), partial, level[0]);
      }
    }
    if (!inits.empty())
      scf::YieldOp::create(b, next);
  }
  storeReduced(reductions, loop.getResults());
  if (isStored) {
    if (buffer == scores)
      panelTiles.erase(chain.first.getResult());
    panelTiles[tile] = buffer;
  }
}

/// The sums of weights begin anew with each panel.
void ChainPipeline::startSums() { storeReduced(weightSums, neutrals(weightSums)); }

/// Weights of some pairs of rows, rounded and interleaved, and their sums.
void ChainPipeline::computeWeights(Value firstPair, Value endPair) {
  VectorType type = t.vectorOf(b.getF32Type());
  SmallVector<Value> partial;
  for (tile::ReduceOp reduce : weightSums)
    for (int64_t v = 0; v < vectors(); ++v)
      partial.push_back(vector::LoadOp::create(b, type, t.buffers.lookup(reduce.getResult()),
                                               ValueRange{math.constant(0), pointColumn(v)}));
  auto loop = scf::ForOp::create(b, firstPair, endPair, math.constant(1), partial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value pair = loop.getInductionVar(), row = math.mul(pair, math.constant(2));
    for (tile::LoadOp load : nextLoads)
      fetchNext(load, pair);
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (int64_t v = 0; v < vectors(); ++v) {
      TilePoint low = pointAt(row, v), high = pointAt(math.add(row, math.constant(1)), v);
      Value x = t.evalVirtual(chain.weights, low), y = t.evalVirtual(chain.weights, high);
      vector::StoreOp::create(b, t.interleaveRounded(x, y), weights,
                              placeIn(math.add(halfOf(panel, rows / 2), pair), v));
      for (auto [r, reduce] : llvm::enumerate(weightSums)) {
        Value &sum = next[r * vectors() + v];
        sum = t.combine(reduce.getKind(), sum, t.combine(reduce.getKind(), x, y));
      }
    }
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  storeReduced(weightSums, loop.getResults());
}

/// Of the rows that the next trip loads, the part that falls to one of the pairs of all panels.
void ChainPipeline::fetchNext(tile::LoadOp load, Value pair) {
  constexpr int64_t lineBytes = 64;
  RankedTensorType type = load.getType();
  int64_t width = 8 * lineBytes / type.getElementTypeBitWidth(), lines = type.getDimSize(1) / width;
  int64_t shares = columns / panelColumns * (rows / 2), count = rows * lines / shares;
  Value number = math.add(math.mul(panel, math.constant(rows / 2)), pair);
  Value line = math.mul(number, math.constant(count));
  Value first = math.floorDiv(line, math.constant(lines));
  Value column = math.mul(math.rem(line, math.constant(lines)), math.constant(width));
  for (int64_t i = 0; i < count; i += lines) {
    Value row = math.add(math.add(t.scalar(load.getIndices()[0]), first), math.constant(i / lines));
    SmallVector<Value> at = t.rowAhead(load, row, rows);
    for (int64_t j = 0; j < std::min(count, lines); ++j)
      t.fetch(t.views.lookup(load.getView()).source, at,
              unsigned(t.views.lookup(load.getView()).columnDim),
              math.add(column, math.constant(j * width)), 0);
  }
}

/// Whether rows of a load can be fetched in equal shares, without a table that says where they are.
bool ChainPipeline::fetches(Value tile) {
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (!load || load.getPad() || load->getBlock() != chain.first->getBlock())
    return false;
  const TileView &view = t.views[load.getView()];
  RankedTensorType type = load.getType();
  int64_t width = 512 / type.getElementTypeBitWidth(), lines = type.getDimSize(1) / width;
  int64_t shares = columns / panelColumns * (rows / 2), all = rows * lines;
  return view.hasVectors() && !view.table && type.getDimSize(0) == rows &&
         type.getDimSize(1) % width == 0 && all % shares == 0 &&
         (lines % (all / shares) == 0 || all / shares % lines == 0);
}

/// The first product of a panel. `beside` gets the number of a step.
void ChainPipeline::multiplyScores(Value panel, function_ref<void(Value)> beside) {
  int64_t steps = t.matrixSteps(chain.first);
  eachBlock(rows, steps, beside, [&](Value row, function_ref<void(Value)> besideStep) {
    Value to = math.add(halfOf(panel, rows), row);
    TileLowering::TileBlock block{left,
                                  row,
                                  right,
                                  math.constant(0),
                                  columnOf(panel),
                                  scores,
                                  to,
                                  math.constant(0),
                                  /*startsFromZero=*/true};
    t.multiplyBlock(block, 2, 2, steps, besideStep);
  });
}

/// The last product of a panel.
void ChainPipeline::multiplyValues(Value panel, function_ref<void(Value)> beside) {
  int64_t steps = t.matrixSteps(chain.last);
  eachBlock(values, steps, beside, [&](Value row, function_ref<void(Value)> besideStep) {
    TileLowering::TileBlock block{valueTiles,
                                  row,
                                  weights,
                                  halfOf(panel, rows / 2),
                                  math.constant(0),
                                  sums,
                                  row,
                                  columnOf(panel),
                                  /*startsFromZero=*/false};
    t.multiplyBlock(block, 2, 2, steps, besideStep);
  });
}

void ChainPipeline::eachBlock(int64_t extent, int64_t steps, function_ref<void(Value)> beside,
                              function_ref<void(Value, function_ref<void(Value)>)> multiply) {
  buildFor(b, math.constant(0), math.constant(extent / panelColumns), math.constant(1),
           [&](Value number) {
             Value row = math.mul(number, math.constant(panelColumns));
             if (!beside)
               return multiply(row, nullptr);
             multiply(row, [&](Value step) {
               beside(math.add(math.mul(number, math.constant(steps)), step));
             });
           });
}

} // namespace heddle
