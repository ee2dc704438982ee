//===- Qwen3MoeConfig.cpp - config.json of model_type qwen3_moe -----------===//

#include "ExpertParts.h"
#include "LayerParts.h"

using namespace heddle;

DecoderConfig heddle::readQwen3MoeConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 151936;
  defaults.hiddenSize = 2048;
  defaults.intermediateSize = 6144;
  defaults.numLayers = 24;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 4;
  defaults.maxPosition = 32768;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config);
  config.finalNorm = makeNorm(config, "norm");

  bool bias = fields.boolean("attention_bias", false);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  addHeadNorms(config, attention);
  ExpertFields names;
  // transformers 5 writes num_experts under another name.
  names.expertsAbsent = fields.integer("num_local_experts", 128, {0, kHeadRange.high});
  names.mayBeNone = true;
  names.topKAbsent = 8;
  names.innerAbsent = 768;
  ExpertFeedForward experts = readExperts(fields, config, names);
  experts.renormalize = fields.boolean("norm_topk_prob", false);
  // Unlike the dense Qwen3, all layers slide or none.
  bool slides = fields.boolean("use_sliding_window", false);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  fields.integerOrNull("max_window_layers", std::nullopt, {0, kLayerRange.high});
  setWindow(attention, slides ? window.value_or(0) : 0);
  for (bool sparse : readSparseLayers(fields, config, experts.experts)) {
    LayerConfig layer = makePreNormLayer(config, attention, makeGatedFeedForward(config));
    if (sparse)
      layer.feedForward = experts;
    config.layers.push_back(std::move(layer));
  }
  return config;
}
