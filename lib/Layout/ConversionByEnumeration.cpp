//===- ConversionByEnumeration.cpp - conversions position by position -----===//

#include "heddle/Layout/Conversion.h"
#include <algorithm>
#include <map>

namespace heddle::layout {

namespace {

struct Position {
  int64_t reg, lane, warp, warpgroup, cta;

  explicit Position(const Point &point)
      : reg(valueOf(point, Dim::Register)), lane(valueOf(point, Dim::Lane)),
        warp(valueOf(point, Dim::Warp)), warpgroup(valueOf(point, Dim::Warpgroup)),
        cta(valueOf(point, Dim::CTA)) {}
};

/// The kind of a move between two positions, as far as it does not depend on other positions.
ConversionKind moveKind(const Position &from, const Position &to) {
  if (from.cta != to.cta)
    return ConversionKind::CrossCTA;
  if (from.warp != to.warp || from.warpgroup != to.warpgroup)
    return ConversionKind::SharedMemory;
  if (from.lane / 4 != to.lane / 4)
    return ConversionKind::WarpShuffle;
  if (from.lane != to.lane)
    return ConversionKind::QuadShuffle;
  return from.reg == to.reg ? ConversionKind::NoOp : ConversionKind::RegisterSelect;
}

std::vector<int64_t> key(const Point &element) {
  std::vector<int64_t> values;
  for (const Index &index : element)
    values.push_back(index.value);
  return values;
}

} // namespace

std::optional<ConversionKind> classifyByEnumeration(const Layout &from, const Layout &to) {
  std::map<std::vector<int64_t>, std::vector<Position>> holders;
  from.forEach([&](const Point &position, const Point &element) {
    holders[key(element)].push_back(Position(position));
  });

  bool complete = true, inPlace = true;
  ConversionKind worst = ConversionKind::NoOp;
  // For each register of `to`, the registers of `from` that can serve it in every thread so far.
  std::map<int64_t, std::vector<int64_t>> sources;
  to.forEach([&](const Point &point, const Point &element) {
    Position position(point);
    auto held = holders.find(key(element));
    if (held == holders.end()) {
      complete = false;
      return;
    }
    ConversionKind best = ConversionKind::CrossCTA;
    std::vector<int64_t> registers;
    for (const Position &holder : held->second) {
      ConversionKind kind = moveKind(holder, position);
      best = std::min(best, kind);
      if (kind <= ConversionKind::RegisterSelect)
        registers.push_back(holder.reg);
    }
    worst = std::max(worst, best);
    inPlace = inPlace && best == ConversionKind::NoOp;
    auto [entry, isNew] = sources.try_emplace(position.reg, registers);
    if (!isNew) {
      auto missing = [&](int64_t reg) {
        return std::find(registers.begin(), registers.end(), reg) == registers.end();
      };
      entry->second.erase(std::remove_if(entry->second.begin(), entry->second.end(), missing),
                          entry->second.end());
    }
  });
  if (!complete)
    return std::nullopt;
  if (worst > ConversionKind::RegisterSelect)
    return worst;
  if (inPlace)
    return ConversionKind::NoOp;
  bool uniform = std::none_of(sources.begin(), sources.end(),
                              [](const auto &entry) { return entry.second.empty(); });
  return uniform ? ConversionKind::RegisterPermutation : ConversionKind::RegisterSelect;
}

} // namespace heddle::layout
