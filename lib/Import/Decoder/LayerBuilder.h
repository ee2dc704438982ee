//===- LayerBuilder.h - the parts of one decoder layer ----------*- C++ -*-===//
//
// What the builders of mixers and feed-forward parts share. Each kind of part
// has a file of its own, with one of the functions at the end.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_LAYERBUILDER_H
#define HEDDLE_LIB_IMPORT_DECODER_LAYERBUILDER_H

#include "BlockBuilder.h"

#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// One layer under construction: its tensors by their names below the layer.
class LayerBuilder {
public:
  LayerBuilder(TensorBuilder &tensors, const CallValues &call, std::string prefix,
               WeightLookup lookup)
      : tensors(tensors), builder(tensors.builder), loc(tensors.loc), call(call),
        prefix(std::move(prefix)), lookup(lookup) {}

  mlir::Value weight(const llvm::Twine &name) { return lookup((prefix + name).str()); }

  /// Null norms leave x as it is.
  mlir::Value norm(mlir::Value x, const std::optional<NormConfig> &norm);
  mlir::Value linear(mlir::Value x, const LinearConfig &linear);
  /// In f32, not rounded.
  mlir::Value linearF32(mlir::Value x, const LinearConfig &linear);
  mlir::Value rotate(mlir::Value x, const RopeConfig &rope);
  /// The gated unit of an activation.
  static attn::GluKind gluKind(Activation activation);
  mlir::Value glu(attn::GluKind kind, mlir::Value gate, mlir::Value up);
  mlir::Value activation(Activation kind, mlir::Value x);
  mlir::Value activation(attn::ActivationKind kind, mlir::Value x);
  /// A convolution with SiLU, its weights stored [channels, 1, kernel]; the state that it leaves is
  /// appended to `updated`.
  mlir::Value convolve(mlir::Value x, llvm::StringRef weightName, mlir::Value state,
                       llvm::SmallVectorImpl<mlir::Value> &updated);

  TensorBuilder &tensors;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CallValues &call;
  /// The keys that this layer has chosen for others, too; null if it has no indexer.
  mlir::Value chosenKeys;

private:
  std::string prefix;
  WeightLookup lookup;
};

/// A mixer reads normalised `x` and the layer's caches, gives what its output
/// projection gives, and appends the caches as they are then to `updated`.
mlir::Value buildMixer(LayerBuilder &layer, const SoftmaxAttention &attention, mlir::Value x,
                       mlir::ValueRange caches, llvm::SmallVectorImpl<mlir::Value> &updated);

mlir::Value buildMixer(LayerBuilder &layer, const GatedDeltaNet &delta, mlir::Value x,
                       mlir::ValueRange caches, llvm::SmallVectorImpl<mlir::Value> &updated);
mlir::Value buildMixer(LayerBuilder &layer, const KimiDeltaAttention &delta, mlir::Value x,
                       mlir::ValueRange caches, llvm::SmallVectorImpl<mlir::Value> &updated);
mlir::Value buildMixer(LayerBuilder &layer, const LightningAttention &lightning, mlir::Value x,
                       mlir::ValueRange caches, llvm::SmallVectorImpl<mlir::Value> &updated);

mlir::Value buildMixer(LayerBuilder &layer, const LatentAttention &latent, mlir::Value x,
                       mlir::ValueRange caches, llvm::SmallVectorImpl<mlir::Value> &updated);

mlir::Value buildFeedForward(LayerBuilder &layer, const DenseFeedForward &feedForward,
                             mlir::Value x);

mlir::Value buildFeedForward(LayerBuilder &layer, const ExpertFeedForward &moe, mlir::Value x);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_LAYERBUILDER_H
