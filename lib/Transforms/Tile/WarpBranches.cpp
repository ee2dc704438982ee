//===- WarpBranches.cpp - branches that warps take on their own -----------===//
//
// A warp decides for itself whether it takes a tile.if_any if
//
// 1. what the region does stays in the warp: elementwise work, reductions of what the warp holds, no exchange through shared memory, whose
//    barriers all warps would have to reach,
// 2. each warp sees all of the condition that decides its rows: no row of the condition is spread over warps, and a warp that holds a row
//    of a result, or a part of it, holds that row of the condition.
//
// Other branches are inlined, which gives the same results.
//
//===----------------------------------------------------------------------===//

#include "WarpBranches.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/Conversion.h"
#include "heddle/Layout/LayoutQueries.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using heddle::layout::Dim;
using heddle::layout::Layout;

namespace heddle {

static bool isSpreadOverWarps(RankedTensorType type, int64_t along) {
  tile::LayoutAttr layout = tile::layoutOf(type);
  return layout && layout::isSpreadOverWarps(layout.getLayout(), tile::coordinate(along));
}

bool crossesWarps(tile::ReduceOp op) {
  return isSpreadOverWarps(op.getInput().getType(), op.getAlong());
}

bool staysInThread(tile::ConvertLayoutOp op) {
  tile::LayoutAttr from = tile::layoutOf(op.getInput().getType()),
                   to = tile::layoutOf(op.getType());
  if (!from || !to)
    return true;
  auto conversion = layout::classifyConversion(from.getLayout(), to.getLayout());
  return conversion && conversion->source &&
         conversion->kind <= layout::ConversionKind::RegisterPermutation;
}

bool staysInWarp(Operation *op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return !crossesWarps(reduce);
  if (auto conversion = dyn_cast<tile::ConvertLayoutOp>(op))
    return staysInThread(conversion);
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<arith::ConstantOp, tensor::SplatOp, tile::BroadcastOp, tile::IotaOp, tile::YieldOp,
             tile_nv::ReduceInThreadOp>(op);
}

bool holdsRowsOf(RankedTensorType condition, TypeRange tiles) {
  auto hasLayout = [](Type type) { return bool(tile::layoutOf(cast<RankedTensorType>(type))); };
  if (!hasLayout(condition) || !llvm::all_of(tiles, hasLayout) ||
      (condition.getRank() == 2 && isSpreadOverWarps(condition, 1)))
    return false;
  auto rowsOf = [](RankedTensorType type) {
    return layout::rowsOfWarps(tile::layoutOf(type).getLayout());
  };
  auto known = rowsOf(condition);
  return llvm::all_of(tiles, [&](Type type) {
    auto rows = rowsOf(cast<RankedTensorType>(type));
    return std::includes(known.begin(), known.end(), rows.begin(), rows.end());
  });
}

static bool decidesByWarp(tile::IfAnyOp op) {
  return holdsRowsOf(op.getCondition().getType(), op.getResultTypes()) &&
         llvm::all_of(*op.getRegionBlock(), [](Operation &op) { return staysInWarp(&op); });
}

unsigned inlineSharedBranches(tile::KernelOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  unsigned count = 0;
  kernel.walk<WalkOrder::PostOrder>([&](tile::IfAnyOp op) {
    if (decidesByWarp(op))
      return;
    rewriter.setInsertionPoint(op);
    op.inlineBody(rewriter);
    ++count;
  });
  return count;
}

} // namespace heddle
