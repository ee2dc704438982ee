//===- BlockBuilder.h - one decoder layer -----------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H
#define HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H

#include "TensorBuilder.h"

#include "heddle/Import/DecoderConfig.h"

namespace heddle {

/// What every layer of one call shares.
struct CallValues {
  /// First position of each sequence's new tokens, [batch] i32.
  mlir::Value start;
  /// Position of each new token, [batch, seq] i32.
  mlir::Value positions;
  /// Keys of each sequence including the new ones, [batch] i32.
  mlir::Value keyValueLengths;
};

struct BlockResult {
  mlir::Value hiddenStates;
  /// Attention after its output projection, before the residual.
  mlir::Value attention;
  mlir::Value keyCache;
  mlir::Value valueCache;
};

/// Gives the function argument that holds a checkpoint tensor.
using WeightLookup = llvm::function_ref<mlir::Value(llvm::StringRef name)>;

/// Pre-norm block: x += Attention(norm(x)); x += FeedForward(norm(x)).
/// `hiddenStates` is [batch, seq, hidden] in the activation type.
BlockResult buildBlock(TensorBuilder &tensors, const DecoderConfig &config, int64_t layer,
                       const CallValues &call, mlir::Value hiddenStates, mlir::Value keyCache,
                       mlir::Value valueCache, WeightLookup weight);

/// RMS norm over the last dimension with the model's epsilon.
mlir::Value buildRmsNorm(TensorBuilder &tensors, const DecoderConfig &config, mlir::Value x,
                         mlir::Value weight);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H
