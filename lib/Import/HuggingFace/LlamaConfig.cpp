//===- LlamaConfig.cpp - config.json of model_type llama ------------------===//

#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readLlamaConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 32000;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 11008;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.maxPosition = 2048;
  DecoderConfig config = readCommonFields(fields, defaults);

  // One switch for all four projections of the attention.
  config.queryKeyValueBias = fields.boolean("attention_bias", false);
  config.attentionOutputBias = config.queryKeyValueBias;
  config.mlpBias = fields.boolean("mlp_bias", false);
  checkUniformLayerTypes(fields, config);
  return config;
}
