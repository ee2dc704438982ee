//===- Qwen3Config.cpp - config.json of model_type qwen3 ------------------===//

#include "LayerParts.h"
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
  config.rope = readRope(fields, config);

  bool bias = fields.boolean("attention_bias", false);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  addHeadNorms(config, attention);
  config.finalNorm = makeNorm(config, "norm");
  for (int64_t window : readQwenWindows(fields, config)) {
    setWindow(attention, window);
    config.layers.push_back(makePreNormLayer(config, attention, makeGatedFeedForward(config)));
  }
  return config;
}
