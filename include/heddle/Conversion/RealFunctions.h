//===- RealFunctions.h - functions of f32 by arithmetic ---------*- C++ -*-===//
//
// Written once for what arithmetic is emitted on: tiles (TileMath.h), and the registers of a GPU's thread (TileToNVVM/MathFunctions.cpp).
// `Real` has x + y, x - y, x * y, -x, x + c, x * c and 1.0 / x, and by argument-dependent lookup fma, floor, abs, min, exp2,
// less(x, c) and select; x.constant(c) is a value of the same type.
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

#ifndef HEDDLE_CONVERSION_REALFUNCTIONS_H
#define HEDDLE_CONVERSION_REALFUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {

/// c0 + c1 x + c2 x^2 + ...
template <typename Real> Real horner(Real x, llvm::ArrayRef<double> coefficients) {
  Real result = x.constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, x.constant(coefficient));
  return result;
}

/// Absolute error below 2e-7.
template <typename Real> Real erfOf(Real x) {
  // x P(x^2) up to 1; beyond, 1 - 2^-Q(|x|), which is 1 in f32 from 4 on. Interpolated at Chebyshev's points.
  constexpr double small[] = {1.1283791658483509,   -0.3761262666671985,   0.11283594715154313,
                              -0.02685421201037881, 0.0051890874229765785, -0.0008016864283299621,
                              7.875875050430342e-05};
  constexpr double large[] = {
      -0.0004618615762299675, 1.6305821714917164,    0.911532311291733,
      0.15881198976825583,    -0.0381176418885343,   0.006866645968406822,
      -0.0008610085164039932, 6.644770976747598e-05, -2.3619102263436042e-06};
  Real magnitude = abs(x);
  Real inner = x * horner<Real>(x * x, small);
  Real tail = 1.0 / exp2(horner<Real>(min(magnitude, x.constant(4.0)), large));
  Real outer = x.constant(1.0) - tail;
  return select(less(magnitude, 1.0), inner, select(less(x, 0.0), -outer, outer));
}

template <typename Real> struct SineCosine {
  Real sine, cosine;
};

/// Absolute error below 2e-7 up to |x| = 2^20, and below 1e-6 up to 2^31.
template <typename Real> SineCosine<Real> sineCosineOf(Real x) {
  constexpr double i1 = 0.15915493667125702, i2 = 6.4206382432985265e-09,
                   i3 = 7.342738699078887e-17;
  constexpr double sineTerms[] = {0.9999999999956731, -0.16666666631591223, 0.0083333287824646,
                                  -0.00019839202213939604, 2.717345699409155e-06};
  constexpr double cosineTerms[] = {0.9999999999524894, -0.4999999961485757, 0.04166661669252817,
                                    -0.0013886617999487431, 2.43798312351096e-05};
  auto round = [](Real y) -> Real { return floor(y + 0.5); };
  Real t = x * i1, u = x * i2;
  Real e = fma(x, x.constant(i1), -t), v = fma(x, x.constant(i2), -u);
  Real small = (u - round(u)) + fma(x, x.constant(i3), v);
  Real turns = (t - round(t)) + ((e - round(e)) + small);
  Real quarters = round(turns * 4.0);
  Real angle = (turns - quarters * 0.25) * (2 * llvm::numbers::pi);
  Real square = angle * angle;
  Real sine = angle * horner<Real>(square, sineTerms), cosine = horner<Real>(square, cosineTerms);

  // q mod 4 is 0, 1, 2 or 3: (s, c), (c, -s), (-s, -c), (-c, s).
  Real q = quarters - floor(quarters * 0.25) * 4.0;
  Real half = floor(q * 0.5); // 1 for 2 and 3
  auto isEven = less(q - half * 2.0, 0.5);
  Real sign = fma(half, half.constant(-2.0), half.constant(1.0));
  return {sign * select(isEven, sine, cosine), sign * select(isEven, cosine, -sine)};
}

} // namespace heddle

#endif // HEDDLE_CONVERSION_REALFUNCTIONS_H
