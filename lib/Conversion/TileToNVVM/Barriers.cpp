//===- Barriers.cpp - tile_nv.barrier and tile_nv.warp_barrier ------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace heddle;

LogicalResult KernelLowering::lowerBarrier(tile_nv::BarrierOp op) {
  NVVM::BarrierOp::create(b);
  return success();
}

LogicalResult KernelLowering::lowerBarrier(tile_nv::WarpBarrierOp op) {
  NVVM::SyncWarpOp::create(b, math.i32(-1));
  return success();
}
