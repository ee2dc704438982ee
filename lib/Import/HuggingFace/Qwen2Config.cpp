//===- Qwen2Config.cpp - config.json of model_type qwen2 ------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readQwen2Config(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 151936;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 22016;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 32;
  defaults.maxPosition = 32768;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config);

  // Query, key and value always have biases, the output never; no field says so.
  SoftmaxAttention attention = makeAttention(config, /*queryKeyValueBias=*/true);
  config.finalNorm = makeNorm(config, "norm");
  for (int64_t window : readQwenWindows(fields, config)) {
    setWindow(attention, window);
    config.layers.push_back(makePreNormLayer(config, attention, makeGatedFeedForward(config)));
  }
  return config;
}
