//===- RegisterMatch.cpp - which registers hold the same elements ---------===//
//
// The element of a register in a thread combines, digit by digit, a part that the register gives and one that the thread gives. If
// two layouts agree on the threads' parts, registers with equal parts hold equal elements, in every thread.
//
//===----------------------------------------------------------------------===//

#include "RegisterMatch.h"

#include "heddle/Dialect/Tile/Tile.h"
#include <map>

namespace heddle {

using layout::Dim;
using layout::Layout;

namespace {

using Coordinates = std::array<int64_t, 2>;

Coordinates elementAt(const Layout &layout, int64_t reg, int64_t lane, int64_t warp) {
  layout::Point point = layout.apply({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}});
  return {layout::valueOf(point, Dim::Coord0), layout::valueOf(point, Dim::Coord1)};
}

} // namespace

Layout withoutDimension(const Layout &layout, unsigned dim, unsigned rank) {
  std::vector<Dim> kept;
  std::vector<std::pair<Dim, Dim>> names;
  for (unsigned other = 0; other < rank; ++other) {
    if (other == dim)
      continue;
    names.emplace_back(tile::coordinate(other), tile::coordinate(kept.size()));
    kept.push_back(tile::coordinate(other));
  }
  return layout.projectOutputs(kept).renameOutputs(names);
}

std::optional<llvm::SmallVector<int64_t>> matchRegisters(const Layout &from, const Layout &to,
                                                         int64_t warps) {
  for (int64_t warp = 0; warp < warps; ++warp)
    for (int64_t lane = 0; lane < 32; ++lane)
      if (elementAt(from, 0, lane, warp) != elementAt(to, 0, lane, warp))
        return std::nullopt;
  std::map<Coordinates, int64_t> held;
  for (int64_t reg = 0, count = from.inSize(Dim::Register); reg < count; ++reg)
    held.try_emplace(elementAt(from, reg, 0, 0), reg);
  llvm::SmallVector<int64_t> match;
  for (int64_t reg = 0, count = to.inSize(Dim::Register); reg < count; ++reg) {
    auto found = held.find(elementAt(to, reg, 0, 0));
    if (found == held.end())
      return std::nullopt;
    match.push_back(found->second);
  }
  return match;
}

std::optional<int64_t> matchRegister(const Layout &from, const Layout &to, int64_t reg,
                                     llvm::ArrayRef<int64_t> offsets, int64_t warps) {
  auto wanted = [&](int64_t lane, int64_t warp) {
    Coordinates element = elementAt(to, reg, lane, warp);
    for (size_t dim = 0; dim < offsets.size(); ++dim)
      element[dim] += offsets[dim];
    return element;
  };
  auto holds = [&](int64_t candidate) {
    for (int64_t warp = 0; warp < warps; ++warp)
      for (int64_t lane = 0; lane < 32; ++lane)
        if (elementAt(from, candidate, lane, warp) != wanted(lane, warp))
          return false;
    return true;
  };
  Coordinates first = wanted(0, 0);
  for (int64_t candidate = 0, count = from.inSize(Dim::Register); candidate < count; ++candidate)
    if (elementAt(from, candidate, 0, 0) == first && holds(candidate))
      return candidate;
  return std::nullopt;
}

} // namespace heddle
