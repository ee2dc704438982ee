//===- Passes.h - linalg ops on buffers to tile kernels ---------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_LINALGTOTILE_PASSES_H
#define HEDDLE_CONVERSION_LINALGTOTILE_PASSES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

/// Why convert-linalg-to-tile leaves an operation on buffers, and what it would take instead; empty if it takes it.
std::string whyNoTileKernel(mlir::linalg::LinalgOp op);

#define GEN_PASS_DECL
#include "heddle/Conversion/LinalgToTile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/LinalgToTile/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_LINALGTOTILE_PASSES_H
