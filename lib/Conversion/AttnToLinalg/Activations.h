//===- Activations.h - gates as formulas ------------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H

#include "TensorEmitter.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

inline Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

inline Scalar silu(Scalar x) { return x / (1.0 + exp(-x)); }

/// attn.glu of one gate and one linear part.
Scalar gatedUnit(attn::GluKind kind, Scalar gate, Scalar up, double limit);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H
