//===- TileAnalysis.h - which tiles have a buffer, and how long -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILEANALYSIS_H
#define HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILEANALYSIS_H

#include "heddle/Dialect/Tile/Tile.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// Rows and columns of a tile's buffer. A tile of rank 1 is one row.
struct TileShape {
  int64_t rows, columns;
};

/// The type of a value that is a tile of rank 1 or 2; null otherwise. Tiles of rank 0 are scalars.
mlir::RankedTensorType tileType(mlir::Value value);
/// Whether a type is a tile of rank 0.
bool isScalarTile(mlir::Type type);
TileShape shapeOf(mlir::RankedTensorType type);

/// Whether an op computes each element of one tile from those of its operands at the same place.
bool isElementwise(mlir::Operation *op);

/// Whether a tile costs nothing to compute wherever it is needed: equal or consecutive elements.
bool isFree(mlir::Value value);

/// Whether a tile has no buffer: its elements are computed where its user reads them.
bool isVirtual(mlir::Value value);

/// The last op of `block`, or one around it, that reads a value or a virtual tile made of it; null if there is none.
mlir::Operation *lastRead(mlir::Value value, mlir::Block *block);

/// The tiles with buffers that `value` is computed from. `samePlace` is cleared if an element may depend on others than the one at
/// its place.
void collectLeaves(mlir::Value value, llvm::SetVector<mlir::Value> &leaves, bool &samePlace);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILEANALYSIS_H
