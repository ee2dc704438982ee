//===- RandomData.cpp - the data of --random ------------------------------===//

#include "RandomData.h"
#include <cmath>

using namespace heddle;
using namespace heddle::run;

/// The finaliser of SplitMix64, a bijection that spreads every bit.
static uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

uint64_t heddle::run::randomBits(uint64_t stream, uint64_t index) {
  return mix(mix(stream) + (index + 1) * 0x9e3779b97f4a7c15u);
}

/// FNV-1a.
static uint64_t hashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

void heddle::run::fillRandom(const Argument &argument, Tensor &tensor, uint64_t seed,
                             std::optional<int64_t> vocabularySize) {
  uint64_t stream = hashName(argument.name) ^ mix(seed);
  int64_t lastExtent = tensor.shape().empty() ? 1 : tensor.shape().back();
  double scale = argument.isWeight() && lastExtent > 0 ? 1.0 / std::sqrt(double(lastExtent)) : 1.0;
  bool isTokens = argument.name == "tokens" && vocabularySize.value_or(0) > 0;
  DType dtype = tensor.dtype();
  for (size_t i = 0, count = size_t(tensor.count()); i < count; ++i) {
    uint64_t bits = randomBits(stream, i);
    double value = 0;
    if (isFloat(dtype))
      value = (double(bits >> 11) * 0x1p-52 - 1.0) * scale; // 53 bits over [-1, 1)
    else if (dtype == DType::Bool)
      value = double(bits >> 63);
    else if (isTokens)
      value = double(bits % uint64_t(*vocabularySize));
    storeFromDouble(dtype, tensor.data(), i, value);
  }
}

ArgumentSet::Filler heddle::run::randomFiller(std::optional<uint64_t> seed,
                                              std::optional<int64_t> vocabularySize) {
  if (!seed)
    return {};
  return [=](const Argument &argument, Tensor &tensor) {
    fillRandom(argument, tensor, *seed, vocabularySize);
  };
}
