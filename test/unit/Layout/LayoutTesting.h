//===- LayoutTesting.h - points, pairs and random layouts -------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_LAYOUT_LAYOUTTESTING_H
#define HEDDLE_TEST_UNIT_LAYOUT_LAYOUTTESTING_H

#include "heddle/Layout/Layout.h"
#include <ostream>
#include <random>
#include <utility>

namespace heddle::layout {

inline void PrintTo(const Layout &layout, std::ostream *os) { *os << layout.str(); }

using Element = std::pair<int64_t, int64_t>; // row, column

inline Element elementAt(const Layout &layout, const Point &position) {
  Point element = layout.apply(position);
  return {valueOf(element, Dim::Coord0), valueOf(element, Dim::Coord1)};
}

/// The element in register `reg` of lane 4 * g + t.
inline Element elementAt(const Layout &layout, int reg, int g, int t, int warp = 0) {
  return elementAt(layout, {{Dim::Register, reg}, {Dim::Lane, 4 * g + t}, {Dim::Warp, warp}});
}

/// Calls `check(g, t)` for the 32 lanes.
template <typename Check> void forEachLane(Check check) {
  for (int g = 0; g < 8; ++g)
    for (int t = 0; t < 4; ++t)
      check(g, t);
}

/// Layouts from a seed, for laws that hold for all of them.
class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : seed(seed), engine(seed) {}

  int64_t below(int64_t bound) { return int64_t(engine() % uint64_t(bound)); }

  /// A layout between the given indices with up to 2^4 * 9 values each. Bases are arbitrary, and
  /// some repeats are broadcast or leave a digit of a coordinate at 0.
  Layout any(const std::vector<Dim> &inDims, const std::vector<Dim> &outDims) {
    return make(inDims, outDims, /*bijective=*/false);
  }

  /// A layout that holds every element once: as many bits in as out, mixed at random. Sizes and
  /// digits depend on the seed alone, so that the layouts of one generator compose.
  Layout bijective(const std::vector<Dim> &inDims, const std::vector<Dim> &outDims) {
    return make(inDims, outDims, /*bijective=*/true);
  }

private:
  Layout make(const std::vector<Dim> &inDims, const std::vector<Dim> &outDims, bool bijective) {
    // Sizes: a power of two and the odd digits above it.
    std::mt19937_64 shape(bijective ? seed : unsigned(engine()));
    auto below = [&](int64_t bound) { return int64_t(shape() % uint64_t(bound)); };
    std::vector<int64_t> inBits(inDims.size()), outBits(outDims.size());
    int64_t total = 2 + below(6);
    for (int64_t bit = 0; bit < total; ++bit)
      ++inBits[below(inDims.size())];
    for (int64_t bit = bijective ? total : 1 + below(7); bit > 0; --bit)
      ++outBits[below(outDims.size())];
    std::vector<int64_t> inTop, outTop;
    for (int64_t bits : inBits)
      inTop.push_back(int64_t(1) << bits);
    for (int64_t bits : outBits)
      outTop.push_back(int64_t(1) << bits);
    std::vector<Repeat> repeats;
    for (int64_t count = below(3); count > 0; --count) {
      int64_t base = 3 + 2 * below(2), in = below(inDims.size()), out = below(outDims.size());
      int64_t form = bijective ? 0 : below(4);
      Repeat repeat{inDims[in], inTop[in], outDims[out], outTop[out], base};
      if (form == 1)
        repeat.out.reset();
      if (form == 2)
        repeat.in.reset();
      inTop[in] *= repeat.in ? base : 1;
      outTop[out] *= repeat.out ? base : 1;
      repeats.push_back(repeat);
    }

    std::vector<std::pair<Dim, int64_t>> outputs;
    for (size_t out = 0; out < outDims.size(); ++out)
      outputs.push_back({outDims[out], outTop[out]});
    int64_t width = 0;
    for (int64_t bits : outBits)
      width += bits;
    std::vector<uint64_t> columns = bijective ? invertible(int(total)) : std::vector<uint64_t>();
    std::vector<InputBases> inputs;
    size_t next = 0;
    for (size_t in = 0; in < inDims.size(); ++in) {
      inputs.push_back({inDims[in], {}});
      for (int64_t bit = 0; bit < inBits[in]; ++bit) {
        uint64_t column = bijective ? columns[next++] : engine() & ((uint64_t(1) << width) - 1);
        inputs.back().bases.emplace_back();
        for (int64_t bits : outBits) {
          inputs.back().bases.back().push_back(int64_t(column & ((uint64_t(1) << bits) - 1)));
          column >>= bits;
        }
      }
    }
    return *Layout::create(inputs, outputs, repeats);
  }

  /// The columns of an invertible matrix: the unit matrix after random additions of columns.
  std::vector<uint64_t> invertible(int size) {
    std::vector<uint64_t> columns;
    for (int i = 0; i < size; ++i)
      columns.push_back(uint64_t(1) << i);
    for (int step = 0; step < 4 * size; ++step) {
      int64_t a = below(size), b = below(size);
      if (a != b)
        columns[a] ^= columns[b];
    }
    return columns;
  }

  unsigned seed;
  std::mt19937_64 engine;
};

} // namespace heddle::layout

#endif // HEDDLE_TEST_UNIT_LAYOUT_LAYOUTTESTING_H
