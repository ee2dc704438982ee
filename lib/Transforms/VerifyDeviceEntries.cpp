//===- VerifyDeviceEntries.cpp - verify-device-entries --------------------===//

#include "heddle/Conversion/LinalgToTile/Passes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_VERIFYDEVICEENTRIESPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

struct VerifyDeviceEntriesPass : impl::VerifyDeviceEntriesPassBase<VerifyDeviceEntriesPass> {
  using VerifyDeviceEntriesPassBase::VerifyDeviceEntriesPassBase;

  /// The op that outline-kernels put into `kernel`.
  static Operation *computation(func::FuncOp kernel) {
    Operation *found = nullptr;
    kernel.walk([&](linalg::LinalgOp op) {
      found = op;
      return WalkResult::interrupt();
    });
    return found ? found : kernel;
  }

  /// Whether `op` itself reads or writes a buffer.
  static bool accessesMemory(Operation *op) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(op);
    if (!interface || isa<tile::LaunchOp>(op))
      return false;
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffects(effects);
    return llvm::any_of(effects, [](const MemoryEffects::EffectInstance &effect) {
      bool isAccess = isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect());
      return isAccess && effect.getValue() && isa<MemRefType>(effect.getValue().getType());
    });
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SmallPtrSet<Operation *, 8> reported;
    auto refuse = [&](Operation *op) {
      if (reported.insert(op).second) {
        InFlightDiagnostic error = op->emitError();
        error << "op '" << op->getName() << "' has no GPU kernel";
        if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
          if (std::string reason = whyNoTileKernel(linalgOp); !reason.empty())
            error << ": " << reason;
        if (!isa<linalg::LinalgOp, func::CallOp, func::FuncOp>(op) && accessesMemory(op))
          error << ": the host would have to wait for the device and access its memory, for "
                   "instance for an attn.rope whose scaling depends on the length of a call; "
                   "expected, for instance, a rope with length or inv_freq, or target sim-sm_80";
      }
      signalPassFailure();
    };
    for (func::FuncOp entry : getEntries(getOperation()))
      entry.walk([&](Operation *op) {
        if (auto call = dyn_cast<func::CallOp>(op)) {
          auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
          refuse(kernel ? computation(kernel) : op);
        } else if (!hostMemory && accessesMemory(op)) {
          refuse(op);
        }
      });
  }
};

} // namespace
} // namespace heddle
