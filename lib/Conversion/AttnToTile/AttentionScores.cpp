//===- AttentionScores.cpp - scores of a block of queries -----------------===//
//
//   s = scale q.k                       left out where no other term follows
//   s = softcap tanh(s / softcap)
//   s = region(s, batch, head, p, j)    ScoreRegion
//   s = s - slope |p - j| + bias
//   s = -inf   where key j is not visible from position p
//
// A tile has rows r = 0, 1, ... and columns c = 0, 1, ...; p - j is the same as (firstPosition - key) + r - c, without r where rows are
// heads. So rules about positions compare c with a number per row, and these numbers are small however long a sequence is.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "ScoreRegion.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace heddle;

bool AttentionScores::holdsScale() const {
  return form.scale > 0 && !form.softcap && !form.score && !form.has(AttentionPart::AlibiSlopes) &&
         !form.has(AttentionPart::Bias);
}

double AttentionScores::factor() const {
  return llvm::numbers::log2e * (holdsScale() ? form.scale : 1.0);
}

Tile AttentionScores::positions(Index first) {
  if (rows == ScoreRows::Heads)
    return emit.splat(first, shape);
  if (form.programHeads == 1)
    return emit.iota(shape, 0, first);
  return emit.periodicIota(shape, 0, form.blockQueries, first);
}

/// One row below the other of what `load` gives for each head of the program, if it differs from head to head.
Tile AttentionScores::ofEachHead(bool differs, llvm::function_ref<Tile(Index head)> load) {
  SmallVector<Tile> tiles;
  for (int64_t head = 0; head < form.programHeads; ++head)
    tiles.push_back(differs || head == 0 ? load(block.head + head) : tiles.front());
  return emit.below(tiles);
}

/// A tile of bias or mask, with dimensions of extent 1 repeated.
Tile AttentionScores::loadScores(AttentionPart part, Index key) {
  unsigned rowDim = rows == ScoreRows::Heads ? 1 : 2;
  // A row or one element for all heads needs no tiles below each other.
  if (rows == ScoreRows::Heads || (form.isBroadcast(part, 1) && form.isBroadcast(part, rowDim)))
    return loadScores(part, block.head, key, rowDim, shape);
  return ofEachHead(!form.isBroadcast(part, 1), [&](Index head) {
    return loadScores(part, head, key, rowDim, {form.blockQueries, shape[1]});
  });
}

Tile AttentionScores::loadScores(AttentionPart part, Index head, Index key, unsigned rowDim,
                                 ArrayRef<int64_t> shape) {
  Value start[] = {block.batch, head, block.firstQuery, key};
  SmallVector<Value> fixed, position;
  SmallVector<int64_t> kept, extents;
  for (unsigned dim = 0; dim < 4; ++dim) {
    bool isColumn = dim == 3;
    if (form.isBroadcast(part, dim)) {
      fixed.push_back(emit.index(0));
    } else if (dim == rowDim || isColumn) {
      kept.push_back(dim);
      extents.push_back(shape[isColumn]);
      position.push_back(start[dim]);
    } else {
      fixed.push_back(start[dim]);
    }
  }
  if (kept.empty())
    return emit.loadSplat(block[part], fixed, shape);
  Value view = tile::ViewOp::create(emit, block[part], fixed, kept);
  // Queries past the last one, and keys of the last block.
  Tile loaded = emit.load(view, position, extents, /*padded=*/true);
  if (kept.size() == 2)
    return loaded;
  return kept.front() == 3 ? emit.repeatRow(loaded, shape[0]) : emit.repeatColumn(loaded, shape[1]);
}

/// The slope of each row.
Tile AttentionScores::loadSlopes() {
  SmallVector<Value> fixed;
  if (form.type(AttentionPart::AlibiSlopes).getRank() == 2)
    fixed.push_back(block.batch);
  Value slopes = block[AttentionPart::AlibiSlopes];
  if (rows == ScoreRows::Queries) {
    auto load = [&](Index head, TileEmitter::Extents extents) {
      SmallVector<Value> indices(fixed);
      indices.push_back(head);
      return emit.loadSplat(slopes, indices, extents);
    };
    if (form.programHeads == 1)
      return load(block.head, shape);
    Tile ofRows =
        ofEachHead(/*differs=*/true, [&](Index head) { return load(head, form.blockQueries); });
    return emit.repeatColumn(ofRows, shape[1]);
  }
  int64_t headDim = fixed.size();
  Value view = tile::ViewOp::create(emit, slopes, fixed, headDim);
  Tile ofHeads = emit.load(view, ValueRange(block.head), shape[0], /*padded=*/false);
  return emit.repeatColumn(ofHeads, shape[1]);
}

/// |p - j| as floats.
Tile AttentionScores::distances(Index key) {
  Tile relative = emit.toFloat(positions(block.firstPosition - key));
  return abs(relative - emit.toFloat(emit.iota(shape, 1, emit.index(0))));
}

/// A window that begins so far left of its query that blocks before it, and its first blocks, end left of it, too.
bool AttentionScores::mayLackKeys(KeyBlock kind) const {
  if (kind == KeyBlock::Global)
    return form.left < form.edgeKeys - 2;
  return kind == KeyBlock::Last || kind == KeyBlock::Any ||
         (kind == KeyBlock::First && form.left < reachOfFirst());
}

Tile AttentionScores::isBelow(Tile columns, Index end) {
  return atMost(columns, emit.splat(end - 1, shape));
}

/// The conjunction of all rules of visibility that such a block needs.
std::optional<Tile> AttentionScores::visible(Index key, KeyBlock kind) {
  std::optional<Tile> all;
  auto require = [&](Tile condition) { all = all ? both(*all, condition) : condition; };
  if (form.has(AttentionPart::Mask))
    require(loadScores(AttentionPart::Mask, key));
  if (kind == KeyBlock::Inside)
    return all;
  Tile column = emit.iota(shape, 1, emit.index(0));
  if (kind == KeyBlock::Global) {
    require(isBelow(column, *block.globalEnd - key));
    return all;
  }
  Index first = block.firstPosition - key;
  // Blocks at one end of a window reach its other end only if it is short.
  bool isFirst = kind == KeyBlock::First;
  bool needsRight = !isFirst || form.left + form.right < reachOfFirst();
  if (form.isRightBounded() && needsRight)
    require(atMost(column, positions(first + form.right)));
  if (isFirst || (kind == KeyBlock::Any && form.isLeftBounded())) {
    Tile isNear = atMost(positions(first - form.left), column);
    if (form.globalKeys)
      isNear = either(isNear, isBelow(column, emit.index(form.globalKeys) - key));
    require(isNear);
  }
  // A query's own position is below the number of keys.
  if (form.right != 0 && mayLackKeys(kind))
    require(isBelow(column, block.keys - key));
  return all;
}

/// Which queries see some of the columns [begin, end) of the block; none where all do. No block is past the last key, but parts may be.
std::optional<Tile> AttentionScores::seeSomeOf(Index key, KeyBlock kind, int64_t begin,
                                               int64_t end) {
  int64_t queries = shape.front();
  auto limit = [&](Index number) { return emit.splat(number, queries); };
  auto positionsOf = [&](Index first) { return emit.iota(queries, 0, first); };
  std::optional<Tile> all;
  auto require = [&](Tile condition) { all = all ? both(*all, condition) : condition; };
  Index first = block.firstPosition - key;
  bool isFirst = kind == KeyBlock::First, isPart = end - begin < keysOf(kind);
  if (isFirst) {
    Tile isNear = atMost(positionsOf(first - form.left), limit(emit.index(end - 1)));
    if (form.globalKeys)
      isNear = either(isNear, atMost(limit(key + begin), limit(emit.index(form.globalKeys - 1))));
    require(isNear);
  }
  bool reachesRight =
      kind == KeyBlock::Last || (isFirst && form.left + form.right < reachOfFirst());
  if (form.isRightBounded() && reachesRight)
    require(atMost(limit(emit.index(begin)), positionsOf(first + form.right)));
  if (isPart && kind == KeyBlock::Global)
    require(atMost(limit(emit.index(begin)), limit(*block.globalEnd - key - 1)));
  else if (isPart && form.right != 0 && mayLackKeys(kind))
    require(atMost(limit(emit.index(begin)), limit(block.keys - key - 1)));
  return all;
}

SmallVector<Value> AttentionScores::seeSome(Index key, KeyBlock kind, int64_t parts) {
  SmallVector<Value> conditions;
  int64_t size = keysOf(kind) / parts;
  for (int64_t begin = 0; begin < keysOf(kind); begin += size)
    if (std::optional<Tile> some = seeSomeOf(key, kind, begin, begin + size))
      conditions.push_back(*some);
  return conditions;
}

Tile AttentionScores::apply(Tile products, Index key, KeyBlock kind) {
  Tile s = products;
  shape.back() = products.getType().getDimSize(1);
  if (!holdsScale())
    s = form.softcap ? tanh(s * (form.scale / *form.softcap)) * *form.softcap : s * form.scale;
  if (form.score) {
    Tile query = positions(block.firstPosition), keys = emit.iota(shape, 1, key);
    Value head = rows == ScoreRows::Heads ? Value(emit.iota(shape, 0, block.head)) : block.head;
    SmallVector<Value> arguments{s, block.batch, head, query, keys};
    llvm::append_range(arguments, block.captures);
    s = emitScoreRegion(emit, *form.score, s, arguments);
  }
  if (form.has(AttentionPart::AlibiSlopes))
    s = s - loadSlopes() * distances(key);
  if (form.has(AttentionPart::Bias))
    s = s + loadScores(AttentionPart::Bias, key).to(emit.getF32Type());
  if (std::optional<Tile> isVisible = visible(key, kind))
    s = select(*isVisible, s, s.constant(-std::numeric_limits<double>::infinity()));
  return s;
}
