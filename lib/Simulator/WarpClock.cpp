//===- WarpClock.cpp - clocks of partly synchronised warps ----------------===//

#include "WarpClock.h"

using namespace heddle::sim;

template <typename Function> static void forEachLane(uint32_t lanes, Function function) {
  for (; lanes; lanes &= lanes - 1)
    function(uint32_t(__builtin_ctz(lanes)));
}

void WarpClock::syncPart(uint32_t mask) {
  if (!split) {
    if (!parts)
      parts = std::make_unique<Parts>();
    std::fill(parts->now, parts->now + 32, now);
    std::fill(&parts->known[0][0], &parts->known[0][0] + 32 * 32, synced);
    split = true;
  }
  uint32_t next = 0;
  uint32_t joined[32] = {};
  forEachLane(mask, [&](uint32_t lane) {
    next = std::max(next, parts->now[lane] + 1);
    for (uint32_t other = 0; other < 32; ++other)
      joined[other] = std::max(joined[other], parts->known[lane][other]);
  });
  forEachLane(mask, [&](uint32_t lane) { joined[lane] = next; });
  forEachLane(mask, [&](uint32_t lane) {
    std::copy(joined, joined + 32, parts->known[lane]);
    parts->now[lane] = next;
  });
}

bool WarpClock::orderedInParts(uint32_t earlier, uint32_t clock, uint32_t later) const {
  bool ordered = true;
  forEachLane(later, [&](uint32_t a) {
    forEachLane(earlier & ~(1u << a), [&](uint32_t b) { ordered &= clock < parts->known[a][b]; });
  });
  return ordered;
}
