//===- MistralConfig.cpp - config.json of model_type mistral --------------===//

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

  // An absent window is 4096 keys; null means that there is none.
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  config.layerWindow.assign(config.layerWindow.size(), window.value_or(0));
  checkUniformLayerTypes(fields, config);
  return config;
}
