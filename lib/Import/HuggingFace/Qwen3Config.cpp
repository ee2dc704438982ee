//===- Qwen3Config.cpp - config.json of model_type qwen3 ------------------===//

#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readQwen3Config(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 151936;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 22016;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 32;
  defaults.headDim = 128;
  defaults.maxPosition = 32768;
  DecoderConfig config = readCommonFields(fields, defaults);

  config.queryKeyNorm = true;
  config.queryKeyValueBias = fields.boolean("attention_bias", false);
  config.attentionOutputBias = config.queryKeyValueBias;
  readQwenWindows(fields, config);
  return config;
}
