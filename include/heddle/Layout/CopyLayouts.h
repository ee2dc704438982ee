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

/// Neighbouring lanes along a row, further ones down the rows, and warps along the dimension that is not scanned: along rows, or down.
Layout scanLayout(int64_t rows, int64_t columns, int64_t warps, bool isDown);

/// A blockedLayout for copies of a row-major tile to `shared`: lanes that share a row take 128 bytes of it. Each row of a thread is a
/// pointer of 64 bits to compute; so where vectors have 16 bytes and threads then have fewer rows, lanes take 64 bytes, whole sectors,
/// and each thread two vectors of its row. Lanes go down the rows in an order without bank conflicts in `shared`, else it stays at 128.
std::optional<Layout> copyLayout(int64_t rows, int64_t columns, int64_t vector, int64_t warps,
                                 const Layout &shared, int elementBits, std::string *why = nullptr);

/// The largest size (16, 8 or 4 bytes) of cp.async that can move a tile between row-major global
/// memory and `shared` when the threads divide it as `registers` says; nothing if none can. Only 16
/// bytes can bypass L1 (.cg).
std::optional<int> asyncCopyBytes(const Layout &registers, const Layout &shared, int elementBits);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_COPYLAYOUTS_H
