//===- Conversion.cpp - what it takes to change a layout ------------------===//

#include "heddle/Layout/Conversion.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

const char *conversionKindName(ConversionKind kind) {
  static const char *const names[] = {"no-op",        "register permutation", "register select",
                                      "quad shuffle", "warp shuffle",         "shared memory",
                                      "cross-CTA"};
  return names[int(kind)];
}

namespace {

/// Whether a conversion of this kind may change this index bit between source and destination.
bool isFree(ConversionKind kind, const BitRef &bit) {
  switch (bit.dim) {
  case Dim::Register:
    return kind >= ConversionKind::RegisterPermutation;
  case Dim::Lane:
    return kind >= (bit.weight < 4 ? ConversionKind::QuadShuffle : ConversionKind::WarpShuffle);
  case Dim::CTA:
    return kind >= ConversionKind::CrossCTA;
  default:
    return kind >= ConversionKind::SharedMemory;
  }
}

/// The source bits for each bit of `to`, or nothing if this kind does not suffice.
std::optional<std::vector<uint64_t>> sourceBits(ConversionKind kind, const Layout &from,
                                                const Layout &to) {
  std::vector<BitRef> fromBits = bitsOf(from.inputs()), toBits = bitsOf(to.inputs());
  uint64_t registers = 0, free = 0;
  for (size_t bit = 0; bit < fromBits.size(); ++bit) {
    registers |= uint64_t(fromBits[bit].dim == Dim::Register) << bit;
    free |= uint64_t(isFree(kind, fromBits[bit])) << bit;
  }
  if (kind == ConversionKind::NoOp)
    registers = 0;

  std::vector<uint64_t> sources;
  for (size_t bit = 0; bit < toBits.size(); ++bit) {
    uint64_t target = to.linear().column(int(bit)), same = 0;
    auto found = std::find(fromBits.begin(), fromBits.end(), toBits[bit]);
    if (found != fromBits.end())
      same = uint64_t(1) << (found - fromBits.begin());
    std::optional<uint64_t> source;
    if (same && target == from.linear().apply(same)) {
      source = 0;
    } else if (same && kind >= ConversionKind::RegisterSelect) {
      // Stay in the same lane and warp if some register there holds the element.
      source = from.linear().solve(target ^ from.linear().apply(same), registers);
      if (!source)
        source = from.linear().solve(target ^ from.linear().apply(same), free & ~same);
    }
    if (source) {
      sources.push_back(same ^ *source);
      continue;
    }
    if (!isFree(kind, toBits[bit]))
      return std::nullopt;
    source = from.linear().solve(target, free);
    if (!source)
      return std::nullopt;
    sources.push_back(*source);
  }
  return sources;
}

Layout sourceLayout(const Layout &from, const Layout &to, const std::vector<uint64_t> &sources) {
  LayoutParts source = LayoutParts::of(from), parts = LayoutParts::of(to);
  parts.outSizes = source.inSizes;
  parts.outBits = bitsOf(from.inputs());
  for (size_t bit = 0; bit < sources.size(); ++bit) {
    parts.bits[bit].image.clear();
    for (size_t out = 0; out < parts.outBits.size(); ++out)
      if (sources[bit] >> out & 1)
        parts.bits[bit].image.push_back(parts.outBits[out]);
  }
  parts.repeats.clear();
  for (const Repeat &repeat : to.repeats())
    if (repeat.in)
      parts.repeats.push_back(
          {repeat.in, repeat.inStride, repeat.in, repeat.inStride, repeat.count});
  return parts.assemble();
}

std::optional<std::string> sizeMismatch(const Layout &from, const Layout &to) {
  for (const Layout *layout : {&from, &to})
    for (const Axis &axis : layout->outputs())
      if (from.outSize(axis.dim) != to.outSize(axis.dim))
        return std::string("expected equal sizes of ") + dimName(axis.dim) + ", got " +
               std::to_string(from.outSize(axis.dim)) + " and " +
               std::to_string(to.outSize(axis.dim));
  return std::nullopt;
}

} // namespace

std::optional<Conversion> classifyConversion(const Layout &from, const Layout &to,
                                             std::string *why) {
  if (std::optional<std::string> mismatch = sizeMismatch(from, to)) {
    if (why)
      *why = *mismatch;
    return std::nullopt;
  }
  if (from.outputs() == to.outputs() && from.repeats() == to.repeats()) {
    for (int kind = 0; kind <= int(ConversionKind::CrossCTA); ++kind)
      if (auto sources = sourceBits(ConversionKind(kind), from, to))
        return Conversion{ConversionKind(kind), sourceLayout(from, to, *sources)};
  } else if (auto kind = classifyByEnumeration(from, to)) {
    return Conversion{*kind, std::nullopt};
  }
  if (why)
    *why = "the source layout does not hold every element of the result";
  return std::nullopt;
}

} // namespace heddle::layout
