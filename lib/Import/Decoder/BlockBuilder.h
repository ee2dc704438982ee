//===- BlockBuilder.h - one decoder layer -----------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H
#define HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H

#include "TensorBuilder.h"

#include "heddle/Import/DecoderConfig.h"

namespace heddle {

/// What every layer of one call shares.
struct CallValues {
  /// First row of each sequence's new tokens in the caches, [batch] i32.
  mlir::Value start;
  /// Position of each new token, [batch, seq] i32.
  mlir::Value positions;
  /// Which keys are tokens, [batch, 1, 1, capacity] i1, and which new rows are, [batch, seq] i1;
  /// null if all of them are.
  mlir::Value keyMask, tokenMask;
  /// Keys of each sequence including the new ones, [batch] i32.
  mlir::Value keyValueLengths;
  /// The keys of each query that the last layer with an indexer chose, [batch, seq, k] i32; null before there is one.
  mlir::Value chosenKeys;
};

struct BlockResult {
  mlir::Value hiddenStates;
  /// What the mixer of tokens gives after its output projection, before norm and residual.
  mlir::Value attention;
  /// In the order of layerCaches.
  llvm::SmallVector<mlir::Value> caches;
  /// What the next layers may reuse; null if the layer has no indexer.
  mlir::Value chosenKeys;
};

/// Gives the function argument that holds a checkpoint tensor.
using WeightLookup = llvm::function_ref<mlir::Value(llvm::StringRef name)>;

/// One layer: x += norm(Mixer(norm(x))); x += norm(FeedForward(norm(x))), with
/// the norms that the layer has. `hiddenStates` is [batch, seq, hidden] in the
/// activation type.
BlockResult buildBlock(TensorBuilder &tensors, const DecoderConfig &config, int64_t layer,
                       const CallValues &call, mlir::Value hiddenStates, mlir::ValueRange caches,
                       WeightLookup weight);

/// A norm over the last dimension, whose tensors' names begin with `prefix`.
mlir::Value buildNorm(TensorBuilder &tensors, const NormConfig &norm, mlir::Value x,
                      const std::string &prefix, WeightLookup weight);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_BLOCKBUILDER_H
