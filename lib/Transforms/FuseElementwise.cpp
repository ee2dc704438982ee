//===- FuseElementwise.cpp - fuse-elementwise -----------------------------===//

#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/Rounding.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Whether `op` does nothing but round the result of a contraction.
bool roundsProduct(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && isRounding(generic) &&
         linalg::isaContractionOpInterface(
             generic.getInputs().front().getDefiningOp<linalg::LinalgOp>());
}

/// Fusing repeats the producer for every use, so it must have one; and a contraction must keep its form.
bool shouldFuse(OpOperand *operand, bool keepRounding) {
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  Operation *producer = operand->get().getDefiningOp();
  return consumer && producer && operand->get().hasOneUse() &&
         !linalg::isaContractionOpInterface(consumer) && !(keepRounding && roundsProduct(producer));
}

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  using FuseElementwisePassBase::FuseElementwisePassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [&](OpOperand *operand) { return shouldFuse(operand, keepRounding); });
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
