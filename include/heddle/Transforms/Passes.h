//===- Passes.h - passes from tensors to an executable module ---*- C++ -*-===//

#ifndef HEDDLE_TRANSFORMS_PASSES_H
#define HEDDLE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Transforms/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_TRANSFORMS_PASSES_H
