//===- Patterns.h - the pattern sets of each family -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PATTERNS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PATTERNS_H

#include "TensorEmitter.h"
#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Transforms/DialectConversion.h"

namespace heddle {

/// Base of the patterns: knows the type that an operation computes in.
template <typename OpTy> class AttnToLinalgPattern : public mlir::OpConversionPattern<OpTy> {
public:
  AttnToLinalgPattern(mlir::MLIRContext *context, AccumulateType accumulate)
      : mlir::OpConversionPattern<OpTy>(context), accumulate(accumulate) {}

protected:
  /// f64 if asked for or if any of `values` holds f64, else f32.
  mlir::FloatType computeType(mlir::ValueRange values) const {
    mlir::MLIRContext *context = this->getContext();
    for (mlir::Value value : values)
      if (mlir::getElementTypeOrSelf(value).isF64())
        return mlir::Float64Type::get(context);
    if (accumulate == AccumulateType::F64)
      return mlir::Float64Type::get(context);
    return mlir::Float32Type::get(context);
  }

private:
  AccumulateType accumulate;
};

void populateActivationToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateAttentionToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateCacheToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateDecayGateToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateExpertsToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateKeySelectionToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateLatentToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateLinearAttentionToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateNormToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populatePartialsToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populatePatternScoresToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateRotaryToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateRouterToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateShortConvToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);
void populateStreamsToLinalg(mlir::RewritePatternSet &patterns, AccumulateType accumulate);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PATTERNS_H
