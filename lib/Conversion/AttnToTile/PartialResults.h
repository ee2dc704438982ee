//===- PartialResults.h - what chunks of keys add up to ---------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_PARTIALRESULTS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_PARTIALRESULTS_H

#include "AttentionSoftmax.h"

namespace heddle {

/// Keys that some of the last queries of a sequence see: global keys [0, globalEnd), then [begin, end); all queries see [fullBegin,
/// fullEnd). They are walked in whole blocks, a key only once: [0, firstBlock) and [secondBlock, end).
class DecodeRange {
public:
  DecodeRange(TileEmitter &emit, const AttentionForm &form, Index keys);

  /// The same for chunks instead of keys.
  Index firstChunks() const { return ceilDiv(globalEnd, form.chunkKeys); }
  Index secondChunk() const { return max(begin / form.chunkKeys, firstChunks()); }
  Index endChunk() const { return ceilDiv(end, form.chunkKeys); }
  Index firstBlock() const { return ceilDiv(globalEnd, form.blockKeys) * form.blockKeys; }
  Index secondBlock() const { return max(begin / form.blockKeys * form.blockKeys, firstBlock()); }

  Index globalEnd, begin, end, fullBegin, fullEnd;

private:
  const AttentionForm &form;
};

/// The buffers of partialTypes (DecodeKernel.h).
class PartialResults {
public:
  PartialResults(TileEmitter &emit, const AttentionForm &form, mlir::Value accumulators,
                 mlir::Value statistics)
      : emit(emit), form(form), accumulators(accumulators), statistics(statistics) {}

  /// Of a query in all heads of a group.
  RunningSoftmax load(Index batch, Index chunk, Index keyHead, Index query);
  void store(const RunningSoftmax &state, Index batch, Index chunk, Index keyHead, Index query);

  Index chunks() { return emit.dim(accumulators, 1); }

private:
  struct Views {
    mlir::Value acc, maximum, sum;
  };
  Views viewsOf(Index batch, Index chunk, Index keyHead, Index query);

  TileEmitter &emit;
  const AttentionForm &form;
  mlir::Value accumulators, statistics;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_PARTIALRESULTS_H
