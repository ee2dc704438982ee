//===- HalfFloat.h - float16 and bfloat16 as bit patterns -----------------===//
//
// Conversions between float/double and the bits of IEEE binary16 and bfloat16, rounding to nearest
// with ties to even. NaN stays NaN (quiet, sign kept), values past the largest finite one become
// infinity, subnormals are exact. Needs nothing but the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_HALFFLOAT_H
#define HEDDLE_RUNTIME_HALFFLOAT_H

#include <cstdint>

namespace heddle {

namespace detail {

template <typename To, typename From> inline To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

/// Rounds a double once to a 16-bit format with the given exponent and mantissa widths.
template <int ExponentBits, int MantissaBits> inline uint16_t roundToSixteenBits(double value) {
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  constexpr int dropped = 52 - MantissaBits;
  constexpr uint16_t infinity = ((1u << ExponentBits) - 1) << MantissaBits;

  uint64_t bits = bitsAs<uint64_t>(value);
  uint16_t sign = (bits >> 48) & 0x8000;
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  int exponent = int((bits >> 52) & 0x7ff) - 1023;

  if (exponent == 1024) {
    if (mantissa == 0)
      return sign | infinity;
    uint16_t payload = uint16_t(mantissa >> dropped);
    return sign | infinity | uint16_t(1u << (MantissaBits - 1)) | payload;
  }
  if (exponent > bias)
    return sign | infinity;

  // The result's bits without sign, as an exponent and mantissa in one number: rounding up may
  // carry from the mantissa into the exponent, which is the right value, infinity included.
  int shift = dropped;
  uint64_t significand = mantissa;
  uint64_t base = 0;
  if (exponent >= 1 - bias) {
    base = uint64_t(exponent + bias) << MantissaBits;
  } else {
    shift += 1 - bias - exponent;
    if (shift > 54)
      return sign;
    significand |= uint64_t(1) << 52;
  }
  uint64_t kept = significand >> shift;
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  return uint16_t(sign | (base + kept));
}

} // namespace detail

/// Bits of the bfloat16 nearest to `value`.
inline uint16_t floatToBFloat16(float value) {
  uint32_t bits = detail::bitsAs<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Bits of the bfloat16 nearest to `value`, rounded once.
inline uint16_t doubleToBFloat16(double value) { return detail::roundToSixteenBits<8, 7>(value); }

/// The value of a bfloat16's bits, exact.
inline float bfloat16ToFloat(uint16_t bits) { return detail::bitsAs<float>(uint32_t(bits) << 16); }

/// Bits of the float16 nearest to `value`.
inline uint16_t floatToFloat16(float value) {
  return detail::roundToSixteenBits<5, 10>(double(value));
}

/// Bits of the float16 nearest to `value`, rounded once.
inline uint16_t doubleToFloat16(double value) { return detail::roundToSixteenBits<5, 10>(value); }

/// The value of a float16's bits, exact.
inline float float16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) // infinity and NaN, which becomes quiet
    return detail::bitsAs<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 |
                                 (magnitude > 0x7c00 ? 0x400000 : 0));
  if (magnitude >= 0x0400)
    return detail::bitsAs<float>(sign | ((magnitude << 13) + (uint32_t(112) << 23)));
  // A subnormal is its mantissa times 2^-24, which float holds as a normal number.
  float value = float(magnitude) * 0x1p-24f;
  return detail::bitsAs<float>(sign | detail::bitsAs<uint32_t>(value));
}

} // namespace heddle

#endif // HEDDLE_RUNTIME_HALFFLOAT_H
