//===- Passes.h - passes from attn to linalg --------------------*- C++ -*-===//

#ifndef HEDDLE_CONVERSION_ATTNTOLINALG_PASSES_H
#define HEDDLE_CONVERSION_ATTNTOLINALG_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace heddle {

/// Type of the arithmetic inside an operation, for data of at most 32 bits.
enum class AccumulateType { F32, F64 };

/// Who says whether latent attention is expanded or absorbed: its cost, or one of the two for all.
enum class LatentFormChoice { Cost, Expanded, Absorbed };

#define GEN_PASS_DECL
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

/// Conversion patterns for every attn operation but the run-time checks.
void populateAttnToLinalgPatterns(mlir::RewritePatternSet &patterns, AccumulateType accumulate);

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

} // namespace heddle

#endif // HEDDLE_CONVERSION_ATTNTOLINALG_PASSES_H
