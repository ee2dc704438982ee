//===- Activations.h - gates as formulas ------------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H

#include "TensorEmitter.h"

namespace heddle {

inline Scalar sigmoid(Scalar x) { return 1.0 / (1.0 + exp(-x)); }

inline Scalar silu(Scalar x) { return x / (1.0 + exp(-x)); }

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ACTIVATIONS_H
