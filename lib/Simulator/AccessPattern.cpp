//===- AccessPattern.cpp - sectors and bank conflicts ---------------------===//

#include "AccessPattern.h"
#include <algorithm>

using namespace heddle::sim;

uint32_t heddle::sim::countSectors(const WarpAddresses &access, uint32_t size) {
  uint64_t sectors[64];
  uint32_t count = 0;
  bool rising = true;
  auto add = [&](uint64_t sector) {
    if (count && sectors[count - 1] == sector)
      return;
    rising &= !count || sectors[count - 1] < sector;
    sectors[count++] = sector;
  };
  for (uint32_t rest = access.lanes; rest; rest &= rest - 1) {
    uint64_t address = access.address[__builtin_ctz(rest)];
    uint64_t first = address / 32, last = (address + size - 1) / 32;
    add(first);
    if (last != first)
      add(last);
  }
  if (rising)
    return count;
  std::sort(sectors, sectors + count);
  return uint32_t(std::unique(sectors, sectors + count) - sectors);
}

/// Passes for the lanes of one group. `unit` is 4, 8 or 16 bytes: neighbouring banks that an aligned
/// access takes together count as one.
static uint32_t passes(const WarpAddresses &access, uint32_t lanes, uint32_t unit) {
  uint32_t banks = 128 / unit;
  // Different units seen by each bank, as a list through `next`.
  int8_t head[32], next[32];
  uint8_t length[32] = {};
  uint64_t units[32];
  std::fill(head, head + banks, int8_t(-1));
  uint32_t most = 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(rest));
    uint64_t wanted = access.address[lane] / unit;
    uint32_t bank = uint32_t(wanted % banks);
    int8_t other = head[bank];
    while (other >= 0 && units[other] != wanted)
      other = next[other];
    if (other >= 0)
      continue;
    units[lane] = wanted;
    next[lane] = head[bank];
    head[bank] = int8_t(lane);
    most = std::max<uint32_t>(most, ++length[bank]);
  }
  return most;
}

BankCost heddle::sim::countWavefronts(const WarpAddresses &access, uint32_t size) {
  uint32_t unit = std::max(size, 4u);
  uint32_t groupLanes = std::min(32u, 128 / unit);
  BankCost cost;
  for (uint32_t first = 0; first < 32; first += groupLanes) {
    uint32_t group = groupLanes == 32 ? ~0u : ((1u << groupLanes) - 1) << first;
    uint32_t lanes = access.lanes & group;
    if (!lanes)
      continue;
    uint32_t most = passes(access, lanes, unit);
    cost.wavefronts += most;
    cost.conflicts += most - 1;
  }
  return cost;
}
