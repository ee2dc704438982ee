//===- LayoutCreate.cpp - layouts from their parts, checked ---------------===//

#include "LayoutParts.h"
#include <algorithm>
#include <set>

namespace heddle::layout {

namespace {

constexpr int64_t maxSize = int64_t(1) << 62;

/// A digit of an index whose place is given.
struct Digit {
  int64_t stride;
  int64_t count;
};

/// Finds the bits of an index of this size: they fill the gaps between the digits. An odd factor
/// left at the top is returned in `rest`. Returns the error, empty if there is none.
std::string fillWithBits(Dim dim, int64_t size, std::vector<Digit> digits,
                         std::vector<int64_t> &weights, Digit &rest) {
  std::sort(digits.begin(), digits.end(),
            [](const Digit &a, const Digit &b) { return a.stride < b.stride; });
  int64_t weight = 1;
  for (const Digit &digit : digits) {
    for (; weight < std::min(digit.stride, maxSize); weight *= 2)
      weights.push_back(weight);
    if (weight != digit.stride)
      return std::string("expected a repeat of ") + dimName(dim) + " to have stride " +
             std::to_string(weight) + ", got " + std::to_string(digit.stride);
    if (__builtin_mul_overflow(weight, digit.count, &weight))
      return std::string("size of ") + dimName(dim) + " is out of range";
  }
  if (size % weight != 0)
    return std::string("expected the size of ") + dimName(dim) + " (" + std::to_string(size) +
           ") to be a multiple of " + std::to_string(weight);
  rest = {weight, size / weight};
  for (; rest.count % 2 == 0; rest.count /= 2, rest.stride *= 2)
    weights.push_back(rest.stride);
  return "";
}

/// The bits of `axis` that add up to `value`, or nothing.
bool splitIntoBits(Dim dim, const std::vector<int64_t> &weights, int64_t value,
                   std::vector<BitRef> &bits) {
  for (auto weight = weights.rbegin(); weight != weights.rend(); ++weight) {
    if (value >= *weight) {
      value -= *weight;
      bits.push_back({dim, *weight});
    }
  }
  return value == 0;
}

std::vector<Digit> digitsOf(Dim dim, const std::vector<Repeat> &repeats, bool input) {
  std::vector<Digit> digits;
  for (const Repeat &repeat : repeats)
    if ((input ? repeat.in : repeat.out) == dim)
      digits.push_back({input ? repeat.inStride : repeat.outStride, repeat.count});
  return digits;
}

/// Builds the parts; returns the error, empty if there is none.
std::string buildParts(const std::vector<InputBases> &inputs,
                       const std::vector<std::pair<Dim, int64_t>> &outputs,
                       const std::vector<Repeat> &repeats, LayoutParts &parts) {
  std::set<Dim> inDims, outDims;
  parts.repeats = repeats;
  int64_t total = 1;
  std::vector<std::vector<int64_t>> outWeights;
  for (auto [dim, size] : outputs) {
    if (!outDims.insert(dim).second)
      return std::string("output ") + dimName(dim) + " is given twice";
    if (size < 1 || __builtin_mul_overflow(total, size, &total) || total > maxSize)
      return std::string("size ") + std::to_string(size) + " of " + dimName(dim) +
             " is out of range";
    parts.outSizes[dim] = size;
  }
  for (const InputBases &input : inputs)
    if (!inDims.insert(input.dim).second)
      return std::string("input ") + dimName(input.dim) + " is given twice";
  for (const Repeat &repeat : repeats) {
    if (repeat.count < 2 || (!repeat.in && !repeat.out) || (repeat.in && repeat.inStride < 1) ||
        (repeat.out && repeat.outStride < 1))
      return "expected a repeat of at least 2 with positive strides, got " +
             std::to_string(repeat.count);
    if ((repeat.in && !inDims.count(*repeat.in)) || (repeat.out && !outDims.count(*repeat.out)))
      return std::string("a repeat names ") +
             dimName(repeat.in && !inDims.count(*repeat.in) ? *repeat.in : *repeat.out) +
             ", which the layout does not have";
  }

  for (auto [dim, size] : outputs) {
    Digit rest;
    outWeights.emplace_back();
    std::string error =
        fillWithBits(dim, size, digitsOf(dim, repeats, false), outWeights.back(), rest);
    if (!error.empty())
      return error;
    if (rest.count > 1)
      parts.repeats.push_back({std::nullopt, 0, dim, rest.stride, rest.count});
    for (int64_t weight : outWeights.back())
      parts.outBits.push_back({dim, weight});
  }

  total = 1;
  for (const InputBases &input : inputs) {
    int64_t size = 1;
    for (const Digit &digit : digitsOf(input.dim, repeats, true))
      if (__builtin_mul_overflow(size, digit.count, &size))
        return std::string("size of ") + dimName(input.dim) + " is out of range";
    if (input.bases.size() > 62 ||
        __builtin_mul_overflow(size, int64_t(1) << input.bases.size(), &size) ||
        __builtin_mul_overflow(total, size, &total) || total > maxSize)
      return std::string("size of ") + dimName(input.dim) + " is out of range";
    parts.inSizes[input.dim] = size;
    std::vector<int64_t> weights;
    Digit rest;
    std::string error =
        fillWithBits(input.dim, size, digitsOf(input.dim, repeats, true), weights, rest);
    if (!error.empty())
      return error;
    for (size_t bit = 0; bit < input.bases.size(); ++bit) {
      const std::vector<int64_t> &basis = input.bases[bit];
      std::string name = "basis " + std::to_string(bit) + " of " + dimName(input.dim);
      if (basis.size() != outputs.size())
        return "expected " + name + " to have " + std::to_string(outputs.size()) +
               " coordinates, got " + std::to_string(basis.size());
      LayoutParts::Bit added{{input.dim, weights[bit]}, {}};
      for (size_t out = 0; out < outputs.size(); ++out)
        if (!splitIntoBits(outputs[out].first, outWeights[out], basis[out], added.image))
          return "expected " + name + " to be a sum of bits of " + dimName(outputs[out].first) +
                 " (size " + std::to_string(outputs[out].second) + "), got " +
                 std::to_string(basis[out]);
      parts.bits.push_back(added);
    }
  }
  return "";
}

} // namespace

std::optional<Layout> Layout::create(const std::vector<InputBases> &inputs,
                                     const std::vector<std::pair<Dim, int64_t>> &outputs,
                                     const std::vector<Repeat> &repeats, std::string *why) {
  LayoutParts parts;
  std::string error = buildParts(inputs, outputs, repeats, parts);
  if (!error.empty()) {
    if (why)
      *why = error;
    return std::nullopt;
  }
  return parts.assemble();
}

Layout Layout::identity(Dim in, Dim out, int64_t count) {
  LayoutParts parts;
  parts.inSizes[in] = parts.outSizes[out] = count;
  parts.repeats.push_back({in, 1, out, 1, count});
  return parts.assemble();
}

Layout Layout::broadcast(Dim in, int64_t count) {
  LayoutParts parts;
  parts.inSizes[in] = count;
  parts.repeats.push_back({in, 1, std::nullopt, 0, count});
  return parts.assemble();
}

} // namespace heddle::layout
