//===- GemmaConfig.cpp - config.json of gemma2 and gemma3_text ------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

#include <cmath>

using namespace heddle;

static DecoderConfig readGemmaFields(FieldReader &fields, CommonDefaults defaults) {
  defaults.hiddenSize = 2304;
  defaults.intermediateSize = 9216;
  defaults.numLayers = 26;
  defaults.numHeads = 8;
  defaults.numKeyValueHeads = 4;
  defaults.headDim = 256;
  defaults.tied = true;
  defaults.activationField = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  DecoderConfig config = readCommonFields(fields, defaults);
  // Files repeat hidden_activation under its older name, which nothing reads.
  fields.string("hidden_act", "");
  config.normKind = NormKind::RmsPlusOne;
  config.embeddingScale = std::sqrt(static_cast<double>(config.hiddenSize));
  config.finalNorm = makeNorm(config, "norm");
  config.logitsSoftcap = fields.numberOrNull("final_logit_softcapping", kSoftcapRange).value_or(0);
  return config;
}

static SoftmaxAttention readGemmaAttention(FieldReader &fields, const DecoderConfig &config) {
  bool bias = fields.boolean("attention_bias", false);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  attention.scale = 1 / std::sqrt(fields.number("query_pre_attn_scalar", 256, {0, 1e9}));
  return attention;
}

/// Both norms of each part, before and behind it.
static LayerConfig makeSandwichLayer(const DecoderConfig &config, SoftmaxAttention attention) {
  LayerConfig layer = makePreNormLayer(config, std::move(attention), makeGatedFeedForward(config));
  layer.mixerOutputNorm = makeNorm(config, "post_attention_layernorm");
  layer.feedForwardInputNorm = makeNorm(config, "pre_feedforward_layernorm");
  layer.feedForwardOutputNorm = makeNorm(config, "post_feedforward_layernorm");
  return layer;
}

DecoderConfig heddle::readGemma2Config(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 256000;
  defaults.maxPosition = 8192;
  DecoderConfig config = readGemmaFields(fields, defaults);
  config.rope = readRope(fields, config);
  // Absent caps are those of the released models, null ones none.
  if (!fields.has("final_logit_softcapping"))
    config.logitsSoftcap = 30;
  SoftmaxAttention attention = readGemmaAttention(fields, config);
  double softcap = fields.numberOrNull("attn_logit_softcapping", kSoftcapRange).value_or(0);
  attention.softcap = fields.has("attn_logit_softcapping") ? softcap : 50;
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  for (bool slides : readLayerKinds(fields, config, "sliding_attention", /*fullEvery=*/2)) {
    setWindow(attention, slides ? window.value_or(0) : 0);
    config.layers.push_back(makeSandwichLayer(config, attention));
  }
  return config;
}

DecoderConfig heddle::readGemma3TextConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 262208;
  defaults.maxPosition = 131072;
  DecoderConfig config = readGemmaFields(fields, defaults);
  LayerRopes ropes = readLayerRopes(fields, config, 1e6, "rope_local_base_freq", 1e4);
  config.rope = ropes.full;
  SoftmaxAttention attention = readGemmaAttention(fields, config);
  addHeadNorms(config, attention);
  // Encoders see as many keys behind a token as before it.
  attention.causal = !fields.boolean("use_bidirectional_attention", false);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  int64_t pattern = 6;
  for (const char *name : {"_sliding_window_pattern", "sliding_window_pattern"})
    pattern = fields.integer(name, pattern, kLayerRange);
  for (bool slides : readLayerKinds(fields, config, "sliding_attention", pattern)) {
    setWindow(attention, slides ? window.value_or(0) : 0);
    if (slides && window && !attention.causal)
      attention.windowLeft = attention.windowRight = *window / 2;
    attention.rope = slides ? ropes.sliding : ropes.full;
    config.layers.push_back(makeSandwichLayer(config, attention));
  }
  return config;
}
