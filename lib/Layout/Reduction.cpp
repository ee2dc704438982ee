//===- Reduction.cpp - layouts of partly reduced tiles --------------------===//
//
// 1. Register digits that only count along the reduced coordinate vanish; the coordinates that they
//    reach are W, a space over GF(2).
// 2. Other bits keep their image in the other coordinates. Along the reduced one they are taken
//    modulo W, because elements that differ by a vector of W have been combined: the first
//    independent classes become bits 1, 2, 4, ... of the new coordinate, and the others sums of them.
// 3. Digits of odd base from lanes or warps follow above these bits.
//
//===----------------------------------------------------------------------===//

#include "heddle/Layout/Reduction.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

std::optional<Layout> reducedInThread(const Layout &layout, Dim along) {
  LayoutParts parts = LayoutParts::of(layout), result = parts;
  std::vector<BitRef> outBits = parts.outBits;
  auto maskOf = [&](const std::vector<BitRef> &image, bool reduced) {
    uint64_t mask = 0;
    for (const BitRef &out : image)
      if ((out.dim == along) == reduced)
        mask |= uint64_t(1) << (std::find(outBits.begin(), outBits.end(), out) - outBits.begin());
    return mask;
  };

  int rows = int(outBits.size());
  BitMatrix classes(rows), kept(rows); // W and then the classes found; rows that registers hold
  for (LayoutParts::Bit &bit : result.bits) {
    if (bit.in.dim != Dim::Register)
      continue;
    if (uint64_t others = maskOf(bit.image, false)) {
      kept.append(others);
    } else if (!bit.image.empty()) {
      classes.append(maskOf(bit.image, true));
      bit.image.clear();
    }
  }
  if (kept.rank() != kept.columns())
    return std::nullopt;

  int combined = classes.columns();
  for (LayoutParts::Bit &bit : result.bits) {
    uint64_t rest = maskOf(bit.image, true);
    bit.image.erase(std::remove_if(bit.image.begin(), bit.image.end(),
                                   [&](const BitRef &out) { return out.dim == along; }),
                    bit.image.end());
    if (!rest)
      continue;
    std::optional<uint64_t> sum = classes.solve(rest);
    if (!sum) {
      sum = uint64_t(1) << classes.columns();
      classes.append(rest);
    }
    for (uint64_t digits = *sum >> combined; digits; digits &= digits - 1)
      bit.image.push_back({along, int64_t(1) << __builtin_ctzll(digits)});
  }

  int64_t size = 1;
  result.outBits.erase(std::remove_if(result.outBits.begin(), result.outBits.end(),
                                      [&](const BitRef &out) { return out.dim == along; }),
                       result.outBits.end());
  for (int bit = combined; bit < classes.columns(); ++bit, size *= 2)
    result.outBits.push_back({along, size});
  result.repeats.clear();
  for (Repeat repeat : parts.repeats) {
    if (repeat.out == along && (!repeat.in || repeat.in == Dim::Register)) {
      repeat.out.reset();
    } else if (repeat.out == along) {
      repeat.outStride = size;
      size *= repeat.count;
    }
    if (repeat.in || repeat.out)
      result.repeats.push_back(repeat);
  }
  result.outSizes[along] = size;
  return result.assemble().withoutBroadcast(Dim::Register);
}

Layout withParts(const Layout &rows, Dim along, int64_t count) {
  LayoutParts parts = LayoutParts::of(rows);
  std::sort(parts.bits.begin(), parts.bits.end(),
            [](const LayoutParts::Bit &a, const LayoutParts::Bit &b) { return a.in < b.in; });
  int64_t divided = 1;
  for (LayoutParts::Bit &bit : parts.bits) {
    if (bit.in.dim != Dim::Lane || !bit.image.empty() || count / divided % 2 != 0)
      continue;
    bit.image = {{along, divided}};
    parts.outBits.push_back({along, divided});
    divided *= 2;
  }
  parts.outSizes[along] = divided;
  return parts.assemble() * Layout::identity(Dim::Register, along, count / divided);
}

} // namespace heddle::layout
