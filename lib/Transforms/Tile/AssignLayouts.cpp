//===- AssignLayouts.cpp - tile-assign-layouts ----------------------------===//

#include "heddle/Transforms/Tile/Passes.h"

#include "LayoutAssignment.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {

#define GEN_PASS_DEF_TILEASSIGNLAYOUTSPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

struct TileAssignLayouts : impl::TileAssignLayoutsPassBase<TileAssignLayouts> {
  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    tile::ConfigAttr config = kernel.getConfigAttr();
    if (!config || !config.getWarps())
      return;
    int64_t warps = *config.getWarps();
    if (!llvm::isPowerOf2_64(warps)) {
      kernel.emitOpError() << "expected a power of two of warps on a GPU, got " << warps;
      return signalPassFailure();
    }
    LayoutAssignment assignment(kernel, warps);
    if (failed(assignment.decide()))
      return signalPassFailure();
    assignment.apply();
    numConversions += assignment.numConversions();
  }
};

} // namespace
} // namespace heddle
