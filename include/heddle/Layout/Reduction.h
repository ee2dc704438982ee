//===- Reduction.h - layouts of partly reduced tiles ------------*- C++ -*-===//

#ifndef HEDDLE_LAYOUT_REDUCTION_H
#define HEDDLE_LAYOUT_REDUCTION_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

/// The layout after every thread has combined its elements along `along`. What is left of that
/// coordinate counts the groups of threads that hold different parts of a row; threads that held
/// the same elements hold the same part. For the accumulator of an m16n8 matrix instruction that
/// is a column for each lane of a quad:
///
///     register = [(0,1) (8,0)], lane = [(0,2) (0,4) (1,0) (2,0) (4,0)]    becomes
///     register = [(8,0)],       lane = [(0,1) (0,2) (1,0) (2,0) (4,0)]
///
/// Nothing if the elements of one row are not a product of register bits.
std::optional<Layout> reducedInThread(const Layout &layout, Dim along);

/// A layout of `count` parts along the new output `along` for each element of `rows`, such that the
/// threads that hold a row in `rows` hold all its parts together: lanes with copies of a row divide
/// them, and registers count the rest.
Layout withParts(const Layout &rows, Dim along, int64_t count);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_REDUCTION_H
