//===- Slices.cpp - parts of tiles without moving elements ----------------===//

#include "heddle/Layout/Slices.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

static std::nullopt_t fail(std::string *why, std::string text) {
  if (why)
    *why = text;
  return std::nullopt;
}

std::optional<Layout> blockOfThread(const Layout &layout, Dim out, int64_t size, std::string *why) {
  LayoutParts parts = LayoutParts::of(layout), result = parts;
  if (size < 1 || layout.outSize(out) % size != 0)
    return fail(why, std::string("expected a divisor of the size of ") + dimName(out) + " (" +
                         std::to_string(layout.outSize(out)) + "), got " + std::to_string(size));
  std::string crosses = std::string("expected blocks of ") + std::to_string(size) + " along " +
                        dimName(out) + " to begin where a digit of " + layout.str() + " does";
  auto isAbove = [&](const BitRef &bit) { return bit.dim == out && bit.weight >= size; };

  for (const BitRef &bit : parts.outBits)
    if (bit.dim == out && !isAbove(bit) && size % (2 * bit.weight) != 0)
      return fail(why, crosses);
  for (LayoutParts::Bit &bit : result.bits) {
    if (std::none_of(bit.image.begin(), bit.image.end(), isAbove))
      continue;
    if (bit.in.dim != Dim::Register || bit.image.size() != 1)
      return fail(why, std::string("expected registers alone to count blocks of ") +
                           std::to_string(size) + " along " + dimName(out) + ", got " +
                           layout.str());
    bit.image.clear();
  }
  result.repeats.clear();
  for (Repeat repeat : parts.repeats) {
    if (repeat.out == out && repeat.outStride < size &&
        size % (repeat.outStride * repeat.count) != 0)
      return fail(why, crosses);
    if (repeat.out == out && repeat.outStride >= size) {
      if (repeat.in != Dim::Register)
        return fail(why, std::string("expected registers to count blocks of ") +
                             std::to_string(size) + " along " + dimName(out) + ", got " +
                             layout.str());
      repeat.out.reset();
    }
    result.repeats.push_back(repeat);
  }
  result.outBits.erase(std::remove_if(result.outBits.begin(), result.outBits.end(), isAbove),
                       result.outBits.end());
  result.outSizes[out] = size;
  return result.assemble().withoutBroadcast(Dim::Register);
}

Layout blocksOfThread(const Layout &block, Dim out, int64_t count) {
  return block * Layout::identity(Dim::Register, out, count);
}

} // namespace heddle::layout
