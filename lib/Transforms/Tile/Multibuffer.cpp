//===- Multibuffer.cpp - tile-multibuffer ---------------------------------===//

#include "heddle/Transforms/Tile/Passes.h"

#include "ProductBuffers.h"
#include "WarpBranches.h"

#include "heddle/Layout/Reduction.h"
#include "heddle/Transforms/Tile/KernelKnobs.h"

using namespace mlir;
using heddle::layout::Dim;
using heddle::layout::Layout;
using heddle::tile::LayoutAttr;

namespace heddle {

#define GEN_PASS_DEF_TILEMULTIBUFFERPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

/// The layout in which the threads that are to have a row's result hold all parts of the row.
LayoutAttr partsLayout(tile::ReduceOp op, RankedTensorType parts) {
  int64_t along = op.getAlong();
  Layout rows = tile::layoutOf(op.getType()).getLayout();
  if (along == 0 && parts.getRank() == 2)
    rows = rows.renameOutputs({{Dim::Coord0, Dim::Coord1}});
  return LayoutAttr::get(op.getContext(),
                         layout::withParts(rows, tile::coordinate(along), parts.getDimSize(along)));
}

struct TileMultibuffer : impl::TileMultibufferPassBase<TileMultibuffer> {
  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    numInlined += inlineSharedBranches(kernel);
    SharedBuffers buffers(kernel);
    SmallVector<tile::ReduceOp> reductions;
    kernel.walk([&](tile::ReduceOp op) {
      if (crossesWarps(op))
        reductions.push_back(op);
    });
    for (tile::ReduceOp op : reductions)
      if (failed(splitReduction(op, buffers)))
        return signalPassFailure();

    bool keepOperands = tile_nv::KernelKnobs::of(kernel).keepOperands;
    numCopies += ProductBuffers(kernel, buffers, keepOperands).run();

    SmallVector<tile::ConvertLayoutOp> conversions;
    kernel.walk([&](tile::ConvertLayoutOp op) { conversions.push_back(op); });
    for (tile::ConvertLayoutOp op : conversions)
      if (failed(lowerConversion(op, buffers)))
        return signalPassFailure();
  }

private:
  /// Each thread reduces what it has; the parts of all warps meet in shared memory.
  LogicalResult splitReduction(tile::ReduceOp op, SharedBuffers &buffers) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value parts = op.getInput();
    RankedTensorType type = tile_nv::reducedInThread(op.getInput().getType(), op.getAlong());
    if (!type)
      return op.emitOpError() << "expected registers that do not mix dimension " << op.getAlong()
                              << " with the other, got " << op.getInput().getType();
    if (type != parts.getType())
      parts =
          tile_nv::ReduceInThreadOp::create(builder, loc, type, op.getKind(), parts, op.getAlong());
    FailureOr<Value> gathered = buffers.exchange(builder, loc, parts, partsLayout(op, type));
    if (failed(gathered))
      return failure();
    op.getInputMutable().assign(*gathered);
    ++numExchanges;
    return success();
  }

  LogicalResult lowerConversion(tile::ConvertLayoutOp op, SharedBuffers &buffers) {
    if (op.getType().getRank() == 0 || staysInThread(op))
      return success();
    OpBuilder builder(op);
    FailureOr<Value> converted =
        buffers.exchange(builder, op.getLoc(), op.getInput(), tile::layoutOf(op.getType()));
    if (failed(converted))
      return failure();
    op.replaceAllUsesWith(*converted);
    op.erase();
    ++numExchanges;
    return success();
  }
};

} // namespace
} // namespace heddle
