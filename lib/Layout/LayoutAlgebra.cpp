//===- LayoutAlgebra.cpp - products, composition, inverses ----------------===//

#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

Layout operator*(const Layout &inner, const Layout &outer) {
  LayoutParts parts = LayoutParts::of(inner), above = LayoutParts::of(outer);
  auto raise = [](BitRef &bit, int64_t size) { bit.weight *= size; };
  for (LayoutParts::Bit &bit : above.bits) {
    raise(bit.in, inner.inSize(bit.in.dim));
    for (BitRef &out : bit.image)
      raise(out, inner.outSize(out.dim));
    parts.bits.push_back(bit);
  }
  for (BitRef &out : above.outBits) {
    raise(out, inner.outSize(out.dim));
    parts.outBits.push_back(out);
  }
  for (Repeat repeat : above.repeats) {
    repeat.inStride *= repeat.in ? inner.inSize(*repeat.in) : 1;
    repeat.outStride *= repeat.out ? inner.outSize(*repeat.out) : 1;
    parts.repeats.push_back(repeat);
  }
  for (auto [dim, size] : above.inSizes)
    parts.inSizes[dim] = size * inner.inSize(dim);
  for (auto [dim, size] : above.outSizes)
    parts.outSizes[dim] = size * inner.outSize(dim);
  return parts.assemble();
}

Layout concatenate(const Layout &layout, Dim in, Dim out, int64_t count) {
  return layout * Layout::identity(in, out, count);
}

namespace {

/// The digits of an index as text: "2^4 x 5".
std::string radixText(const Axis &axis, const std::vector<Repeat> &repeats, bool input) {
  std::vector<std::pair<int64_t, int64_t>> digits;
  for (int64_t weight : axis.weights)
    digits.push_back({weight, 2});
  for (const Repeat &repeat : repeats)
    if ((input ? repeat.in : repeat.out) == axis.dim)
      digits.push_back({input ? repeat.inStride : repeat.outStride, repeat.count});
  std::sort(digits.begin(), digits.end());
  std::string text;
  for (size_t i = 0; i < digits.size();) {
    size_t run = i;
    while (run < digits.size() && digits[run].second == digits[i].second)
      ++run;
    text += (text.empty() ? "" : " x ") + std::to_string(digits[i].second);
    if (run - i > 1)
      text += "^" + std::to_string(run - i);
    i = run;
  }
  return text;
}

/// Splits the repeats that meet at an index (outputs of `inner`, inputs of `outer`) until both
/// sides have the same ones, in the same order at the front of each list. Returns their number, or
/// nothing if the digits do not match.
std::optional<size_t> matchRepeats(std::vector<Repeat> &inner, std::vector<Repeat> &outer) {
  auto meeting = [](std::vector<Repeat> &repeats, auto has, auto place) {
    auto end = std::partition(repeats.begin(), repeats.end(), has);
    std::sort(repeats.begin(), end,
              [&](const Repeat &a, const Repeat &b) { return place(a) < place(b); });
    return size_t(end - repeats.begin());
  };
  auto outPlace = [](const Repeat &r) { return BitRef{*r.out, r.outStride}; };
  auto inPlace = [](const Repeat &r) { return BitRef{*r.in, r.inStride}; };
  size_t innerEnd = meeting(inner, [](const Repeat &r) { return r.out.has_value(); }, outPlace);
  size_t outerEnd = meeting(outer, [](const Repeat &r) { return r.in.has_value(); }, inPlace);
  auto split = [](std::vector<Repeat> &repeats, size_t at, int64_t count) {
    Repeat rest = repeats[at];
    rest.inStride *= count;
    rest.outStride *= count;
    rest.count /= count;
    repeats[at].count = count;
    repeats.insert(repeats.begin() + at + 1, rest);
  };
  size_t at = 0;
  for (; at < innerEnd && at < outerEnd; ++at) {
    int64_t a = inner[at].count, b = outer[at].count;
    if (!(outPlace(inner[at]) == inPlace(outer[at])))
      return std::nullopt;
    if (a > b && a % b == 0) {
      split(inner, at, b);
      ++innerEnd;
    } else if (b > a && b % a == 0) {
      split(outer, at, a);
      ++outerEnd;
    } else if (a != b) {
      return std::nullopt;
    }
  }
  if (innerEnd != outerEnd)
    return std::nullopt;
  return at;
}

} // namespace

std::optional<Layout> compose(const Layout &outer, const Layout &inner, std::string *why) {
  auto fail = [&](std::string text) -> std::optional<Layout> {
    if (why)
      *why = text;
    return std::nullopt;
  };
  for (const std::vector<Axis> *axes : {&inner.outputs(), &outer.inputs()})
    for (const Axis &axis : *axes)
      if (inner.outSize(axis.dim) != outer.inSize(axis.dim))
        return fail(std::string("expected equal sizes of ") + dimName(axis.dim) + ", got " +
                    std::to_string(inner.outSize(axis.dim)) + " and " +
                    std::to_string(outer.inSize(axis.dim)));

  std::vector<Repeat> innerRepeats = inner.repeats(), outerRepeats = outer.repeats();
  std::optional<size_t> met = matchRepeats(innerRepeats, outerRepeats);
  for (size_t axis = 0; axis < inner.outputs().size(); ++axis) {
    const Axis &left = inner.outputs()[axis], &right = outer.inputs()[axis];
    if (!met || !(left == right)) {
      std::string from = radixText(left, inner.repeats(), false);
      std::string to = radixText(right, outer.repeats(), true);
      if (from != to)
        return fail(std::string("expected equal digits of ") + dimName(left.dim) + ", got " + from +
                    " and " + to);
    }
  }
  if (!met)
    return fail("the digits of the two layouts do not match");

  LayoutParts parts, target = LayoutParts::of(outer), source = LayoutParts::of(inner);
  parts.inSizes = source.inSizes;
  parts.outSizes = target.outSizes;
  parts.outBits = target.outBits;
  BitMatrix product = outer.linear() * inner.linear();
  for (size_t bit = 0; bit < source.bits.size(); ++bit) {
    parts.bits.push_back({source.bits[bit].in, {}});
    for (size_t row = 0; row < target.outBits.size(); ++row)
      if (product.column(int(bit)) >> row & 1)
        parts.bits.back().image.push_back(target.outBits[row]);
  }
  for (size_t i = 0; i < *met; ++i) {
    const Repeat &first = innerRepeats[i], &second = outerRepeats[i];
    if (first.in || second.out)
      parts.repeats.push_back(
          {first.in, first.inStride, second.out, second.outStride, first.count});
  }
  parts.repeats.insert(parts.repeats.end(), innerRepeats.begin() + *met, innerRepeats.end());
  parts.repeats.insert(parts.repeats.end(), outerRepeats.begin() + *met, outerRepeats.end());
  return parts.assemble();
}

Layout Layout::swapped() const {
  LayoutParts parts = LayoutParts::of(*this), result;
  result.inSizes = parts.outSizes;
  result.outSizes = parts.inSizes;
  result.outBits = bitsOf(ins);
  BitMatrix back = matrix.pseudoInverse();
  for (size_t bit = 0; bit < parts.outBits.size(); ++bit) {
    result.bits.push_back({parts.outBits[bit], {}});
    for (size_t row = 0; row < result.outBits.size(); ++row)
      if (back.column(int(bit)) >> row & 1)
        result.bits.back().image.push_back(result.outBits[row]);
  }
  for (const Repeat &repeat : digits)
    result.repeats.push_back(
        {repeat.out, repeat.outStride, repeat.in, repeat.inStride, repeat.count});
  return result.assemble();
}

std::optional<Layout> Layout::rightInverse() const {
  if (!isSurjective())
    return std::nullopt;
  return swapped();
}

std::optional<Layout> Layout::leftInverse() const {
  if (!isInjective())
    return std::nullopt;
  return swapped();
}

std::optional<Layout> Layout::inverse() const {
  if (!isInjective() || !isSurjective())
    return std::nullopt;
  return swapped();
}

} // namespace heddle::layout
