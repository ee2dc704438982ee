//===- MathFunctions.h - functions of f32 on the GPU ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_MATHFUNCTIONS_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_MATHFUNCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// A math op, or a division, on scalars of type `result`. Fails, without a message, if it has no lowering.
mlir::FailureOr<mlir::Value> lowerMath(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                                       mlir::ValueRange operands, mlir::Type result);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_MATHFUNCTIONS_H
