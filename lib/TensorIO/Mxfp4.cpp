//===- Mxfp4.cpp - weights of 4 bits with a scale for each 32 -------------===//

#include "heddle/TensorIO/Mxfp4.h"

#include "StoreAs.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

static constexpr int64_t kGroup = 32;
static constexpr double kNumbers[] = {0,   0.5,  1,  1.5,  2,  3,  4,  6,
                                      -0., -0.5, -1, -1.5, -2, -3, -4, -6};

std::optional<Mxfp4Shapes> heddle::mxfp4Shapes(const std::vector<int64_t> &weight) {
  if (weight.size() != 3 || weight[1] % kGroup != 0)
    return std::nullopt;
  std::vector<int64_t> scales{weight[0], weight[2], weight[1] / kGroup};
  std::vector<int64_t> blocks = scales;
  blocks.push_back(kGroup / 2);
  return Mxfp4Shapes{blocks, scales};
}

/// `store` takes a place and a number.
template <typename Store>
static void multiplyMatrix(const TensorView &blocks, const TensorView &scales, int64_t index,
                           const Store &store) {
  int64_t outs = scales.shape[1], groups = scales.shape[2], ins = groups * kGroup;
  // Columns are walked in runs, whose rows of the result stay in the cache while they are filled.
  constexpr int64_t run = 32;
  for (int64_t first = 0; first < outs; first += run)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t o = first; o < std::min(first + run, outs); ++o) {
        auto block = size_t((index * outs + o) * groups + group);
        auto exponent = int(scales.data[block]);
        double scale = exponent == 255 ? std::nan("") : std::ldexp(1.0, exponent - 127);
        auto place = size_t((index * ins + group * kGroup) * outs + o);
        for (size_t pair = 0; pair < kGroup / 2; ++pair) {
          auto byte = size_t(blocks.data[block * (kGroup / 2) + pair]);
          for (size_t bits : {byte & 15, byte >> 4}) {
            store(place, kNumbers[bits] * scale);
            place += size_t(outs);
          }
        }
      }
}

void heddle::dequantizeMxfp4(const TensorView &blocks, const TensorView &scales, int64_t index,
                             DType type, std::byte *out) {
  withStore(type, out, [&](const auto &store) { multiplyMatrix(blocks, scales, index, store); });
}
