//===- PartialResults.cpp - what chunks of keys add up to -----------------===//

#include "PartialResults.h"
#include "DecodeKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

SmallVector<RankedTensorType> heddle::partialTypes(const AttentionForm &form) {
  Type f32 = Float32Type::get(form.type(AttentionPart::Query).getContext());
  constexpr int64_t dynamic = ShapedType::kDynamic, floatsOfLine = 16;
  int64_t chunks = form.hasOneChunk ? 1 : dynamic;
  int64_t batch = form.type(AttentionPart::Query).getDimSize(0);
  int64_t rows = form.heads * form.blockQueries;
  return {
      RankedTensorType::get({batch, chunks, rows, form.valueDim}, f32),
      RankedTensorType::get({batch, chunks, 2, int64_t(llvm::alignTo(rows, floatsOfLine))}, f32)};
}

/// The last query is the last key's.
DecodeRange::DecodeRange(TileEmitter &emit, const AttentionForm &form, Index keys)
    : globalEnd(emit.index(0)), begin(emit.index(0)), end(keys), fullBegin(begin), fullEnd(keys),
      form(form) {
  Index first = keys - form.blockQueries;
  if (form.isLeftBounded()) {
    begin = max(first - form.left, 0);
    fullBegin = max(keys - (form.left + 1), 0);
  }
  if (form.isRightBounded())
    fullEnd = min(keys, first + (form.right + 1));
  if (form.globalKeys)
    globalEnd = min(begin, emit.index(form.globalKeys));
}

PartialResults::Views PartialResults::viewsOf(Index batch, Index chunk, Index keyHead,
                                              Index query) {
  int64_t group = form.groupHeads();
  Index row = keyHead * (group * form.blockQueries) + query * group;
  auto statistic = [&](int64_t which) {
    return emit.partOf(statistics,
                       {Value(batch), Value(chunk), emit.getIndexAttr(which), Value(row)},
                       {1, 1, 1, group}, {group});
  };
  return {emit.partOf(accumulators, {Value(batch), Value(chunk), Value(row), emit.getIndexAttr(0)},
                      {1, 1, group, form.valueDim}, {group, form.valueDim}),
          statistic(0), statistic(1)};
}

RunningSoftmax PartialResults::load(Index batch, Index chunk, Index keyHead, Index query) {
  Views views = viewsOf(batch, chunk, keyHead, query);
  Value zero = emit.index(0);
  int64_t group = form.groupHeads();
  auto loadRow = [&](Value view) { return emit.load(view, zero, group, /*padded=*/false); };
  return {emit.load(views.acc, {zero, zero}, {group, form.valueDim}, /*padded=*/false),
          loadRow(views.maximum), loadRow(views.sum)};
}

void PartialResults::store(const RunningSoftmax &state, Index batch, Index chunk, Index keyHead,
                           Index query) {
  Views views = viewsOf(batch, chunk, keyHead, query);
  Value zero = emit.index(0);
  tile::StoreOp::create(emit, state.acc, views.acc, ValueRange{zero, zero});
  tile::StoreOp::create(emit, state.maximum, views.maximum, ValueRange(zero));
  tile::StoreOp::create(emit, state.sum, views.sum, ValueRange(zero));
}
