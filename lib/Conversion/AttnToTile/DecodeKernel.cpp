//===- DecodeKernel.cpp - kernels of attention with few queries -----------===//
//
// Decoding reads each key and value once and does little with it, so what counts is how memory is read. A program has a chunk of the keys
// of one sequence, in all heads:
//
//   state[h] = start                             (acc, m, l), rows are the query heads of key head h
//   for each block of keys of the chunk that some query sees:
//     for each key head h:                       caches are [batch, key, head, dim]: this is the order of memory
//       for each query i:
//         state[h, i] = state[h, i] + softmax of scores(Q[i, h] K[block, h]^T) with V[block, h]
//
// While a block is computed, the next one is fetched. A block that not all queries see whole is computed in small parts, under a mask.
// The state of all heads is in the buffers of partial results, which stay in the L1 cache. Another kernel merges the chunks of a
// sequence, those with visible keys: others are neither computed nor read. Their extent is fixed, so a result does not depend on the
// number of threads.
//
// If one chunk has all keys, a program has one key head instead, and goes on to the results itself.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "AttentionScores.h"
#include "PartialResults.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;

using Part = AttentionPart;

/// Keys of a part of a block that has a mask.
constexpr int64_t edgeKeys = 16;

static SmallVector<Part> presentParts(const AttentionForm &form, Part first, Part last) {
  SmallVector<Part> parts;
  for (unsigned number = unsigned(first); number <= unsigned(last); ++number)
    if (form.has(Part(number)))
      parts.push_back(Part(number));
  return parts;
}

SmallVector<Part> heddle::decodeInputs(const AttentionForm &form) {
  SmallVector<Part> parts = presentParts(form, Part::Query, Part::BlockTable);
  if (!form.hasOneChunk)
    llvm::erase(parts, Part::Sinks);
  return parts;
}

SmallVector<Part> heddle::mergeInputs(const AttentionForm &form) {
  return presentParts(form, Part::Sinks, Part::KvLen);
}

SmallVector<Part> heddle::attentionOutputs(const AttentionForm &form) {
  return presentParts(form, Part::Output, Part::SinkMass);
}

namespace {

/// What both kernels have.
class FewQueries {
protected:
  FewQueries(TileEmitter &emit, const AttentionForm &form, PartialResults partial)
      : emit(emit), form(form), partial(partial), softmax(emit, form, form.groupHeads()) {}

  Value part(Part which) const { return parts[unsigned(which)]; }
  Index firstHead(Index keyHead) { return keyHead * form.groupHeads(); }

  /// Calls `body` in a loop.
  void each(Index begin, Index end, int64_t step, llvm::function_ref<void(Index)> body) {
    auto loop = scf::ForOp::create(emit, begin, end, emit.index(step));
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    body(emit.index(loop.getInductionVar()));
  }

  /// The same for the queries; without a loop for one.
  void eachQuery(llvm::function_ref<void(Index)> body) {
    if (form.blockQueries == 1)
      return body(emit.index(0));
    each(emit.index(0), emit.index(form.blockQueries), 1, body);
  }

  void storeResults(const RunningSoftmax &after, Index batch, Index keyHead, Index query);

  TileEmitter &emit;
  const AttentionForm &form;
  PartialResults partial;
  AttentionSoftmax softmax;
  std::array<Value, numAttentionParts> parts;
};

class DecodeKernel : FewQueries {
public:
  DecodeKernel(TileEmitter &emit, const AttentionForm &form, ValueRange arguments);
  void run();

private:
  void visit(Index begin, Index end, const DecodeRange &range);
  void step(Index keyHead, Index key, KeyBlock kind, int64_t numKeys);

  std::optional<Index> batch, chunk, headBegin, headEnd, keys;
};

class MergeKernel : FewQueries {
public:
  MergeKernel(TileEmitter &emit, const AttentionForm &form, ValueRange arguments);
  void run();

private:
  Value numKeys;
};

} // namespace

void FewQueries::storeResults(const RunningSoftmax &after, Index batch, Index keyHead,
                              Index query) {
  int64_t group = form.groupHeads();
  Index head = firstHead(keyHead), zero = emit.index(0);
  std::optional<Tile> sinks;
  if (form.has(Part::Sinks)) {
    Value view = tile::ViewOp::create(emit, part(Part::Sinks), ValueRange(), int64_t(0));
    sinks = emit.load(view, ValueRange(head), group, /*padded=*/false).to(emit.getF32Type());
  }
  softmax.finish(after, sinks, [&](Part which, Tile rows) {
    if (which == Part::Output) {
      Value view =
          emit.partOf(part(which), {Value(batch), Value(query), Value(head), emit.getIndexAttr(0)},
                      {1, 1, group, form.valueDim}, {group, form.valueDim});
      tile::StoreOp::create(emit, rows, view, ValueRange{zero, zero});
      return;
    }
    Value view =
        emit.partOf(part(which), {Value(batch), Value(head), Value(query)}, {1, group, 1}, {group});
    tile::StoreOp::create(emit, rows, view, ValueRange(zero));
  });
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

DecodeKernel::DecodeKernel(TileEmitter &emit, const AttentionForm &form, ValueRange arguments)
    : FewQueries(emit, form,
                 PartialResults(emit, form, arguments[decodeInputs(form).size()],
                                arguments[decodeInputs(form).size() + 1])) {
  SmallVector<Part> inputs = decodeInputs(form);
  for (auto [which, argument] : llvm::zip(inputs, arguments))
    parts[unsigned(which)] = argument;
  if (form.hasOneChunk)
    for (auto [which, argument] :
         llvm::zip_equal(attentionOutputs(form), arguments.drop_front(inputs.size() + 2)))
      parts[unsigned(which)] = argument;
  // Here, so that where the rows of a block are does not depend on the head.
  if (form.has(Part::BlockTable))
    for (auto [which, columns] : {std::pair(Part::Key, form.keyDim), {Part::Value, form.valueDim}})
      parts[unsigned(which)] = emit.withColumns(part(which), columns);

  Index program = emit.programId(tile::Axis::X);
  if (form.hasOneChunk) {
    batch = program / form.keyHeads;
    chunk = emit.index(0);
    headBegin = program % emit.index(form.keyHeads);
    headEnd = *headBegin + 1;
  } else {
    Index chunks = partial.chunks();
    batch = program / chunks;
    chunk = program % chunks;
    headBegin = emit.index(0);
    headEnd = emit.index(form.keyHeads);
  }
  keys = form.has(Part::KvLen) ? emit.loadIndex(part(Part::KvLen), ValueRange(*batch))
                               : emit.dim(part(Part::Key), 1);
}

void DecodeKernel::run() {
  DecodeRange range(emit, form, *keys);
  Index begin = *chunk * form.chunkKeys, end = begin + form.chunkKeys;
  Index secondBegin = max(begin, range.secondBlock()), secondEnd = min(end, range.end);
  auto start = [&] {
    RunningSoftmax nothing = softmax.start();
    each(*headBegin, *headEnd, 1, [&](Index keyHead) {
      eachQuery([&](Index query) { partial.store(nothing, *batch, *chunk, keyHead, query); });
    });
  };
  if (form.hasOneChunk) {
    start();
  } else {
    Value isVisited = less(secondBegin, secondEnd);
    if (form.globalKeys)
      isVisited = arith::OrIOp::create(emit, isVisited, less(begin, range.firstBlock()));
    auto branch = scf::IfOp::create(emit, isVisited, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(branch.thenBlock());
    start();
  }
  if (form.globalKeys)
    visit(begin, min(end, range.firstBlock()), range);
  visit(secondBegin, secondEnd, range);
  if (!form.hasOneChunk)
    return;
  eachQuery([&](Index query) {
    storeResults(partial.load(*batch, *chunk, *headBegin, query), *batch, *headBegin, query);
  });
}

/// Blocks of keys.
void DecodeKernel::visit(Index begin, Index end, const DecodeRange &range) {
  auto eachHead = [&](Index key, KeyBlock kind, int64_t numKeys) {
    each(*headBegin, *headEnd, 1, [&](Index keyHead) { step(keyHead, key, kind, numKeys); });
  };
  each(begin, end, form.blockKeys, [&](Index key) {
    Value isInside = arith::AndIOp::create(emit, atMost(range.fullBegin, key),
                                           atMost(key + form.blockKeys, range.fullEnd));
    auto branch = scf::IfOp::create(emit, isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(branch.thenBlock());
    eachHead(key, KeyBlock::Inside, form.blockKeys);
    emit.setInsertionPointToStart(branch.elseBlock());
    int64_t partKeys = form.blockKeys % edgeKeys == 0 ? edgeKeys : form.blockKeys;
    each(key, min(key + form.blockKeys, end), partKeys,
         [&](Index part) { eachHead(part, KeyBlock::Any, partKeys); });
  });
}

/// Keys in the heads of a group. One query uses keys and values where they lie.
void DecodeKernel::step(Index keyHead, Index key, KeyBlock kind, int64_t numKeys) {
  bool isInside = kind == KeyBlock::Inside;
  Index zero = emit.index(0), head = firstHead(keyHead), numQueries = emit.index(form.blockQueries);
  int64_t group = form.groupHeads();
  auto load = [&](Part which, int64_t columns) {
    Value rows =
        form.has(Part::BlockTable)
            ? emit.pagedRowsOf(part(which), part(Part::BlockTable), *batch, keyHead, *keys, columns)
            : emit.rowsOf(part(which), *batch, keyHead, *keys, columns);
    std::optional<int64_t> ahead;
    if (isInside)
      ahead = form.blockKeys;
    return emit.load(rows, {key, zero}, {numKeys, columns}, !isInside, ahead);
  };
  Tile keyTile = load(Part::Key, form.keyDim).to(form.scoreType());
  std::optional<Tile> valueTile;
  if (form.blockQueries > 1)
    valueTile = load(Part::Value, form.valueDim).to(form.weightType());
  eachQuery([&](Index query) {
    Index position = *keys - numQueries + query;
    AttentionBlock block{parts, *batch, head,     keyHead,  numQueries,
                         *keys, query,  position, position, std::nullopt};
    AttentionScores scores(emit, form, block, numKeys);
    Value queryHeads = emit.partOf(part(Part::Query),
                                   {Value(*batch), Value(query), Value(head), emit.getIndexAttr(0)},
                                   {1, 1, group, form.keyDim}, {group, form.keyDim});
    Tile queries = emit.load(queryHeads, {zero, zero}, {group, form.keyDim}, /*padded=*/false);
    Tile products = emit.dotTransposed(queries.to(form.scoreType()), keyTile,
                                       emit.filled({group, numKeys}, 0.0), form.precision);
    RunningSoftmax before = partial.load(*batch, *chunk, keyHead, query);
    RunningSoftmax after =
        softmax.add(before, scores.apply(products, key, kind), scores.factor(),
                    [&] { return valueTile ? *valueTile : load(Part::Value, form.valueDim); });
    partial.store(after, *batch, *chunk, keyHead, query);
  });
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

MergeKernel::MergeKernel(TileEmitter &emit, const AttentionForm &form, ValueRange arguments)
    : FewQueries(emit, form, PartialResults(emit, form, arguments[0], arguments[1])) {
  arguments = arguments.drop_front(2);
  auto take = [&](ArrayRef<Part> which) {
    for (Part each : which) {
      parts[unsigned(each)] = arguments.front();
      arguments = arguments.drop_front();
    }
  };
  take(mergeInputs(form));
  if (!form.has(Part::KvLen)) {
    numKeys = arguments.front();
    arguments = arguments.drop_front();
  }
  take(attentionOutputs(form));
}

void MergeKernel::run() {
  Index program = emit.programId(tile::Axis::X);
  Index batch = program / form.keyHeads, keyHead = program % emit.index(form.keyHeads);
  Index keys = numKeys ? emit.index(numKeys) : emit.loadIndex(part(Part::KvLen), ValueRange(batch));
  DecodeRange range(emit, form, keys);
  eachQuery([&](Index query) {
    auto add = [&](Index begin, Index end, const RunningSoftmax &before) {
      auto loop = scf::ForOp::create(emit, begin, end, emit.index(1),
                                     ValueRange{before.acc, before.maximum, before.sum});
      auto stateOf = [&](ValueRange values) {
        return RunningSoftmax{emit.tile(values[0]), emit.tile(values[1]), emit.tile(values[2])};
      };
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(loop.getBody());
      Index chunk = emit.index(loop.getInductionVar());
      RunningSoftmax after = softmax.merge(stateOf(loop.getRegionIterArgs()),
                                           partial.load(batch, chunk, keyHead, query));
      scf::YieldOp::create(emit, ValueRange{after.acc, after.maximum, after.sum});
      return stateOf(loop.getResults());
    };
    RunningSoftmax state = softmax.start();
    if (form.globalKeys)
      state = add(emit.index(0), range.firstChunks(), state);
    state = add(range.secondChunk(), range.endChunk(), state);
    storeResults(state, batch, keyHead, query);
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static tile::KernelOp buildKernel(OpBuilder &builder, Location loc, StringRef name,
                                  ArrayRef<Type> arguments,
                                  llvm::function_ref<void(TileEmitter &, ValueRange)> build) {
  auto kernel = tile::KernelOp::create(builder, loc, name, arguments);
  kernel.setPrivate();
  kernel->setAttr("heddle.ops", builder.getStrArrayAttr({"attn.attention"}));
  Block *body = &kernel.getBody().front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(body);
  TileEmitter emit(loc, builder);
  build(emit, body->getArguments());
  tile::ReturnOp::create(emit);
  return kernel;
}

static void append(SmallVector<Type> &arguments, ArrayRef<RankedTensorType> types) {
  for (RankedTensorType type : types)
    arguments.push_back(tile::getKernelArgumentType(type));
}

static SmallVector<RankedTensorType> typesOf(const AttentionForm &form, ArrayRef<Part> parts) {
  return llvm::map_to_vector(parts, [&](Part part) { return form.type(part); });
}

tile::KernelOp heddle::buildDecodeKernel(OpBuilder &builder, Location loc,
                                         const AttentionForm &form) {
  SmallVector<Type> arguments;
  append(arguments, typesOf(form, decodeInputs(form)));
  append(arguments, partialTypes(form));
  if (form.hasOneChunk)
    append(arguments, typesOf(form, attentionOutputs(form)));
  tile::KernelOp kernel = buildKernel(
      builder, loc, "decode_attention", arguments,
      [&](TileEmitter &emit, ValueRange values) { DecodeKernel(emit, form, values).run(); });
  kernel.setConfigAttr(tile::ConfigAttr::get(
      builder.getContext(),
      builder.getDenseI64ArrayAttr({form.blockQueries, form.blockKeys, form.chunkKeys}),
      std::nullopt, std::nullopt));
  return kernel;
}

tile::KernelOp heddle::buildMergeKernel(OpBuilder &builder, Location loc,
                                        const AttentionForm &form) {
  SmallVector<Type> arguments;
  append(arguments, partialTypes(form));
  append(arguments, typesOf(form, mergeInputs(form)));
  if (!form.has(Part::KvLen))
    arguments.push_back(builder.getIndexType());
  append(arguments, typesOf(form, attentionOutputs(form)));
  return buildKernel(
      builder, loc, "merge_attention", arguments,
      [&](TileEmitter &emit, ValueRange values) { MergeKernel(emit, form, values).run(); });
}
