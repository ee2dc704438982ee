//===- TileOps.td - all operations of the dialect ------------------------===//

#ifndef HEDDLE_TILE_OPS_TD
#define HEDDLE_TILE_OPS_TD

include "KernelOps.td"
include "ViewOps.td"
include "MemoryOps.td"
include "ComputeOps.td"
include "ShapeOps.td"
include "ControlOps.td"

#endif // HEDDLE_TILE_OPS_TD
