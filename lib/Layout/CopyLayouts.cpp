//===- CopyLayouts.cpp - who copies what from global memory ---------------===//

#include "heddle/Layout/CopyLayouts.h"
#include "LayoutParts.h"
#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/LayoutQueries.h"
#include <algorithm>
#include <set>

namespace heddle::layout {

/// The largest power of two that divides `size`, at most `limit`.
static int64_t powerOfTwoPart(int64_t size, int64_t limit) { return std::min(limit, size & -size); }

/// Vectors of a row in registers, then lanes along and down, then warps, which hold the rest of the tile in further registers.
static Layout tiledLayout(int64_t rows, int64_t columns, int64_t vector, int64_t lanesAlong,
                          int64_t lanesDown, int64_t warpsAlong, int64_t warpsDown, int64_t warps) {
  return Layout::identity(Dim::Register, Dim::Coord1, vector) *
         Layout::identity(Dim::Lane, Dim::Coord1, lanesAlong) *
         Layout::identity(Dim::Lane, Dim::Coord0, lanesDown) *
         Layout::broadcast(Dim::Lane, 32 / (lanesAlong * lanesDown)) *
         Layout::identity(Dim::Warp, Dim::Coord0, warpsDown) *
         Layout::identity(Dim::Warp, Dim::Coord1, warpsAlong) *
         Layout::broadcast(Dim::Warp, warps / (warpsDown * warpsAlong)) *
         Layout::identity(Dim::Register, Dim::Coord0, rows / (lanesDown * warpsDown)) *
         Layout::identity(Dim::Register, Dim::Coord1, columns / (vector * lanesAlong * warpsAlong));
}

std::optional<Layout> blockedLayout(int64_t rows, int64_t columns, int64_t vector, int64_t warps,
                                    std::string *why, int64_t mostLanes) {
  auto fail = [&](std::string text) -> std::optional<Layout> {
    if (why)
      *why = text;
    return std::nullopt;
  };
  if (rows < 1 || columns < 1 || vector < 1 || (vector & (vector - 1)) || columns % vector != 0)
    return fail("expected rows of a multiple of the vector's elements (a power of two), got " +
                std::to_string(columns) + " and " + std::to_string(vector));
  if (warps < 1 || (warps & (warps - 1)))
    return fail("expected the number of warps to be a power of two, got " + std::to_string(warps));
  int64_t lanesAlong = powerOfTwoPart(columns / vector, mostLanes);
  int64_t lanesDown = powerOfTwoPart(rows, 32 / lanesAlong);
  int64_t warpsDown = powerOfTwoPart(rows / lanesDown, warps);
  int64_t warpsAlong = powerOfTwoPart(columns / (vector * lanesAlong), warps / warpsDown);
  return tiledLayout(rows, columns, vector, lanesAlong, lanesDown, warpsAlong, warpsDown, warps);
}

Layout scanLayout(int64_t rows, int64_t columns, int64_t warps, bool isDown) {
  int64_t lanesAlong = powerOfTwoPart(columns, 32);
  int64_t lanesDown = powerOfTwoPart(rows, 32 / lanesAlong);
  int64_t warpsDown = isDown ? 1 : powerOfTwoPart(rows / lanesDown, warps);
  int64_t warpsAlong = isDown ? powerOfTwoPart(columns / lanesAlong, warps) : 1;
  return tiledLayout(rows, columns, /*vector=*/1, lanesAlong, lanesDown, warpsAlong, warpsDown,
                     warps);
}

/// Rows that the registers of a thread count.
static size_t rowsOfThread(const Layout &layout) {
  std::set<int64_t> rows;
  layout.restrictInputs({Dim::Register}).forEach([&](const Point &, const Point &element) {
    rows.insert(valueOf(element, Dim::Coord0));
  });
  return rows.size();
}

/// Two lane bits change places.
static Layout withLanesExchanged(const Layout &layout, int64_t a, int64_t b) {
  LayoutParts parts = LayoutParts::of(layout);
  for (LayoutParts::Bit &bit : parts.bits)
    if (bit.in.dim == Dim::Lane && (bit.in.weight == a || bit.in.weight == b))
      bit.in.weight = a + b - bit.in.weight;
  return parts.assemble();
}

std::optional<Layout> copyLayout(int64_t rows, int64_t columns, int64_t vector, int64_t warps,
                                 const Layout &shared, int elementBits, std::string *why) {
  constexpr int64_t lineBits = 128 * 8, widestBits = 16 * 8;
  int64_t lanes = std::clamp<int64_t>(lineBits / (vector * elementBits), 1, 32);
  std::optional<Layout> lines = blockedLayout(rows, columns, vector, warps, why, lanes);
  if (!lines || vector * elementBits != widestBits)
    return lines;
  std::optional<Layout> halves = blockedLayout(rows, columns, vector, warps, nullptr, lanes / 2);
  if (!halves || rowsOfThread(*halves) >= rowsOfThread(*lines))
    return lines;
  for (int64_t lane = lanes / 2; lane < 32; lane *= 2) {
    Layout copy = withLanesExchanged(*halves, lanes / 2, lane);
    std::optional<AccessCost> cost = transferCost(copy.restrictInputs({Dim::Register, Dim::Lane}),
                                                  shared, elementBits, widestBits / 8);
    if (cost && cost->conflicts == 0)
      return copy;
  }
  return lines;
}

std::optional<int> asyncCopyBytes(const Layout &registers, const Layout &shared, int elementBits) {
  std::optional<Layout> inverse = shared.inverse();
  std::optional<Layout> offsets =
      inverse ? compose(*inverse, registers) : std::optional<Layout>(std::nullopt);
  if (!offsets)
    return std::nullopt;
  ContiguousElements global = contiguousElements(registers, Dim::Coord1);
  ContiguousElements local = contiguousElements(*offsets, Dim::Offset);
  // The vector is one in both memories only as far as the same registers count in both.
  int64_t count = 1;
  for (size_t bit = 0; bit < global.registerBits.size() && bit < local.registerBits.size() &&
                       global.registerBits[bit] == local.registerBits[bit];
       ++bit)
    count *= 2;
  for (int bytes : {16, 8, 4})
    if (bytes * 8 % elementBits == 0 && count * elementBits >= bytes * 8)
      return bytes;
  return std::nullopt;
}

} // namespace heddle::layout
