//===- DropDataChecks.cpp - drop-data-checks ------------------------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_DROPDATACHECKSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Whether `op`, or an op in its regions, reads memory.
bool readsMemory(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect());
  });
}

struct DropDataChecksPass : impl::DropDataChecksPassBase<DropDataChecksPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<attn::RequireOp> checks;
    function.walk([&](attn::RequireOp op) { checks.push_back(op); });
    for (attn::RequireOp check : checks) {
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.omitUsesFromAbove = false;
      options.filter = [&](Operation *op) { return function->isProperAncestor(op); };
      (void)getBackwardSlice(check.getOperation(), &slice, options);
      if (llvm::none_of(slice, readsMemory))
        continue;
      check.erase();
      ++numDropped;
    }
  }
};

} // namespace
} // namespace heddle
