//===- LayoutParts.cpp - a layout taken apart -----------------------------===//

#include "LayoutParts.h"
#include <algorithm>
#include <tuple>

namespace heddle::layout {

std::vector<BitRef> bitsOf(const std::vector<Axis> &axes) {
  std::vector<BitRef> bits;
  for (const Axis &axis : axes)
    for (int64_t weight : axis.weights)
      bits.push_back({axis.dim, weight});
  return bits;
}

LayoutParts LayoutParts::of(const Layout &layout) {
  LayoutParts parts;
  for (const Axis &axis : layout.inputs())
    parts.inSizes[axis.dim] = axis.size;
  for (const Axis &axis : layout.outputs())
    parts.outSizes[axis.dim] = axis.size;
  parts.outBits = bitsOf(layout.outputs());
  parts.repeats = layout.repeats();
  int column = 0;
  for (const BitRef &in : bitsOf(layout.inputs())) {
    Bit bit{in, {}};
    uint64_t image = layout.linear().column(column++);
    for (; image; image &= image - 1)
      bit.image.push_back(parts.outBits[__builtin_ctzll(image)]);
    parts.bits.push_back(bit);
  }
  return parts;
}

void LayoutParts::splitEvenRepeats() {
  std::vector<Repeat> odd;
  for (Repeat repeat : repeats) {
    for (; repeat.count % 2 == 0; repeat.count /= 2) {
      if (repeat.out)
        outBits.push_back({*repeat.out, repeat.outStride});
      if (repeat.in) {
        bits.push_back({{*repeat.in, repeat.inStride}, {}});
        if (repeat.out)
          bits.back().image.push_back(outBits.back());
      }
      repeat.inStride *= 2;
      repeat.outStride *= 2;
    }
    if (repeat.count > 1)
      odd.push_back(repeat);
  }
  repeats = odd;
}

/// Whether `in` contributes `out` alone and no other bit contributes to `out`.
bool LayoutParts::feedsOnly(const BitRef &in, const BitRef &out) const {
  for (const Bit &bit : bits) {
    bool contains = std::find(bit.image.begin(), bit.image.end(), out) != bit.image.end();
    if (bit.in == in ? !(contains && bit.image.size() == 1) : contains)
      return false;
  }
  return true;
}

bool LayoutParts::moveBitBelowRepeat() {
  for (Repeat &repeat : repeats) {
    BitRef in{repeat.in.value_or(Dim::Register), repeat.inStride * repeat.count};
    BitRef out{repeat.out.value_or(Dim::Register), repeat.outStride * repeat.count};
    auto bit = std::find_if(bits.begin(), bits.end(), [&](const Bit &b) { return b.in == in; });
    auto outBit = std::find(outBits.begin(), outBits.end(), out);
    bool hasIn = repeat.in && bit != bits.end(), hasOut = repeat.out && outBit != outBits.end();
    if (repeat.in.has_value() != hasIn || repeat.out.has_value() != hasOut)
      continue;
    if (hasIn && hasOut && !feedsOnly(in, out))
      continue;
    if (hasIn && !hasOut && !bit->image.empty())
      continue;
    if (hasOut && !hasIn && std::any_of(bits.begin(), bits.end(), [&](const Bit &b) {
          return std::find(b.image.begin(), b.image.end(), out) != b.image.end();
        }))
      continue;
    BitRef newOut{out.dim, repeat.outStride};
    if (hasOut)
      *outBit = newOut;
    if (hasIn) {
      bit->in.weight = repeat.inStride;
      if (hasOut)
        bit->image = {newOut};
    }
    repeat.inStride *= 2;
    repeat.outStride *= 2;
    return true;
  }
  return false;
}

bool LayoutParts::joinRepeats() {
  for (size_t a = 0; a < repeats.size(); ++a) {
    for (size_t b = 0; b < repeats.size(); ++b) {
      Repeat &low = repeats[a];
      const Repeat &high = repeats[b];
      if (a == b || low.in != high.in || low.out != high.out ||
          (low.in && high.inStride != low.inStride * low.count) ||
          (low.out && high.outStride != low.outStride * low.count))
        continue;
      low.count *= high.count;
      repeats.erase(repeats.begin() + b);
      return true;
    }
  }
  return false;
}

Layout LayoutParts::assemble() const {
  LayoutParts parts = *this;
  parts.splitEvenRepeats();
  while (parts.moveBitBelowRepeat() || parts.joinRepeats()) {
  }
  for (Repeat &repeat : parts.repeats) {
    repeat.inStride = repeat.in ? repeat.inStride : 0;
    repeat.outStride = repeat.out ? repeat.outStride : 0;
  }
  auto key = [](const Repeat &r) { return std::tie(r.in, r.inStride, r.out, r.outStride); };
  std::sort(parts.repeats.begin(), parts.repeats.end(),
            [&](const Repeat &a, const Repeat &b) { return key(a) < key(b); });
  std::sort(parts.bits.begin(), parts.bits.end(),
            [](const Bit &a, const Bit &b) { return a.in < b.in; });
  std::sort(parts.outBits.begin(), parts.outBits.end());

  Layout layout;
  layout.digits = parts.repeats;
  for (auto [dim, size] : inSizes)
    if (size > 1)
      layout.ins.push_back({dim, size, {}});
  for (auto [dim, size] : outSizes)
    if (size > 1)
      layout.outs.push_back({dim, size, {}});
  auto addWeight = [](std::vector<Axis> &axes, const BitRef &bit) {
    for (Axis &axis : axes)
      if (axis.dim == bit.dim)
        axis.weights.push_back(bit.weight);
  };
  for (const BitRef &bit : parts.outBits)
    addWeight(layout.outs, bit);
  layout.matrix = BitMatrix(int(parts.outBits.size()));
  for (const Bit &bit : parts.bits) {
    addWeight(layout.ins, bit.in);
    uint64_t column = 0;
    for (const BitRef &out : bit.image) {
      auto row = std::lower_bound(parts.outBits.begin(), parts.outBits.end(), out);
      column ^= uint64_t(1) << (row - parts.outBits.begin());
    }
    layout.matrix.append(column);
  }
  return layout;
}

} // namespace heddle::layout
