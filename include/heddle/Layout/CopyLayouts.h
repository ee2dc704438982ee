//===- CopyLayouts.h - who copies what from global memory -------*- C++ -*-===//

#ifndef HEDDLE_LAYOUT_COPYLAYOUTS_H
#define HEDDLE_LAYOUT_COPYLAYOUTS_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

/// A row-major tile spread over `warps` warps in vectors of `vector` elements (a power of two):
/// neighbouring lanes take neighbouring vectors of a row, then further rows; warps take further
/// rows, then further columns; registers go over what is left, rows first. Lanes and warps beyond the
/// powers of two in the tile's size hold copies. At most `mostLanes` lanes, a power of two, share a row. Nothing if rows are no
/// multiple of a vector.
std::optional<Layout> blockedLayout(int64_t rows, int64_t columns, int64_t vector, int64_t warps,
                                    std::string *why = nullptr, int64_t mostLanes = 32);

/// The largest size (16, 8 or 4 bytes) of cp.async that can move a tile between row-major global
/// memory and `shared` when the threads divide it as `registers` says; nothing if none can. Only 16
/// bytes can bypass L1 (.cg).
std::optional<int> asyncCopyBytes(const Layout &registers, const Layout &shared, int elementBits);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_COPYLAYOUTS_H
