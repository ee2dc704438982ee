//===- DecoderConfig.h - neutral description of a decoder -------*- C++ -*-===//
//
// What the importer knows about a decoder-only Transformer once the spelling
// of its config.json and the defaults of its architecture are out of the way:
// numbers of the whole model, and a description of each layer, which names the
// tensors it is made of. The table of weights and the builder of the IR read
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_IMPORT_DECODERCONFIG_H
#define HEDDLE_IMPORT_DECODERCONFIG_H

#include "heddle/Import/LayerConfig.h"

namespace heddle {

/// How weights may be stored beside scales (BlockScales.h, Mxfp4.h).
enum class ScaledWeights { None, Float8, Mxfp4 };

struct DecoderConfig {
  std::string modelType;

  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t intermediateSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKeyValueHeads = 0;
  int64_t headDim = 0;
  int64_t maxPosition = 0;

  /// Norms, activation and rotary embedding that layers have unless they say otherwise.
  NormKind normKind = NormKind::Rms;
  double normEps = 0;
  Activation activation = Activation::SiLU;
  RopeConfig rope;

  /// Names of tensors: `root` comes before all but the head, and may be absent in a
  /// checkpoint if `bareNames`. Layer N is "<root><layersName>.N.".
  std::string root = "model.";
  bool bareNames = false;
  std::string layersName = "layers";
  std::string embeddingName = "embed_tokens.weight";
  std::string headName = "lm_head.weight";

  /// Factor on the embedding, in the type that the embedding is stored in.
  double embeddingScale = 1;
  /// Learned positions [maxPosition, hidden] that are added to it; empty: none.
  std::string positionName;
  std::optional<NormConfig> embeddingNorm;
  NormConfig finalNorm;
  bool tieWordEmbeddings = false;
  /// logits = softcap * tanh(logits / softcap); 0: not capped.
  double logitsSoftcap = 0;

  /// Tensors of a checkpoint that have no part in the decoder begin or end so.
  std::vector<std::string> ignoredPrefixes;
  std::vector<std::string> ignoredSuffixes;

  ScaledWeights scaledWeights = ScaledWeights::None;
  /// Rows and columns of the blocks in which fp8 weights share a scale; 0: all of a row or matrix do.
  int64_t scaleBlockRows = 0;
  int64_t scaleBlockColumns = 0;

  std::vector<LayerConfig> layers;

  const LayerConfig &layer(int64_t index) const { return layers[static_cast<size_t>(index)]; }

  /// Whether a query may see only keys up to its own, so that tokens can follow.
  bool isCausal() const;
};

} // namespace heddle

#endif // HEDDLE_IMPORT_DECODERCONFIG_H
