//===- AccessWidth.h - bytes of one access to a view ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_ACCESSWIDTH_H
#define HEDDLE_LIB_TRANSFORMS_TILE_ACCESSWIDTH_H

#include "heddle/Dialect/Tile/Tile.h"

namespace heddle {

/// The most bytes that one access can move.
inline constexpr int64_t maxAccessBytes = 16;

/// The bytes, at most 16, that an access to a row of the tile at `indices` can move: its columns are neighbours in memory, and
/// addresses are multiples of it, given that the kernel's arguments are aligned as the extent of the view's rows allows.
int64_t accessBytes(mlir::Value view, mlir::ValueRange indices, mlir::RankedTensorType tile);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_ACCESSWIDTH_H
