//===- AttnAbsorbLatent.cpp - the pass attn-absorb-latent -----------------===//
//
// What the forms cost, in multiplications of one batch entry and head, of which
// all else is a multiple. Lq queries share Lk keys:
//
//   expanded   Lk R (N + V)         keys and values
//              Lq Lk (N + P + V)    scores and weighted sums
//   absorbed   Lq R (N + V)         queries and outputs
//              Lq Lk (2 R + P)      scores and weighted sums
//
// With many keys the first two terms are what counts: Lq = R (N + V) / (2 R - N - V)
// queries are where both cost the same, 171 with the extents of DeepSeek-V3 (R 512,
// N 128, V 128), whatever P is. With index lists each query has K keys of its own,
// whose products with kv_up no other query shares: Lq = 1 and Lk = K.
//
//===----------------------------------------------------------------------===//

#include "LatentAttention.h"
#include "heddle/Conversion/AttnToLinalg/Passes.h"

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_ATTNABSORBLATENTPASS
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

namespace {

using attn::LatentAttentionOp;

/// An extent, or what stands for it where the type does not tell.
double extentOr(Value tensor, unsigned dim, double otherwise) {
  int64_t extent = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  return ShapedType::isDynamic(extent) ? otherwise : double(extent);
}

LatentForm chooseForm(LatentAttentionOp op, int64_t queriesOfCall, int64_t keysOfCall) {
  double queries = extentOr(op.getQueryNope(), 1, double(queriesOfCall));
  double keys = extentOr(op.getLatent(), 1, double(keysOfCall));
  if (op.getIndices()) {
    queries = 1;
    keys = extentOr(op.getIndices(), 2, keys);
  }
  double rank = double(op.getLatentDim()), rope = double(op.getRopeDim());
  double projected = double(op.getNopeDim() + op.getValueDim());
  double expanded = keys * rank * projected + queries * keys * (projected + rope);
  double absorbed = queries * rank * projected + queries * keys * (2 * rank + rope);
  return absorbed < expanded ? LatentForm::Absorbed : LatentForm::Expanded;
}

struct AttnAbsorbLatentPass : impl::AttnAbsorbLatentPassBase<AttnAbsorbLatentPass> {
  using AttnAbsorbLatentPassBase::AttnAbsorbLatentPassBase;

  void runOnOperation() override {
    if (queries < 1 || keys < 1) {
      getOperation()->emitError() << "expected queries and keys >= 1, got " << queries.getValue()
                                  << " and " << keys.getValue();
      return signalPassFailure();
    }
    WalkResult result = getOperation()->walk([&](LatentAttentionOp op) {
      LatentForm chosen = LatentForm::Expanded;
      if (form == LatentFormChoice::Cost) {
        if (op.getExpanded() || op.getAbsorbed())
          return WalkResult::advance();
        if (failed(verifyStaticExtents(op)))
          return WalkResult::interrupt();
        chosen = chooseForm(op, queries, keys);
      } else if (form == LatentFormChoice::Absorbed) {
        chosen = LatentForm::Absorbed;
      }
      op.setAbsorbed(chosen == LatentForm::Absorbed);
      op.setExpanded(chosen == LatentForm::Expanded);
      ++(chosen == LatentForm::Absorbed ? numAbsorbed : numExpanded);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
