//===- LayoutRestrict.cpp - parts of a layout -----------------------------===//

#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

static bool contains(const std::vector<Dim> &dims, Dim dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Layout Layout::restrictInputs(const std::vector<Dim> &dims) const {
  LayoutParts parts = LayoutParts::of(*this), result = parts;
  result.inSizes.clear();
  result.bits.clear();
  result.repeats.clear();
  for (auto [dim, size] : parts.inSizes)
    if (contains(dims, dim))
      result.inSizes[dim] = size;
  for (const LayoutParts::Bit &bit : parts.bits)
    if (contains(dims, bit.in.dim))
      result.bits.push_back(bit);
  for (Repeat repeat : parts.repeats) {
    if (repeat.in && !contains(dims, *repeat.in))
      repeat.in.reset();
    if (repeat.in || repeat.out)
      result.repeats.push_back(repeat);
  }
  return result.assemble();
}

std::optional<Layout> Layout::restrictInput(Dim dim, int64_t size) const {
  LayoutParts parts = LayoutParts::of(*this), result = parts;
  result.bits.clear();
  result.repeats.clear();
  int64_t kept = 1;
  for (const LayoutParts::Bit &bit : parts.bits) {
    if (bit.in.dim == dim && bit.in.weight >= size)
      continue;
    result.bits.push_back(bit);
    kept *= bit.in.dim == dim ? 2 : 1;
  }
  for (Repeat repeat : parts.repeats) {
    if (repeat.in == dim && repeat.inStride >= size)
      repeat.in.reset();
    if (repeat.in == dim) {
      // Part of a digit: the rest of it is a digit of the coordinate that stays 0.
      int64_t whole = repeat.count;
      repeat.count = std::min(whole, size / repeat.inStride);
      if (repeat.count < 1 || whole % repeat.count != 0)
        return std::nullopt;
      kept *= repeat.count;
      if (repeat.out && repeat.count != whole)
        result.repeats.push_back(
            {std::nullopt, 0, repeat.out, repeat.outStride * repeat.count, whole / repeat.count});
      if (repeat.count == 1)
        continue;
    }
    if (repeat.in || repeat.out)
      result.repeats.push_back(repeat);
  }
  if (size < 1 || kept != size)
    return std::nullopt;
  result.inSizes[dim] = size;
  return result.assemble();
}

Layout Layout::projectOutputs(const std::vector<Dim> &dims) const {
  LayoutParts parts = LayoutParts::of(*this), result;
  result.inSizes = parts.inSizes;
  for (auto [dim, size] : parts.outSizes)
    if (contains(dims, dim))
      result.outSizes[dim] = size;
  for (const BitRef &bit : parts.outBits)
    if (contains(dims, bit.dim))
      result.outBits.push_back(bit);
  for (LayoutParts::Bit bit : parts.bits) {
    auto gone = [&](const BitRef &out) { return !contains(dims, out.dim); };
    bit.image.erase(std::remove_if(bit.image.begin(), bit.image.end(), gone), bit.image.end());
    result.bits.push_back(bit);
  }
  for (Repeat repeat : parts.repeats) {
    if (repeat.out && !contains(dims, *repeat.out))
      repeat.out.reset();
    if (repeat.in || repeat.out)
      result.repeats.push_back(repeat);
  }
  return result.assemble();
}

Layout Layout::withoutBroadcast(Dim in) const {
  LayoutParts parts = LayoutParts::of(*this), result = parts;
  result.bits.clear();
  result.repeats.clear();
  std::vector<std::pair<int64_t, int64_t>> removed; // place and base of each digit
  for (const LayoutParts::Bit &bit : parts.bits) {
    if (bit.in.dim == in && bit.image.empty())
      removed.push_back({bit.in.weight, 2});
    else
      result.bits.push_back(bit);
  }
  for (const Repeat &repeat : parts.repeats) {
    if (repeat.in == in && !repeat.out)
      removed.push_back({repeat.inStride, repeat.count});
    else
      result.repeats.push_back(repeat);
  }
  auto lower = [&](int64_t &stride) {
    int64_t place = stride;
    for (auto [weight, base] : removed)
      if (weight < place)
        stride /= base;
  };
  for (LayoutParts::Bit &bit : result.bits)
    if (bit.in.dim == in)
      lower(bit.in.weight);
  for (Repeat &repeat : result.repeats)
    if (repeat.in == in)
      lower(repeat.inStride);
  for (auto [weight, base] : removed)
    result.inSizes[in] /= base;
  return result.assemble();
}

Layout Layout::renameOutputs(const std::vector<std::pair<Dim, Dim>> &names) const {
  auto rename = [&](Dim dim) {
    for (auto [from, to] : names)
      if (from == dim)
        return to;
    return dim;
  };
  LayoutParts parts = LayoutParts::of(*this), result = parts;
  result.outSizes.clear();
  for (auto [dim, size] : parts.outSizes)
    result.outSizes[rename(dim)] = size;
  for (BitRef &bit : result.outBits)
    bit.dim = rename(bit.dim);
  for (LayoutParts::Bit &bit : result.bits)
    for (BitRef &out : bit.image)
      out.dim = rename(out.dim);
  for (Repeat &repeat : result.repeats)
    if (repeat.out)
      repeat.out = rename(*repeat.out);
  return result.assemble();
}

} // namespace heddle::layout
