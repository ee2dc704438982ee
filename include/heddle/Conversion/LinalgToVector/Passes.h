//===- Passes.h - linalg on buffers to vector code in tasks -----*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_H
#define HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/LinalgToVector/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/LinalgToVector/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_H
