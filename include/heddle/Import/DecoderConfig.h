//===- DecoderConfig.h - neutral description of a decoder -------*- C++ -*-===//
//
// What the importer knows about a dense decoder-only Transformer once the
// spelling of its config.json and the defaults of its architecture are out of
// the way. The builder of the IR reads nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_IMPORT_DECODERCONFIG_H
#define HEDDLE_IMPORT_DECODERCONFIG_H

#include "heddle/Analysis/RopeFrequencies.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heddle {

struct RopeLinearParams {
  double factor;
};

struct RopeDynamicParams {
  double factor;
  int64_t maxPosition;
};

/// Rotary embedding of the whole head, half-split pairs.
struct RopeConfig {
  double theta = 10000;
  /// monostate: the frequencies as they are.
  std::variant<std::monostate, RopeLinearParams, RopeDynamicParams, RopeLlama3Params,
               RopeYarnParams, RopeLongParams>
      scaling;
};

/// Activation of the gated feed-forward layer.
enum class GatedActivation { SiLU, GeluErf, GeluTanh };

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

  double rmsNormEps = 0;
  GatedActivation activation = GatedActivation::SiLU;
  RopeConfig rope;

  bool tieWordEmbeddings = false;
  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool mlpBias = false;
  /// RMS norm over each head of query and key, before the rotation.
  bool queryKeyNorm = false;

  /// Per layer: number of keys a query sees including its own, 0 = all of them.
  std::vector<int64_t> layerWindow;
};

} // namespace heddle

#endif // HEDDLE_IMPORT_DECODERCONFIG_H
