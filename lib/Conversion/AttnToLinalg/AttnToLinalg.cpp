//===- AttnToLinalg.cpp - the pass attn-to-linalg -------------------------===//

#include "LatentAttention.h"
#include "LinearAttentionParts.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_ATTNTOLINALGPASS
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

void populateAttnToLinalgPatterns(RewritePatternSet &patterns, AccumulateType accumulate) {
  populateActivationToLinalg(patterns, accumulate);
  populateAttentionToLinalg(patterns, accumulate);
  populateCacheToLinalg(patterns, accumulate);
  populateDecayGateToLinalg(patterns, accumulate);
  populateExpertsToLinalg(patterns, accumulate);
  populateKeySelectionToLinalg(patterns, accumulate);
  populateLatentToLinalg(patterns, accumulate);
  populateLinearAttentionToLinalg(patterns, accumulate);
  populateNormToLinalg(patterns, accumulate);
  populatePartialsToLinalg(patterns, accumulate);
  populatePatternScoresToLinalg(patterns, accumulate);
  populateRotaryToLinalg(patterns, accumulate);
  populateRouterToLinalg(patterns, accumulate);
  populateShortConvToLinalg(patterns, accumulate);
  populateStreamsToLinalg(patterns, accumulate);
}

namespace {

/// Whether the number of key heads is static.
LogicalResult verifyStaticHeads(attn::AttentionOp op) {
  auto key = cast<RankedTensorType>(op.getKey().getType());
  auto value = cast<RankedTensorType>(op.getValue().getType());
  if (!key.isDynamicDim(2) || !value.isDynamicDim(2))
    return success();
  return op.emitOpError() << "expected a static number of key heads to lower to "
                             "linalg, key has type "
                          << key;
}

/// Refuses by name what the patterns cannot lower.
LogicalResult verifyInput(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    bool isLowered = true;
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      isLowered = succeeded(verifyStaticHeads(attention));
    else if (auto linear = dyn_cast<attn::LinearAttentionOp>(op))
      isLowered = succeeded(heddle::verifyStaticHeads(linear));
    else if (auto latent = dyn_cast<attn::LatentAttentionOp>(op))
      isLowered = succeeded(verifyStaticExtents(latent));
    return isLowered ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct AttnToLinalgPass : impl::AttnToLinalgPassBase<AttnToLinalgPass> {
  using AttnToLinalgPassBase::AttnToLinalgPassBase;

  void runOnOperation() override {
    if (failed(verifyInput(getOperation())))
      return signalPassFailure();
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<attn::AttnDialect>();
    target.addLegalOp<attn::RequireOp, attn::RequireRangeOp>();
    // It goes with the attention around it.
    target.addLegalOp<attn::YieldOp>();
    RewritePatternSet patterns(&getContext());
    populateAttnToLinalgPatterns(patterns, accumulate);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
