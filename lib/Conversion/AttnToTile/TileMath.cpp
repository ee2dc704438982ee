//===- TileMath.cpp - functions of tiles that the machine lacks -----------===//
//
// sin and cos of x, an angle of up to 2^31 given in f32, which has to be reduced to a part of one turn with no more than f32:
//
//   1. 1 / (2 pi) = i1 + i2 + i3, three f32 of 24 bits each.
//   2. x i1 = t + e and x i2 = u + v exactly: t, u are the rounded products, e, v what fma says is missing.
//   3. Whole turns do not matter, so those of t, e and u are dropped, each without error; what is left is small and is added up.
//   4. The nearest quarter turn q is taken off; the rest is within pi / 4, where polynomials give sine and cosine.
//   5. q mod 4 says which of them, and with which sign.
//
//===----------------------------------------------------------------------===//

#include "TileMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

/// c0 + c1 x + c2 x^2 + ...
static Tile horner(Tile x, ArrayRef<double> coefficients) {
  Tile result = x.constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, x.constant(coefficient));
  return result;
}

static Tile round(Tile x) { return floor(x + 0.5); }

Tile exp(Tile x) {
  // log2(e) as a sum of two f32, so that the error of the exponent stays below that of exp2 itself.
  constexpr double high = 1.44269502162933349609375;
  constexpr double low = 1.92596299112661746887e-8;
  Tile whole = x * high;
  Tile rest = fma(x, x.constant(high), -whole) + x * low;
  // Where exp2 overflows or vanishes, x may be infinite, and the rest is no number.
  Tile power = exp2(whole);
  Tile corrected = fma(power, rest * llvm::numbers::ln2, power);
  return select(less(abs(whole), 126.0), corrected, power);
}

Tile erf(Tile x) {
  // x P(x^2) up to 1; beyond, 1 - 2^-Q(|x|), which is 1 in f32 from 4 on. Interpolated at Chebyshev's points.
  constexpr double small[] = {1.1283791658483509,   -0.3761262666671985,   0.11283594715154313,
                              -0.02685421201037881, 0.0051890874229765785, -0.0008016864283299621,
                              7.875875050430342e-05};
  constexpr double large[] = {
      -0.0004618615762299675, 1.6305821714917164,    0.911532311291733,
      0.15881198976825583,    -0.0381176418885343,   0.006866645968406822,
      -0.0008610085164039932, 6.644770976747598e-05, -2.3619102263436042e-06};
  Tile magnitude = abs(x);
  Tile inner = x * horner(x * x, small);
  Tile tail = 1.0 / exp2(horner(min(magnitude, x.constant(4.0)), large));
  Tile outer = x.constant(1.0) - tail;
  return select(less(magnitude, 1.0), inner, select(less(x, 0.0), -outer, outer));
}

SinCos sinCos(Tile x) {
  constexpr double i1 = 0.15915493667125702, i2 = 6.4206382432985265e-09,
                   i3 = 7.342738699078887e-17;
  constexpr double sineTerms[] = {0.9999999999956731, -0.16666666631591223, 0.0083333287824646,
                                  -0.00019839202213939604, 2.717345699409155e-06};
  constexpr double cosineTerms[] = {0.9999999999524894, -0.4999999961485757, 0.04166661669252817,
                                    -0.0013886617999487431, 2.43798312351096e-05};
  Tile t = x * i1, u = x * i2;
  Tile e = fma(x, x.constant(i1), -t), v = fma(x, x.constant(i2), -u);
  Tile small = (u - round(u)) + fma(x, x.constant(i3), v);
  Tile turns = (t - round(t)) + ((e - round(e)) + small);
  Tile quarters = round(turns * 4.0);
  Tile angle = (turns - quarters * 0.25) * (2 * llvm::numbers::pi);
  Tile square = angle * angle;
  Tile sine = angle * horner(square, sineTerms), cosine = horner(square, cosineTerms);

  // q mod 4 is 0, 1, 2 or 3: (s, c), (c, -s), (-s, -c), (-c, s).
  Tile q = quarters - floor(quarters * 0.25) * 4.0;
  Tile half = floor(q * 0.5); // 1 for 2 and 3
  Tile isEven = less(q - half * 2.0, 0.5);
  Tile sign = fma(half, half.constant(-2.0), half.constant(1.0));
  return {sign * select(isEven, sine, cosine), sign * select(isEven, cosine, -sine)};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Tile sigmoid(Tile x) { return 1.0 / (exp(-x) + 1.0); }

static Tile silu(Tile x) { return x / (exp(-x) + 1.0); }

static Tile gelu(Tile x) {
  constexpr double sqrtHalf = 0.70710678118654752440;
  return x * 0.5 * (erf(x * sqrtHalf) + 1.0);
}

static Tile geluTanh(Tile x) {
  constexpr double sqrtTwoOverPi = 0.79788456080286535588;
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * sqrtTwoOverPi) + 1.0);
}

Tile activate(attn::ActivationKind kind, Tile x) {
  switch (kind) {
  case attn::ActivationKind::Silu:
    return silu(x);
  case attn::ActivationKind::Gelu:
    return gelu(x);
  case attn::ActivationKind::GeluTanh:
    return geluTanh(x);
  case attn::ActivationKind::Sigmoid:
    return sigmoid(x);
  case attn::ActivationKind::EluPlusOne:
    // One of the two terms is that of x = 0.
    return max(x, x.constant(0.0)) + exp(min(x, x.constant(0.0)));
  case attn::ActivationKind::Relu:
    return max(x, x.constant(0.0));
  case attn::ActivationKind::SquaredRelu: {
    Tile positive = max(x, x.constant(0.0));
    return positive * positive;
  }
  }
  llvm_unreachable("unknown activation");
}

Tile gate(attn::GluKind kind, Tile g, Tile u, double limit) {
  switch (kind) {
  case attn::GluKind::Swiglu:
    return silu(g) * u;
  case attn::GluKind::Geglu:
    return gelu(g) * u;
  case attn::GluKind::GegluTanh:
    return geluTanh(g) * u;
  case attn::GluKind::GptOss: {
    g = min(g, g.constant(limit));
    u = max(min(u, u.constant(limit)), u.constant(-limit));
    return g / (exp(g * -1.702) + 1.0) * (u + 1.0);
  }
  case attn::GluKind::Sigmoid:
    return sigmoid(g) * u;
  }
  llvm_unreachable("unknown gated unit");
}

} // namespace heddle
