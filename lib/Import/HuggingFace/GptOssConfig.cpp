//===- GptOssConfig.cpp - config.json of model_type gpt_oss ---------------===//

#include "ExpertParts.h"
#include "LayerParts.h"

using namespace heddle;

static ExpertFeedForward readGptOssExperts(FieldReader &fields, const DecoderConfig &config) {
  ExpertFields names;
  names.experts = "num_local_experts";
  names.expertsAbsent = 128;
  names.topKAbsent = 4;
  names.inner = "intermediate_size";
  names.innerAbsent = config.intermediateSize;
  ExpertFeedForward moe = readExperts(fields, config, names);
  moe.router = {"mlp.router", moe.experts, config.hiddenSize, /*bias=*/true};
  // Softmax over the chosen experts alone.
  moe.renormalize = true;
  moe.gate = "gate_up_proj";
  moe.down = "down_proj";
  moe.stackedLimit = fields.number("swiglu_limit", 7, {0, 1e9});
  if (fields.number("swiglu_alpha", 1.702, {0, 1e9}) != 1.702)
    fields.error("swiglu_alpha", "has another value than 1.702, which alone is supported");
  // An older name of num_experts_per_tok.
  fields.integer("experts_per_token", moe.topK, kHeadRange);
  fields.integer("initial_context_length", 4096, kCountRange);
  return moe;
}

DecoderConfig heddle::readGptOssConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 201088;
  defaults.hiddenSize = 2880;
  defaults.intermediateSize = 2880;
  defaults.numLayers = 36;
  defaults.numHeads = 64;
  defaults.numKeyValueHeads = 8;
  defaults.headDim = 64;
  defaults.maxPosition = 131072;
  defaults.normEps = 1e-5;
  DecoderConfig config = readCommonFields(fields, defaults);
  RopeDefaults rope;
  rope.theta = 150000;
  RopeYarnParams yarn;
  yarn.factor = 32;
  yarn.originalMaxPosition = 4096;
  yarn.truncate = false;
  rope.scaling = yarn;
  config.rope = readRope(fields, config, rope);
  config.finalNorm = makeNorm(config, "norm");

  bool bias = fields.boolean("attention_bias", true);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  attention.sinks = "self_attn.sinks";
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 128, kCountRange);
  ExpertFeedForward experts = readGptOssExperts(fields, config);
  for (bool slides : readLayerKinds(fields, config, "sliding_attention", /*fullEvery=*/2)) {
    setWindow(attention, slides ? window.value_or(0) : 0);
    config.layers.push_back(makePreNormLayer(config, attention, experts));
  }
  return config;
}
