//===- AttentionKernel.cpp - builds the kernel of softmax attention -------===//
//
// A program computes a block of queries of one head, or of some heads of one key head, one below the other, by an online softmax
// (AttentionSoftmax.cpp; arXiv 2307.08691) over blocks of keys that some query of the block sees. AttentionScores gives their scores.
//
// Keys are walked in ranges. With firstPosition p0 and lastPosition p1 of the queries, and a window [left, right]:
//
//   First   [begin, fullBegin)    some queries see them  from p0 - left        masked
//   Inside  [fullBegin, fullEnd)  all queries see them   whole blocks          not masked, never past the last key
//   Last    [fullEnd, end)        some queries see them  to p1 + right         masked, padded with 0
//
// Global keys, which the left limit does not hide, come before these where they are left of begin: all queries see them. Those from begin
// on are visible in the blocks of the window.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"
#include "AttentionScores.h"
#include "AttentionSoftmax.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace heddle;

using Part = AttentionPart;

/// Keys of a block of which products alone are left out as a whole; with more, ptxas moves registers in the loop that is not masked.
constexpr int64_t mostProductKeys = 64;

namespace {

struct KeyRange {
  Index begin, fullBegin, fullEnd, end;
};

class AttentionKernel {
public:
  AttentionKernel(TileEmitter &emit, const AttentionForm &form, ValueRange arguments)
      : emit(emit), form(form), block(locate(arguments)), scores(emit, form, block),
        softmax(emit, form, form.blockQueries * form.programHeads) {}

  void run() {
    keyRows = keyRowsOf(Part::Key, form.keyDim);
    valueRows = keyRowsOf(Part::Value, form.valueDim);
    zero = emit.index(0);
    SmallVector<Tile> ofHeads;
    for (int64_t head = 0; head < form.programHeads; ++head) {
      Value rows = rowsOf(Part::Query, block.head + head, block.queries, form.keyDim);
      ofHeads.push_back(emit.load(rows, {block.firstQuery, zero},
                                  {form.blockQueries, form.keyColumns}, /*padded=*/true));
    }
    queries = emit.below(ofHeads).to(form.scoreType());

    RunningSoftmax state = softmax.start();
    eachRange(
        [&](Index begin, Index end, KeyBlock kind) { state = visit(begin, end, kind, state); });
    store(state);
  }

  ArrayAttr neededFlops() const;

private:
  AttentionBlock locate(ValueRange arguments);
  KeyRange visibleKeys();
  void eachRange(llvm::function_ref<void(Index begin, Index end, KeyBlock kind)> visitRange);
  RunningSoftmax visit(Index begin, Index end, KeyBlock kind, const RunningSoftmax &before);
  RunningSoftmax step(Index key, KeyBlock kind, const RunningSoftmax &before);
  /// Whether the maximum moves beyond a margin only. In masked blocks it rises anyway.
  bool hasMargin(KeyBlock kind) const { return form.rescaleMargin > 0 && kind == KeyBlock::Inside; }
  Tile keyScores(Index key, KeyBlock kind);
  Tile load(Value rows, Index key, KeyBlock kind, int64_t dim, int64_t columns);
  Tile firstKeyScores(const RunningSoftmax &after);
  Tile largestScores(const RunningSoftmax &after);
  void store(const RunningSoftmax &after);

  Value rowsOf(Part part, Index head, Index extent, int64_t columns) {
    return emit.rowsOf(block[part], block.batch, head, extent, columns);
  }

  Value keyRowsOf(Part part, int64_t columns) {
    if (!form.has(Part::BlockTable))
      return rowsOf(part, block.keyHead, block.keys, columns);
    return emit.pagedRowsOf(block[part], block[Part::BlockTable], block.batch, block.keyHead,
                            block.keys, columns);
  }

  TileEmitter &emit;
  const AttentionForm &form;
  Value added; // to the lengths, if there is such a number
  AttentionBlock block;
  AttentionScores scores;
  AttentionSoftmax softmax;
  Value keyRows, valueRows, zero, queries;
};

} // namespace

/// The last block of queries comes first: with a causal mask it has the most keys.
AttentionBlock AttentionKernel::locate(ValueRange arguments) {
  std::array<Value, numAttentionParts> parts;
  SmallVector<Value> captures(form.captures.size());
  auto next = [&] {
    Value argument = arguments.front();
    arguments = arguments.drop_front();
    return argument;
  };
  auto takeCaptures = [&](bool areTensors) {
    for (auto [type, capture] : llvm::zip_equal(form.captures, captures))
      if (isa<RankedTensorType>(type) == areTensors)
        capture = next();
  };
  for (auto [number, part] : llvm::enumerate(parts)) {
    if (Part(number) == Part::Output) {
      takeCaptures(/*areTensors=*/true);
      if (form.hasAddedKeys)
        added = next();
      takeCaptures(/*areTensors=*/false);
    }
    if (form.types[number])
      part = next();
  }
  auto dim = [&](Part part, int64_t which) { return emit.dim(parts[unsigned(part)], which); };

  Index numQueries = dim(Part::Query, 1), heads = dim(Part::Query, 2);
  Index keyHeads = dim(Part::Key, 2);
  Index blocks = (numQueries + (form.blockQueries - 1)) / form.blockQueries;
  Index program = emit.programId(tile::Axis::X);
  Index flatHead = program / blocks * form.programHeads;
  Index batch = flatHead / heads, head = flatHead % heads;
  Index firstQuery = (blocks - 1 - program % blocks) * form.blockQueries;
  Index endQuery = min(firstQuery + form.blockQueries, numQueries);
  Index keys = form.has(Part::KvLen)
                   ? emit.loadIndex(parts[unsigned(Part::KvLen)], ValueRange(batch))
                   : dim(Part::Key, 1);
  if (added)
    keys = keys + emit.index(added);
  if (form.limitsKeys) {
    Index most = dim(Part::Key, 1);
    if (form.has(Part::BlockTable))
      most = most * dim(Part::BlockTable, 1);
    keys = min(max(keys, 0), most);
  }
  Index shift = keys - numQueries;
  std::optional<Index> globalEnd;
  if (form.globalKeys)
    globalEnd = min(max(shift + firstQuery - form.left, 0), emit.index(form.globalKeys));
  return {parts,
          batch,
          head,
          head / (heads / keyHeads),
          numQueries,
          keys,
          firstQuery,
          shift + firstQuery,
          shift + endQuery - 1,
          globalEnd,
          captures};
}

KeyRange AttentionKernel::visibleKeys() {
  Index begin = emit.index(0), end = block.keys;
  Index fullBegin = begin, allTo = end;
  if (form.isLeftBounded()) {
    begin = max(block.firstPosition - form.left, 0);
    Index partial = max(block.lastPosition - form.left, 0) - begin;
    fullBegin = begin + (partial + (form.edgeKeys - 1)) / form.edgeKeys * form.edgeKeys;
  }
  if (form.isRightBounded()) {
    end = min(end, block.lastPosition + (form.right + 1));
    allTo = min(allTo, block.firstPosition + (form.right + 1));
  }
  Index full = max(allTo - fullBegin, 0) / form.blockKeys * form.blockKeys;
  return {begin, fullBegin, fullBegin + full, end};
}

/// Hands over the ranges in their order, all of which some query of the block sees.
void AttentionKernel::eachRange(
    llvm::function_ref<void(Index begin, Index end, KeyBlock kind)> visitRange) {
  KeyRange range = visibleKeys();
  if (block.globalEnd)
    visitRange(emit.index(0), *block.globalEnd, KeyBlock::Global);
  if (form.isLeftBounded())
    visitRange(range.begin, min(range.fullBegin, range.end), KeyBlock::First);
  visitRange(range.fullBegin, range.fullEnd, KeyBlock::Inside);
  visitRange(range.fullEnd, range.end, KeyBlock::Last);
}

/// A loop over blocks of keys. Where the maximum seldom moves, its negative is carried, which is what scores are added to.
RunningSoftmax AttentionKernel::visit(Index begin, Index end, KeyBlock kind,
                                      const RunningSoftmax &before) {
  bool negates = hasMargin(kind);
  auto loop = scf::ForOp::create(
      emit, begin, end, emit.index(scores.keysOf(kind)),
      ValueRange{before.acc, negates ? -before.maximum : before.maximum, before.sum});
  auto stateOf = [&](ValueRange values) {
    return RunningSoftmax{emit.tile(values[0]), emit.tile(values[1]), emit.tile(values[2])};
  };
  {
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    RunningSoftmax after =
        step(emit.index(loop.getInductionVar()), kind, stateOf(loop.getRegionIterArgs()));
    scf::YieldOp::create(emit, ValueRange{after.acc, after.maximum, after.sum});
  }
  RunningSoftmax after = stateOf(loop.getResults());
  if (negates)
    after.maximum = -after.maximum;
  return after;
}

/// A block of keys or values.
Tile AttentionKernel::load(Value rows, Index key, KeyBlock kind, int64_t dim, int64_t columns) {
  bool padded = scores.mayLackKeys(kind) || columns != dim;
  return emit.load(rows, {key, zero}, {scores.keysOf(kind), columns}, padded);
}

Tile AttentionKernel::keyScores(Index key, KeyBlock kind) {
  Tile keyTile = load(keyRows, key, kind, form.keyDim, form.keyColumns);
  int64_t rows = form.blockQueries * form.programHeads;
  Tile products = emit.dotTransposed(emit.tile(queries), keyTile.to(form.scoreType()),
                                     emit.filled({rows, scores.keysOf(kind)}, 0.0), form.precision);
  return scores.apply(products, key, kind);
}

RunningSoftmax AttentionKernel::step(Index key, KeyBlock kind, const RunningSoftmax &before) {
  // On GPUs warps have rows of their own. Scores of -inf leave a row as it is. Without a margin, which is as if each trip were masked,
  // registers do not suffice everywhere for leaving out more than products.
  if (form.warps) {
    auto skipUnless = [&](ArrayRef<Value> seeSome, bool onlyProducts) {
      if (!seeSome.empty())
        tile::SkipUnlessOp::create(emit, seeSome, onlyProducts);
    };
    bool skipsTrips = form.rescaleMargin > 0;
    if (form.edgeParts > 1 || (!skipsTrips && form.edgeKeys <= mostProductKeys))
      skipUnless(scores.seeSome(key, kind, form.edgeParts), /*onlyProducts=*/true);
    if (skipsTrips)
      skipUnless(scores.seeSome(key, kind, 1), /*onlyProducts=*/false);
  }
  Tile s = keyScores(key, kind);
  auto values = [&] { return load(valueRows, key, kind, form.valueDim, form.valueColumns); };
  return hasMargin(kind) ? softmax.addWithMargin(before, s, scores.factor(), values)
                         : softmax.add(before, s, scores.factor(), values);
}

/// The scores of key 0, scaled like the maximum; -inf where it is hidden. A block of keys is computed once more, so that the loops carry
/// nothing for it; by a loop of at most one trip, since there may be no key.
Tile AttentionKernel::firstKeyScores(const RunningSoftmax &after) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  auto loop =
      scf::ForOp::create(emit, emit.index(0), min(block.keys, emit.index(1)),
                         emit.index(form.blockKeys), ValueRange(after.maximum.constant(hidden)));
  {
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    Tile s = keyScores(emit.index(loop.getInductionVar()), KeyBlock::Any);
    ArrayRef<int64_t> shape = s.getType().getShape();
    Tile isFirst = atMost(emit.iota(shape, 1, emit.index(0)), emit.splat(emit.index(0), shape));
    scf::YieldOp::create(emit, ValueRange(emit.rowMax(select(isFirst, s, s.constant(hidden)))));
  }
  return emit.tile(loop.getResult(0)) * scores.factor();
}

/// The largest scores, scaled like the maximum; -inf without keys. All keys are walked once more: so the loops for the output carry
/// nothing for it, and give the same bits as without it.
Tile AttentionKernel::largestScores(const RunningSoftmax &after) {
  Tile largest = after.maximum.constant(-std::numeric_limits<double>::infinity());
  eachRange([&](Index begin, Index end, KeyBlock kind) {
    auto loop =
        scf::ForOp::create(emit, begin, end, emit.index(scores.keysOf(kind)), ValueRange(largest));
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    Tile ofBlock = emit.rowMax(keyScores(emit.index(loop.getInductionVar()), kind));
    scf::YieldOp::create(emit, ValueRange(max(emit.tile(loop.getRegionIterArg(0)), ofBlock)));
    largest = emit.tile(loop.getResult(0));
  });
  return largest * scores.factor();
}

void AttentionKernel::store(const RunningSoftmax &after) {
  std::optional<Tile> sinks;
  if (form.has(Part::Sinks)) {
    SmallVector<Tile> ofHeads;
    for (int64_t head = 0; head < form.programHeads; ++head)
      ofHeads.push_back(
          emit.loadSplat(block[Part::Sinks], ValueRange(block.head + head), form.blockQueries));
    sinks = emit.below(ofHeads).to(emit.getF32Type());
  }
  auto storePart = [&](Part part, Tile rows) {
    for (int64_t head = 0; head < form.programHeads; ++head) {
      Tile ofHead = emit.rows(rows, head * form.blockQueries, form.blockQueries);
      if (part == Part::Output) {
        Value view = rowsOf(part, block.head + head, block.queries, form.valueDim);
        tile::StoreOp::create(emit, ofHead, view, ValueRange{block.firstQuery, zero});
        continue;
      }
      Value view = tile::ViewOp::create(
          emit, block[part], ValueRange{block.batch, block.head + head}, ArrayRef<int64_t>{2});
      tile::StoreOp::create(emit, ofHead, view, ValueRange(block.firstQuery));
    }
  };
  auto firstKey = [&] { return firstKeyScores(after); };
  auto largest = [&] { return largestScores(after); };
  if (form.rescaleMargin > 0)
    softmax.finish(after, sinks, storePart, firstKey, largest);
  else
    softmax.finish(after, sinks, storePart, firstKey);
}

/// For each head, 2 (dk + dv) for each query and key that lengths and positions do not part; a mask is data.
ArrayAttr AttentionKernel::neededFlops() const {
  auto numberOf = [](Value argument) {
    return argument ? std::optional<int64_t>(cast<BlockArgument>(argument).getArgNumber())
                    : std::nullopt;
  };
  auto limit = [](bool isLimited, int64_t keys) {
    return isLimited ? std::optional(keys) : std::nullopt;
  };
  std::optional<int64_t> query = numberOf(block[Part::Query]);
  auto term = tile::ProductsAttr::get(
      emit.getContext(), 2 * (form.keyDim + form.valueDim), emit.getDenseI64ArrayAttr({*query, 2}),
      query, numberOf(block[Part::Key]), numberOf(block[Part::KvLen]), numberOf(added),
      limit(form.isLeftBounded(), form.left), limit(form.isRightBounded(), form.right),
      limit(form.globalKeys, form.globalKeys));
  return emit.getArrayAttr(term);
}

tile::KernelOp heddle::buildAttentionKernel(OpBuilder &builder, Location loc,
                                            const AttentionForm &form) {
  auto kernel = tile::KernelOp::create(builder, loc, "attention", form.argumentTypes());
  kernel.setPrivate();
  kernel.setConfigAttr(tile::ConfigAttr::get(
      builder.getContext(), builder.getDenseI64ArrayAttr({form.blockQueries, form.blockKeys}),
      std::nullopt, form.warps));
  kernel->setAttr("heddle.ops", builder.getStrArrayAttr({"attn.attention"}));
  Block *body = &kernel.getBody().front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(body);
  TileEmitter emit(loc, builder);
  AttentionKernel attention(emit, form, body->getArguments());
  attention.run();
  // Of pages, no extent of an argument is the number of keys.
  if (!form.has(Part::BlockTable))
    kernel.setNeededFlopsAttr(attention.neededFlops());
  tile::ReturnOp::create(emit);
  return kernel;
}
