//===- Passes.h - passes on tile kernels -----------------------*- C++ -*-===//

#ifndef HEDDLE_TRANSFORMS_TILE_PASSES_H
#define HEDDLE_TRANSFORMS_TILE_PASSES_H

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Transforms/Tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Transforms/Tile/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_TRANSFORMS_TILE_PASSES_H
