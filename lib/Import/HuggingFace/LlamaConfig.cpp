//===- LlamaConfig.cpp - config.json of model_type llama ------------------===//

#include "LayerParts.h"
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
  config.rope = readRope(fields, config);

  // One switch for all four projections of the attention.
  bool attentionBias = fields.boolean("attention_bias", false);
  bool mlpBias = fields.boolean("mlp_bias", false);
  checkUniformLayerTypes(fields, config, /*slides=*/false);
  config.finalNorm = makeNorm(config, "norm");
  config.layers.assign(static_cast<size_t>(config.numLayers),
                       makePreNormLayer(config, makeAttention(config, attentionBias, attentionBias),
                                        makeGatedFeedForward(config, mlpBias)));
  return config;
}
