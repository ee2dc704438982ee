//===- MiniMaxConfig.cpp - config.json of model_type minimax --------------===//

#include "ExpertParts.h"
#include "LayerParts.h"

using namespace heddle;

static LightningAttention makeLightning(const DecoderConfig &config, int64_t layer) {
  int64_t width = config.numHeads * config.headDim;
  LightningAttention lightning;
  lightning.heads = config.numHeads;
  lightning.headDim = config.headDim;
  lightning.activation = config.activation;
  lightning.queryKeyValue = {"self_attn.qkv_proj", 3 * width, config.hiddenSize};
  // Later layers decay less.
  lightning.decayFactor =
      1 + 1e-5 - static_cast<double>(layer) / (static_cast<double>(config.numLayers - 1) + 1e-5);
  // Its eps is not the config's.
  lightning.norm = {"self_attn.norm", width, NormKind::Rms, 1e-6};
  lightning.gate = {"self_attn.output_gate", width, config.hiddenSize};
  lightning.output = {"self_attn.out_proj", config.hiddenSize, width};
  return lightning;
}

static ExpertFeedForward readMiniMaxExperts(FieldReader &fields, const DecoderConfig &config) {
  ExpertFields names;
  names.experts = "num_local_experts";
  names.expertsAbsent = 8;
  names.topKAbsent = 2;
  names.inner = "intermediate_size";
  names.innerAbsent = config.intermediateSize;
  ExpertFeedForward experts = readExperts(fields, config, names, "block_sparse_moe");
  experts.renormalize = true;
  experts.gate = "w1";
  experts.up = "w3";
  experts.down = "w2";
  fields.number("router_jitter_noise", 0, {0, 1e9, true});
  return experts;
}

DecoderConfig heddle::readMiniMaxConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 32000;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 14336;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 8;
  defaults.maxPosition = 131072;
  defaults.normEps = 1e-5;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config, {1e6, 1.0, false, {}});
  // MiniMax-Text-01 rotates half of each head.
  if (std::optional<int64_t> rotary =
          fields.integerOrNull("rotary_dim", std::nullopt, kHeadRange)) {
    if (*rotary % 2 != 0 || *rotary > config.headDim)
      fields.error("rotary_dim", "is " + std::to_string(*rotary) +
                                     ", expected an even number of at most head_dim (" +
                                     std::to_string(config.headDim) + ")");
    config.rope.rotaryDim = *rotary;
  }
  config.finalNorm = makeNorm(config, "norm");
  // What transformers computes from the slopes, which are a formula of head and layer, and keeps as buffers.
  config.ignoredSuffixes = {".self_attn.slope_rate", ".self_attn.query_decay",
                            ".self_attn.key_decay", ".self_attn.diagonal_decay"};
  SoftmaxAttention attention = makeAttention(config);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", std::nullopt, kCountRange);
  setWindow(attention, window.value_or(0));
  ExpertFeedForward experts = readMiniMaxExperts(fields, config);
  // How many tokens transformers takes at a time.
  fields.integer("block_size", 256, kCountRange);
  auto factor = [&](const char *name) { return fields.number(name, 1, {-1e9, 1e9}); };
  double full[] = {factor("full_attn_alpha_factor"), factor("full_attn_beta_factor")};
  double linear[] = {factor("linear_attn_alpha_factor"), factor("linear_attn_beta_factor")};
  double feedForward[] = {factor("mlp_alpha_factor"), factor("mlp_beta_factor")};

  std::vector<bool> isLinear =
      readLayerKinds(fields, config, "linear_attention", /*fullEvery=*/2, /*reversed=*/true);
  for (int64_t index = 0; index < config.numLayers; ++index) {
    LayerConfig layer = makePreNormLayer(config, attention, experts);
    bool lightning = isLinear[static_cast<size_t>(index)];
    if (lightning)
      layer.mixer = makeLightning(config, index);
    layer.residualOfNorm = true;
    layer.mixerResidualFactor = (lightning ? linear : full)[0];
    layer.mixerFactor = (lightning ? linear : full)[1];
    layer.feedForwardResidualFactor = feedForward[0];
    layer.feedForwardFactor = feedForward[1];
    config.layers.push_back(std::move(layer));
  }
  return config;
}
