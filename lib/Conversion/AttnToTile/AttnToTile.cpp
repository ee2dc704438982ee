//===- AttnToTile.cpp - the pass attn-to-tile -----------------------------===//

#include "Patterns.h"
#include "heddle/Conversion/AttnToTile/Passes.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_ATTNTOTILEPASS
#include "heddle/Conversion/AttnToTile/Passes.h.inc"

tile::KernelOp KernelTable::lookupOrBuild(Attribute form, RewriterBase &rewriter,
                                          llvm::function_ref<tile::KernelOp()> build) {
  tile::KernelOp &kernel = kernels[form];
  if (!kernel) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(module.getBody());
    kernel = build();
    symbols.insert(kernel);
  }
  return kernel;
}

namespace {

struct AttnToTilePass : impl::AttnToTilePassBase<AttnToTilePass> {
  void runOnOperation() override {
    KernelTable kernels(getOperation());
    RewritePatternSet patterns(&getContext());
    populateAttentionToTile(patterns, kernels);
    FrozenRewritePatternSet frozen(std::move(patterns));
    SmallVector<Operation *> ops;
    getOperation().walk([&](attn::AttentionOp op) { ops.push_back(op); });
    // One after the other, so that kernels are numbered in the order of the program. An operation that no pattern takes stays.
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    for (Operation *op : ops)
      (void)applyOpPatternsGreedily(op, frozen, config);
    getOperation().walk([&](tile::DispatchOp) { ++numDispatches; });
    numKernels += kernels.size();
  }
};

} // namespace
} // namespace heddle
