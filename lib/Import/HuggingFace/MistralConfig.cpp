//===- MistralConfig.cpp - config.json of model_type mistral --------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readMistralConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 32000;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 14336;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 8;
  defaults.maxPosition = 131072;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config);

  // An absent window is 4096 keys; null means that there is none.
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  checkUniformLayerTypes(fields, config, window.has_value());
  SoftmaxAttention attention = makeAttention(config);
  setWindow(attention, window.value_or(0));
  config.finalNorm = makeNorm(config, "norm");
  config.layers.assign(static_cast<size_t>(config.numLayers),
                       makePreNormLayer(config, attention, makeGatedFeedForward(config)));
  return config;
}
