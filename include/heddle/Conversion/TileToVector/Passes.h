//===- Passes.h - tile kernels to vector code on CPUs -----------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_TILETOVECTOR_PASSES_H
#define HEDDLE_CONVERSION_TILETOVECTOR_PASSES_H

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/TileToVector/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/TileToVector/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_TILETOVECTOR_PASSES_H
