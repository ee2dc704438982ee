//===- OlmoConfig.cpp - config.json of olmo2 and olmo3 --------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

static DecoderConfig readOlmoFields(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 50304;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 11008;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.maxPosition = 2048;
  defaults.normEps = 1e-5;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.finalNorm = makeNorm(config, "norm");
  return config;
}

/// Query and key are normalised as a whole, not head by head.
static SoftmaxAttention readOlmoAttention(FieldReader &fields, const DecoderConfig &config) {
  bool bias = fields.boolean("attention_bias", false);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  attention.queryNorm = makeNorm(config, "self_attn.q_norm", attention.query.out);
  attention.keyNorm = makeNorm(config, "self_attn.k_norm", attention.key.out);
  return attention;
}

/// Each part is normalised behind, not before.
static LayerConfig makePostNormLayer(const DecoderConfig &config, SoftmaxAttention attention) {
  LayerConfig layer;
  layer.mixer = std::move(attention);
  layer.mixerOutputNorm = makeNorm(config, "post_attention_layernorm");
  layer.feedForward = makeGatedFeedForward(config);
  layer.feedForwardOutputNorm = makeNorm(config, "post_feedforward_layernorm");
  return layer;
}

DecoderConfig heddle::readOlmo2Config(FieldReader &fields) {
  DecoderConfig config = readOlmoFields(fields);
  config.rope = readRope(fields, config);
  config.layers.assign(static_cast<size_t>(config.numLayers),
                       makePostNormLayer(config, readOlmoAttention(fields, config)));
  return config;
}

DecoderConfig heddle::readOlmo3Config(FieldReader &fields) {
  DecoderConfig config = readOlmoFields(fields);
  LayerRopes ropes = readLayerRopes(fields, config, 10000, /*slidingThetaField=*/nullptr, 0);
  config.rope = ropes.full;
  SoftmaxAttention attention = readOlmoAttention(fields, config);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  for (bool slides : readLayerKinds(fields, config, "sliding_attention", /*fullEvery=*/4)) {
    setWindow(attention, slides ? window.value_or(0) : 0);
    attention.rope = slides ? ropes.sliding : ropes.full;
    config.layers.push_back(makePostNormLayer(config, attention));
  }
  return config;
}
