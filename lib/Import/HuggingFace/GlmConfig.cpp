//===- GlmConfig.cpp - config.json of model_type glm ----------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readGlmConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 151552;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 13696;
  defaults.numLayers = 40;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 2;
  defaults.headDim = 128;
  defaults.maxPosition = 131072;
  defaults.normEps = 1.5625e-7;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config, {10000, 0.5, false, {}});
  config.rope.interleaved = true;

  // The output projection never has a bias.
  SoftmaxAttention attention = makeAttention(config, fields.boolean("attention_bias", true));
  config.finalNorm = makeNorm(config, "norm");
  config.layers.assign(static_cast<size_t>(config.numLayers),
                       makePreNormLayer(config, attention, makeFusedFeedForward(config)));
  return config;
}
