//===- WarpBranches.h - branches that warps take on their own ---*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_WARPBRANCHES_H
#define HEDDLE_LIB_TRANSFORMS_TILE_WARPBRANCHES_H

#include "heddle/Dialect/Tile/Tile.h"

namespace heddle {

/// Whether other warps hold parts of what a reduction combines.
bool crossesWarps(tile::ReduceOp op);

/// Whether a conversion only renames registers.
bool staysInThread(tile::ConvertLayoutOp op);

/// Whether what an operation on tiles computes for a warp's elements needs nothing of other warps but shared memory.
bool staysInWarp(mlir::Operation *op);

/// Whether each warp that holds a row of one of the tiles, or a part of it, knows all of that row of `condition`.
bool holdsRowsOf(mlir::RankedTensorType condition, mlir::TypeRange tiles);

/// Inlines each tile.if_any whose warps can't decide for themselves; returns their number.
unsigned inlineSharedBranches(tile::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_WARPBRANCHES_H
