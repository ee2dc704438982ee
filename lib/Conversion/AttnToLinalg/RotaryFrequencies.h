//===- RotaryFrequencies.h - inverse frequencies of rope --------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ROTARYFREQUENCIES_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ROTARYFREQUENCIES_H

#include "TensorEmitter.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// The f32 tensor [rotary_dim / 2] of frequencies of `op`. Fails with a reason
/// if the scaling depends on a length that is known at run time only and has
/// no run-time form.
mlir::FailureOr<mlir::Value> emitInverseFrequencies(TensorEmitter &emit, attn::RopeOp op,
                                                    attn::RopeOp::Adaptor operands,
                                                    mlir::RewriterBase &rewriter);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ROTARYFREQUENCIES_H
