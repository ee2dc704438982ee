//===- Slices.h - parts of tiles without moving elements --------*- C++ -*-===//

#ifndef HEDDLE_LAYOUT_SLICES_H
#define HEDDLE_LAYOUT_SLICES_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

/// The layout of the first `size` elements along `out`, if every thread goes over all blocks of so
/// many elements by registers of its own: then a slice that begins and ends at a block needs no
/// other thread's elements. Nothing, and the reason in `why`, if lanes or warps, or registers mixed
/// with others, count the blocks. `size` divides the extent.
std::optional<Layout> blockOfThread(const Layout &layout, Dim out, int64_t size,
                                    std::string *why = nullptr);

/// `count` such blocks one after another along `out`, in registers.
Layout blocksOfThread(const Layout &block, Dim out, int64_t count);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_SLICES_H
