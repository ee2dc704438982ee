//===- LayoutParts.h - a layout taken apart ---------------------*- C++ -*-===//
//
// The form in which operations build their result: bits are named by index and
// place value, in no order. assemble() brings the parts into the normal form
// that Layout keeps:
//   1. a repeat of even count gives its factors of two to the bits;
//   2. a repeat followed by a bit that counts on along the same indices is
//      exchanged with it, so that the bit comes first (10 = 2 * 5 = 5 * 2);
//   3. repeats that count on along the same indices are one repeat;
//   4. axes, bits and repeats are sorted, and axes of size 1 dropped.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_LAYOUTPARTS_H
#define HEDDLE_LAYOUT_LAYOUTPARTS_H

#include "heddle/Layout/Layout.h"
#include <map>

namespace heddle::layout {

/// A bit of an index: its place value.
struct BitRef {
  Dim dim;
  int64_t weight;
  bool operator==(const BitRef &other) const { return dim == other.dim && weight == other.weight; }
  bool operator<(const BitRef &other) const {
    return dim != other.dim ? dim < other.dim : weight < other.weight;
  }
};

class LayoutParts {
public:
  struct Bit {
    BitRef in;
    std::vector<BitRef> image;
  };

  std::map<Dim, int64_t> inSizes, outSizes;
  std::vector<Bit> bits;
  std::vector<BitRef> outBits;
  std::vector<Repeat> repeats;

  static LayoutParts of(const Layout &layout);
  Layout assemble() const;

private:
  void splitEvenRepeats();
  bool moveBitBelowRepeat();
  bool joinRepeats();
  bool feedsOnly(const BitRef &in, const BitRef &out) const;
};

/// All bits of the axes, in order.
std::vector<BitRef> bitsOf(const std::vector<Axis> &axes);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_LAYOUTPARTS_H
