//===- AttnToTile.cpp - the pass attn-to-tile -----------------------------===//

#include "Patterns.h"
#include "heddle/Conversion/AttnToTile/KernelGroup.h"
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

tile::KernelOp KernelTable::insertOrReuse(tile::KernelOp kernel) {
  for (tile::KernelOp other : ofGroups)
    if (other.getFunctionType() == kernel.getFunctionType() &&
        other.getConfigAttr() == kernel.getConfigAttr() &&
        OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &kernel.getBody(),
                                                   OperationEquivalence::IgnoreLocations)) {
      kernel.erase();
      return other;
    }
  module.getBody()->push_back(kernel);
  symbols.insert(kernel);
  ofGroups.push_back(kernel);
  return kernel;
}

namespace {

struct AttnToTilePass : impl::AttnToTilePassBase<AttnToTilePass> {
  using AttnToTilePassBase::AttnToTilePassBase;

  void runOnOperation() override {
    KernelTarget target;
    target.f32Products = f32Products;
    target.rescaleMargin = rescaleMargin;
    if (!(rescaleMargin >= 0 && rescaleMargin <= maxRescaleMargin)) {
      getOperation().emitError() << "expected rescale-margin between 0 and " << maxRescaleMargin
                                 << ", got " << rescaleMargin;
      return signalPassFailure();
    }
    if (!chip.empty()) {
      target.chip = lookupGPUChip(chip);
      if (!target.chip) {
        InFlightDiagnostic error = getOperation().emitError()
                                   << "unknown chip '" << chip << "'; known are ";
        llvm::interleaveComma(getGPUChips(), error,
                              [&](const GPUChip &known) { error << known.name; });
        return signalPassFailure();
      }
    }
    GPUChip limited;
    if (target.chip && sharedBytes > 0) {
      limited = withSharedBytes(*target.chip, sharedBytes);
      target.chip = &limited;
    }
    KernelTable kernels(getOperation());
    SmallVector<scf::ExecuteRegionOp> groups;
    getOperation().walk([&](scf::ExecuteRegionOp op) {
      if (op->hasAttr(kernelAttr))
        groups.push_back(op);
    });
    for (scf::ExecuteRegionOp group : groups)
      if (failed(lowerGroup(group, kernels, target)))
        return signalPassFailure();

    RewritePatternSet patterns(&getContext());
    populateAttentionToTile(patterns, kernels, target);
    FrozenRewritePatternSet frozen(std::move(patterns));
    SmallVector<Operation *> ops;
    getOperation().walk([&](attn::AttentionOp op) { ops.push_back(op); });
    // One after the other, so that kernels are numbered in the order of the program. An operation that no pattern takes stays.
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    for (Operation *op : ops)
      (void)applyOpPatternsGreedily(op, frozen, config);
    if (requireKernels && failed(refuseForms()))
      return signalPassFailure();
    getOperation().walk([&](tile::DispatchOp) { ++numDispatches; });
    numKernels += kernels.size();
  }

private:
  /// An operand or attribute of which no kernel knows, and the nearest that it would know.
  struct Form {
    bool isUsed;
    StringRef name, nearest;
  };

  static LogicalResult refuse(Operation *op, ArrayRef<Form> forms) {
    const Form *used = llvm::find_if(forms, [](const Form &form) { return form.isUsed; });
    if (used == forms.end())
      return success();
    return op->emitOpError() << "with " << used->name << " has no GPU kernel; expected "
                             << used->nearest;
  }

  /// What the reference computes by loops, over tokens or by what tables say, which only a host can.
  LogicalResult refuseForms() {
    WalkResult result = getOperation().walk([](Operation *op) -> WalkResult {
      if (auto append = dyn_cast<attn::KvAppendOp>(op))
        return refuse(op, {{append.getSlots() != nullptr, "slots", "start and a block_table"},
                           {append.getNewLen() != nullptr, "new_len", "as many rows as are new"}});
      if (isa<attn::LinearAttentionOp, attn::ShortConvOp, attn::ExpertsOp, attn::SinkhornOp,
              attn::StreamMapsOp, attn::PatternScoresOp>(op))
        return op->emitOpError("has no GPU kernel; expected target cpu");
      auto attention = dyn_cast<attn::AttentionOp>(op);
      if (!attention)
        return success();
      return refuse(
          op, {{attention.getCuSeqlensQ() != nullptr, "cu_seqlens_q", "a padded batch with kv_len"},
               {attention.getIndices() != nullptr, "indices", "a mask"},
               {attention.getBlockIndices() != nullptr, "block_indices", "a mask"},
               {attention.getGlobalIds() != nullptr, "global_ids", "global_keys, or a mask"},
               {attention.getAttentionChunk().has_value(), "attention_chunk",
                "a score region or a mask"}});
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
} // namespace heddle
