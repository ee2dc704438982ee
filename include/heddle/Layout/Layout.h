//===- Layout.h - maps from hardware positions to tile elements -*- C++ -*-===//
//
// The algebra
// -----------
// A layout says which element of a tile each register of each lane of each warp holds, or which
// element lies at each offset of shared memory. It is a function
//
//     (Register, Lane, Warp, ...) -> (Coord0, Coord1, ...)        registers
//     (Offset)                    -> (Coord0, Coord1, ...)        memory
//
// 1. Every index, of hardware or of the tile, is a number in mixed radix, from the least
//    significant digit up: 80 = 2 * 2 * 2 * 2 * 5. Digits of base 2 are called bits.
// 2. On the bits the function is linear over GF(2): each input bit has a basis, the coordinates
//    that it contributes, and contributions are combined by XOR. This covers every fragment of the
//    tensor cores and every XOR swizzle of shared memory.
// 3. A digit of odd base is a Repeat: it goes from one input index to one coordinate unchanged
//    (or is dropped, where all its values hold the same elements). This admits widths such as 80,
//    112 and 176 that have no power of two.
// 4. Register counts elements, not 32-bit registers: narrower elements fill a 32-bit register from
//    its low bits up. Lane is 0..31, Warp counts within a warpgroup or a block of threads.
// 5. Indices of size 1 are not stored. size() of one that is missing is 1, and so is its radix.
//
// Layouts compose and invert like functions. For registers R and shared memory S of one tile,
// compose(S.inverse(), R) is the offset that each register is stored to, and everything asked about
// an access (vector width, bank conflicts, ldmatrix) is read off that one map.
//
// Worked example: the accumulator of mma.m16n8k16, widened to 16 x 40.
//
//     Layout c = Layout::identity(Dim::Register, Dim::Coord1, 2)     // 2 neighbouring columns
//                * Layout::identity(Dim::Lane, Dim::Coord1, 4)       // 4 lanes cover 8 columns
//                * Layout::identity(Dim::Lane, Dim::Coord0, 8)       // 8 quads cover 8 rows
//                * Layout::identity(Dim::Register, Dim::Coord0, 2)   // and the 8 rows below
//                * Layout::identity(Dim::Register, Dim::Coord1, 5);  // 5 such tiles side by side
//
// prints as
//
//     register = [(0,1) (8,0)], lane = [(0,2) (0,4) (1,0) (2,0) (4,0)],
//     5 x register 4 -> coord1 8; coord0 16, coord1 40
//
// Register 14 of lane 9: 14 = 2 + 4 * 3 has bit 1 set, basis (8,0), and repeat digit 3, that is
// column 24; 9 = 1 + 8 gives (0,2) and (2,0). The element is row 8 ^ 2 = 10, column 24 + 2 = 26.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_LAYOUT_H
#define HEDDLE_LAYOUT_LAYOUT_H

#include "heddle/Layout/BitMatrix.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::layout {

/// What an index counts. Offset is in elements of the tile.
enum class Dim : uint8_t {
  Register,
  Lane,
  Warp,
  Warpgroup,
  CTA,
  Offset,
  Coord0,
  Coord1,
  Coord2,
  Coord3
};

const char *dimName(Dim dim);

/// The value of one index.
struct Index {
  Dim dim;
  int64_t value;
  bool operator==(const Index &other) const { return dim == other.dim && value == other.value; }
};
using Point = std::vector<Index>;

/// The value of `dim` in a point; 0 where the point does not name it.
int64_t valueOf(const Point &point, Dim dim);

/// An index with its size and the place values of its bits, lowest first.
struct Axis {
  Dim dim;
  int64_t size;
  std::vector<int64_t> weights;
  bool operator==(const Axis &other) const {
    return dim == other.dim && size == other.size && weights == other.weights;
  }
};

/// A digit of base `count`: (in / inStride) % count is added to `out`, times outStride. Without
/// `out` its values hold the same elements; without `in` the coordinate's digit is always 0.
struct Repeat {
  std::optional<Dim> in;
  int64_t inStride;
  std::optional<Dim> out;
  int64_t outStride;
  int64_t count;
  bool operator==(const Repeat &other) const {
    return in == other.in && inStride == other.inStride && out == other.out &&
           outStride == other.outStride && count == other.count;
  }
};

/// The bases of one input, lowest bit first; each has one coordinate per output.
struct InputBases {
  Dim dim;
  std::vector<std::vector<int64_t>> bases;
};

class Layout {
public:
  /// The layout of one position and one element.
  Layout() = default;

  /// A layout from its parts. `outputs` gives the sizes; a basis has its coordinates in the same
  /// order. The size of an input follows from its number of bases and its repeats. Returns nothing,
  /// and the reason in `why`, if the parts do not fit together.
  static std::optional<Layout> create(const std::vector<InputBases> &inputs,
                                      const std::vector<std::pair<Dim, int64_t>> &outputs,
                                      const std::vector<Repeat> &repeats = {},
                                      std::string *why = nullptr);

  /// `in` counts along `out`; any count >= 1.
  static Layout identity(Dim in, Dim out, int64_t count);

  /// All `count` values of `in` hold the same element.
  static Layout broadcast(Dim in, int64_t count);

  const std::vector<Axis> &inputs() const { return ins; }
  const std::vector<Axis> &outputs() const { return outs; }
  const std::vector<Repeat> &repeats() const { return digits; }
  /// The map of the bits: a column per input bit, a row per output bit, in the order of the axes.
  const BitMatrix &linear() const { return matrix; }

  int64_t inSize(Dim dim) const;
  int64_t outSize(Dim dim) const;
  /// Number of hardware positions, and of tile elements.
  int64_t numPositions() const;
  int64_t numElements() const;

  /// The coordinates that bit `bit` of `in` contributes.
  Point basis(Dim in, int bit) const;

  /// The image of a position. Indices that `position` leaves out are 0.
  Point apply(const Point &position) const;

  /// Calls `visit` with every position and its image, the first input counting fastest.
  void forEach(const std::function<void(const Point &, const Point &)> &visit) const;

  bool isInjective() const;
  bool isSurjective() const;

  /// Each needs the named property: a right inverse a surjective layout (of the positions of an
  /// element it names one), a left inverse an injective one (outside the image it is arbitrary),
  /// and the inverse both.
  std::optional<Layout> rightInverse() const;
  std::optional<Layout> leftInverse() const;
  std::optional<Layout> inverse() const;

  /// The part where all inputs but `dims` are 0.
  Layout restrictInputs(const std::vector<Dim> &dims) const;

  /// The part where `dim` is below `size`, which must be a product of its lowest digits.
  std::optional<Layout> restrictInput(Dim dim, int64_t size) const;

  /// Only the outputs `dims`: the layout of a row statistic is that of the tile without columns.
  Layout projectOutputs(const std::vector<Dim> &dims) const;

  /// Without the bits and repeats of `in` that contribute nothing.
  Layout withoutBroadcast(Dim in) const;

  /// Outputs renamed, such as Coord0 and Coord1 exchanged for a transposed tile.
  Layout renameOutputs(const std::vector<std::pair<Dim, Dim>> &names) const;

  std::string str() const;

  /// Equal parts, which implies equal maps. sameMap() is the test for equal maps.
  bool operator==(const Layout &other) const {
    return ins == other.ins && outs == other.outs && digits == other.digits &&
           matrix == other.matrix;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }

private:
  friend class LayoutParts;
  Layout swapped() const;

  std::vector<Axis> ins, outs;
  std::vector<Repeat> digits;
  BitMatrix matrix;
};

/// Both layouts side by side: the indices of `outer` count above those of `inner`. The sizes of the
/// result must stay below 2^62.
Layout operator*(const Layout &inner, const Layout &outer);

/// `count` copies of a layout along `out`, numbered by `in`.
Layout concatenate(const Layout &layout, Dim in, Dim out, int64_t count);

/// The layout that applies `inner` first. The outputs of `inner` must be the inputs of `outer`,
/// with digits of the same bases in the same order.
std::optional<Layout> compose(const Layout &outer, const Layout &inner, std::string *why = nullptr);

/// Same sizes and the same element at every position.
bool sameMap(const Layout &a, const Layout &b);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_LAYOUT_H
