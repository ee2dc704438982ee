//===- Conversion.h - what it takes to change a layout ----------*- C++ -*-===//
//
// A conversion gives every position of `to` the element that it is to hold, from a position of
// `from` that holds it. Which positions can serve decides what the conversion costs:
//
// 1. Let A and B be the maps of `from` and `to`. Position h can get its element from a position
//    that shares some of its indices (its warp, its lane, ...) and is free in others (F) if
//    B(h) - A(h without F) lies in the image of A on F.
// 2. On the bits this is linear in h, so it holds for all positions if it holds for each input
//    bit of `to`. The kinds below are tried from the cheapest on, each with a larger F.
// 3. Repeats that are equal in both layouts cancel. If they are not, the positions are enumerated.
//
// Example: the accumulators of two m16n8 tiles are, register for register, the A operand of
// m16n8k16 (NoOp), but as the operand of an 8-bit m16n8k32 each lane needs four columns of one row
// of which another lane of its quad has two (QuadShuffle).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_CONVERSION_H
#define HEDDLE_LAYOUT_CONVERSION_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

/// From the cheapest to the most expensive.
enum class ConversionKind {
  NoOp,                // each register already holds its element
  RegisterPermutation, // registers are renamed, in all lanes alike
  RegisterSelect,      // within each thread, but which register differs from lane to lane
  QuadShuffle,         // between the four lanes of a quad
  WarpShuffle,         // between the lanes of a warp
  SharedMemory,        // between the warps of a CTA
  CrossCTA             // between CTAs
};

const char *conversionKindName(ConversionKind kind);

struct Conversion {
  ConversionKind kind;
  /// For each position of `to`, the position of `from` that its element comes from. Absent if the
  /// positions of the two layouts are counted in digits of different bases.
  std::optional<Layout> source;
};

/// Classifies the conversion. Returns nothing, and the reason in `why`, if the tiles differ in size
/// or `from` does not hold every element that `to` needs.
std::optional<Conversion> classifyConversion(const Layout &from, const Layout &to,
                                             std::string *why = nullptr);

/// The same answer by looking at every position: slow, and independent of the algebra.
std::optional<ConversionKind> classifyByEnumeration(const Layout &from, const Layout &to);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_CONVERSION_H
