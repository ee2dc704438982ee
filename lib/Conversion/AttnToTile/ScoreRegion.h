//===- ScoreRegion.h - the score region on tiles ----------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_SCOREREGION_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_SCOREREGION_H

#include "heddle/Conversion/AttnToTile/TileEmitter.h"

namespace heddle {

/// Equal for regions that compute the same in the same order.
mlir::Attribute scoreRegionKey(mlir::Region &region);

/// The region's result for all scores of a tile. An argument is a tile of the shape of `scores` (i32 for an index), a scalar that is
/// the same for all of them, or a memref for a captured tensor.
Tile emitScoreRegion(TileEmitter &emit, mlir::Region &region, Tile scores,
                     mlir::ValueRange arguments);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_SCOREREGION_H
