//===- SplitReductions.h - loop-carried sums of rows ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_SPLITREDUCTIONS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_SPLITREDUCTIONS_H

#include "heddle/Dialect/Tile/Tile.h"

namespace heddle {

/// Moves the part of loop-carried sums that crosses threads behind the loops; returns the number of sums.
unsigned splitLoopCarriedSums(tile::KernelOp kernel);

/// Lets each thread ask its own elements whether a maximum of rows exceeds a limit, where a tile.if_any asks that; returns the number
/// of such conditions.
unsigned splitConditions(tile::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_SPLITREDUCTIONS_H
