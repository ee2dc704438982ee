//===- TileProgram.h - tile kernels with layouts, simulated -----*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_TILETONVVM_TILEPROGRAM_H
#define HEDDLE_TEST_UNIT_TILETONVVM_TILEPROGRAM_H

#include "../NVVMToSIMT/SimtProgram.h"

#include "heddle/Layout/Layout.h"

#include <memory>
#include <random>

namespace heddle::test {

/// The kernel @k of a module, through convert-tile-to-nvvm. Of its arguments those are left that are used: pointers and scalars, if
/// memrefs are static.
std::unique_ptr<SimtProgram> compileTiles(const std::string &text);

/// Layouts of a tile of 2^rowBits x 2^columnBits.
struct TileShape {
  int rowBits, columnBits;
  int64_t rows() const { return int64_t(1) << rowBits; }
  int64_t columns() const { return int64_t(1) << columnBits; }
  int64_t size() const { return rows() * columns(); }
};

/// A layout in which bits of registers, lanes and warps are spread at random over the bits of the coordinates. With `mixes`, some
/// coordinates are sums of two; lanes that are left over, and one register bit in some layouts, hold copies.
layout::Layout randomLayout(std::mt19937 &random, TileShape shape, int warpBits = 0,
                            bool mixes = true);

/// "#tile.layout<...>"
std::string textOf(const layout::Layout &layout);

/// The reproducer that a failing case prints.
inline std::string caseText(int seed, const layout::Layout &layout) {
  return "seed " + std::to_string(seed) + ": " + layout.str();
}

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_TILETONVVM_TILEPROGRAM_H
