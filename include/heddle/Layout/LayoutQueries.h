//===- LayoutQueries.h - what a layout says about an access -----*- C++ -*-===//

#ifndef HEDDLE_LAYOUT_LAYOUTQUERIES_H
#define HEDDLE_LAYOUT_LAYOUTQUERIES_H

#include "heddle/Layout/Layout.h"
#include <set>

namespace heddle::layout {

/// How the positions of a layout cover its tile. Every element that is held at all is held by the
/// same number of positions.
struct Coverage {
  bool complete;
  int64_t copies;

  bool isExact() const { return complete && copies == 1; }
  bool operator==(const Coverage &other) const {
    return complete == other.complete && copies == other.copies;
  }
};

/// The coverage by all positions. That by the lanes of one warp, for one register, is
/// coverage(layout.restrictInputs({Dim::Lane})).
Coverage coverage(const Layout &layout);

/// A thread's elements that follow one another along an output.
struct ContiguousElements {
  int64_t count;                 // a power of two; their first one is a multiple of it
  std::vector<int> registerBits; // bit i of the element's number is this bit of Register
};

/// The longest aligned runs along `out` that each thread holds completely. For memory, `out` is
/// Offset of compose(memory.inverse(), registers), and `count` is the widest vector access.
ContiguousElements contiguousElements(const Layout &layout, Dim out);

/// The bits of `in` that contribute to `out`, as a mask of index values. A reduction of a tile along
/// `out` needs a butterfly shuffle for each bit of Lane in this mask.
int64_t inputMask(const Layout &layout, Dim in, Dim out);

/// The bits of `in` that contribute nothing, as a mask of index values: two indices that differ in
/// them alone hold the same elements.
int64_t broadcastMask(const Layout &layout, Dim in);

/// Whether the elements along `out` lie in several warps.
bool isSpreadOverWarps(const Layout &layout, Dim out);

/// The pairs of a warp and a row (value of Coord0) of which the warp holds some element.
std::set<std::pair<int64_t, int64_t>> rowsOfWarps(const Layout &layout);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_LAYOUTQUERIES_H
