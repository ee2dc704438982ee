//===- TileShapes.h - shapes and constants of tiles -------------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_TILE_TILESHAPES_H
#define HEDDLE_DIALECTS_TILE_TILESHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace heddle::tile {

/// Reports an error unless `along` is a dimension of a tile of this rank.
llvm::LogicalResult verifyAlong(mlir::Operation *op, int64_t along, int64_t rank);

/// The type of a tile, and its layout if it has one, without a dimension.
mlir::RankedTensorType withoutDim(mlir::RankedTensorType type, int64_t dim);

/// A constant of equal elements with another shape; null if `constant` is no such constant.
mlir::OpFoldResult resizedSplat(mlir::Attribute constant, mlir::RankedTensorType type);

} // namespace heddle::tile

#endif // HEDDLE_DIALECTS_TILE_TILESHAPES_H
