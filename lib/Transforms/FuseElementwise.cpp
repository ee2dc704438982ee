//===- FuseElementwise.cpp - fuse-elementwise -----------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Fusing repeats the producer for every use, so it must have one; and a contraction must keep its form.
bool shouldFuse(OpOperand *operand) {
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  Operation *producer = operand->get().getDefiningOp();
  return consumer && producer && operand->get().hasOneUse() &&
         !linalg::isaContractionOpInterface(consumer);
}

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
