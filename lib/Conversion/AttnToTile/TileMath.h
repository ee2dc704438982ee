//===- TileMath.h - functions of tiles that the machine lacks ---*- C++ -*-===//
//
// Written with the operations that every target has: +, *, /, exp2, floor, tanh. All are for tiles of f32.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H

#include "heddle/Conversion/AttnToTile/TileEmitter.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// Relative error below 4e-7, also where exp2(x log2 e) alone would err by more for large |x|.
Tile exp(Tile x);
/// Absolute error below 2e-7.
Tile erf(Tile x);

struct SinCos {
  Tile sine, cosine;
};
/// Absolute error below 2e-7 up to |x| = 2^20, and below 1e-6 up to 2^31.
SinCos sinCos(Tile x);

Tile activate(attn::ActivationKind kind, Tile x);
/// A gated unit; `limit` is for gpt_oss.
Tile gate(attn::GluKind kind, Tile g, Tile u, double limit);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H
