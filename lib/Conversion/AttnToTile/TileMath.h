//===- TileMath.h - functions of tiles that the machine lacks ---*- C++ -*-===//
//
// Written with the operations that every target has: +, *, /, exp2, floor, tanh. All are for tiles of f32.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H

#include "heddle/Conversion/AttnToTile/TileEmitter.h"
#include "heddle/Conversion/RealFunctions.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// Relative error below 4e-7, also where exp2(x log2 e) alone would err by more for large |x|.
Tile exp(Tile x);
inline Tile erf(Tile x) { return erfOf(x); }

using SinCos = SineCosine<Tile>;
inline SinCos sinCos(Tile x) { return sineCosineOf(x); }

Tile activate(attn::ActivationKind kind, Tile x);
/// A gated unit; `limit` is for gpt_oss.
Tile gate(attn::GluKind kind, Tile g, Tile u, double limit);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEMATH_H
