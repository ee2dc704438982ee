//===- HalfFloatTest.cpp - float16 and bfloat16 conversions ---------------===//
//
// The compiler's own conversions are the reference for float16; bfloat16 is compared with the
// nearest of its two neighbours.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/HalfFloat.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace heddle;

extern "C" {
__bf16 __truncsfbf2(float value);
__bf16 __truncdfbf2(double value);
_Float16 __truncsfhf2(float value);
_Float16 __truncdfhf2(double value);
float __extendhfsf2(_Float16 value);
}

namespace {

/// Nearest even of a 16-bit format by search: `toFloat` must rise with the bits of positive
/// numbers.
template <typename ToFloat>
uint16_t roundBySearch(double value, uint16_t infinity, ToFloat toFloat) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  uint32_t low = 0, high = infinity; // low <= magnitude
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (double(toFloat(uint16_t(middle))) <= magnitude ? low : high) = middle;
  }
  // Infinity takes part in rounding as the value that would follow the largest finite one.
  double below = toFloat(uint16_t(low));
  double step = high == infinity ? below - double(toFloat(uint16_t(low - 1)))
                                 : double(toFloat(uint16_t(high))) - below;
  double middle = below + step / 2;
  bool up = magnitude > middle || (magnitude == middle && (low & 1));
  return uint16_t(sign | (up ? low + 1 : low));
}

TEST(HalfFloatTest, EveryFloat16RoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = float16ToFloat(uint16_t(bits));
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(floatToFloat16(value), bits | 0x200);
      continue;
    }
    EXPECT_EQ(floatToFloat16(value), bits);
    EXPECT_EQ(doubleToFloat16(value), bits);
  }
  EXPECT_EQ(float16ToFloat(0x3c00), 1.0f);
  EXPECT_EQ(float16ToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(float16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(float16ToFloat(0xfc00), -INFINITY);
}

TEST(HalfFloatTest, EveryBFloat16RoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = bfloat16ToFloat(uint16_t(bits));
    bool isNan = (bits & 0x7fff) > 0x7f80;
    EXPECT_EQ(std::isnan(value), isNan);
    EXPECT_EQ(floatToBFloat16(value), isNan ? bits | 0x40 : bits);
    EXPECT_EQ(doubleToBFloat16(value), isNan ? bits | 0x40 : bits);
  }
}

TEST(HalfFloatTest, RoundsToNearestEven) {
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = uint32_t(state >> 32);
    if (i % 2) // values near float16's range, many of them ties
      bits = (bits & 0x807fe000) | (90 + (bits >> 8) % 60) << 23 | (i % 4 == 1 ? 0x1000 : 0);
    float value = detail::bitsAs<float>(bits);
    if (!std::isfinite(value))
      continue;
    ASSERT_EQ(floatToFloat16(value), roundBySearch(value, 0x7c00, float16ToFloat)) << value;
    ASSERT_EQ(floatToBFloat16(value), roundBySearch(value, 0x7f80, bfloat16ToFloat)) << value;
    ASSERT_EQ(doubleToBFloat16(value), floatToBFloat16(value)) << value;
  }
}

TEST(HalfFloatTest, DoublesAreRoundedOnce) {
  // Halfway between 1 and its successor plus a bit that float would drop.
  EXPECT_EQ(doubleToFloat16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(floatToFloat16(float(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
  EXPECT_EQ(doubleToBFloat16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(doubleToFloat16(0x1p-25), 0);
  EXPECT_EQ(doubleToFloat16(0x1p-25 + 0x1p-60), 1);
  EXPECT_EQ(doubleToFloat16(65519.99), 0x7bff);
  EXPECT_EQ(doubleToFloat16(65520), 0x7c00);
  EXPECT_EQ(doubleToFloat16(-1e300), 0xfc00);
  EXPECT_EQ(doubleToBFloat16(1e-300), 0);
}

TEST(HalfFloatTest, LibraryCallsFollowTheCallingConvention) {
  using detail::bitsAs;
  for (float value : {1.0f, -2.7182818f, 3e38f, 1e-7f, 0.0f, -INFINITY}) {
    EXPECT_EQ(bitsAs<uint16_t>(__truncsfbf2(value)), floatToBFloat16(value));
    EXPECT_EQ(bitsAs<uint16_t>(__truncdfbf2(value)), floatToBFloat16(value));
    EXPECT_EQ(bitsAs<uint16_t>(__truncsfhf2(value)), floatToFloat16(value));
    EXPECT_EQ(bitsAs<uint16_t>(__truncdfhf2(value)), floatToFloat16(value));
    EXPECT_EQ(__extendhfsf2(bitsAs<_Float16>(floatToFloat16(value))),
              float16ToFloat(floatToFloat16(value)));
  }
}

} // namespace
