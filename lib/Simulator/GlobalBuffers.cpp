//===- GlobalBuffers.cpp - lookup of global addresses ---------------------===//

#include "GlobalBuffers.h"
#include <algorithm>

using namespace heddle::sim;

bool GlobalBuffers::set(const heddle_sim_buffer *buffers, uint64_t count, std::string &message) {
  checked = buffers != nullptr;
  ranges.clear();
  for (uint64_t i = 0; checked && i < count; ++i) {
    uint64_t begin = reinterpret_cast<uintptr_t>(buffers[i].base);
    if (buffers[i].bytes)
      ranges.push_back({begin, begin + buffers[i].bytes, buffers[i].writable != 0,
                        buffers[i].name ? buffers[i].name : ""});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    Range &low = ranges[i - 1], &high = ranges[i];
    if (low.end <= high.begin)
      continue;
    if (low.begin != high.begin || low.end != high.end) {
      message = "buffers '" + low.name + "' and '" + high.name + "' overlap in part";
      return false;
    }
    // One buffer given twice, as for an argument that is both input and output.
    low.writable |= high.writable;
    ranges.erase(ranges.begin() + long(i--));
  }
  return true;
}

const GlobalBuffers::Range *GlobalBuffers::find(uint64_t address, uint64_t size,
                                                uint32_t &hint) const {
  auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](uint64_t value, const Range &range) { return value < range.begin; });
  if (after == ranges.begin())
    return nullptr;
  auto range = after - 1;
  if (!range->holds(address, size))
    return nullptr;
  hint = uint32_t(range - ranges.begin());
  return &*range;
}

std::string GlobalBuffers::describe(uint64_t address, uint64_t size) const {
  const Range *nearest = nullptr;
  uint64_t best = ~uint64_t(0);
  for (const Range &range : ranges) {
    uint64_t distance = address < range.begin ? range.begin - address
                        : address < range.end ? 0
                                              : address - range.end;
    if (distance < best) {
      best = distance;
      nearest = &range;
    }
  }
  if (!nearest)
    return "no buffer is registered";
  std::string name =
      "'" + nearest->name + "' of " + std::to_string(nearest->end - nearest->begin) + " bytes";
  if (address < nearest->begin)
    return std::to_string(best) + " bytes before buffer " + name;
  if (address >= nearest->end)
    return std::to_string(best) + " bytes past the end of buffer " + name;
  return "its last " + std::to_string(address + size - nearest->end) +
         " bytes are past the end of buffer " + name;
}
