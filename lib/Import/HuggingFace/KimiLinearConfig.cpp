//===- KimiLinearConfig.cpp - config.json of model_type kimi_linear -------===//

#include "ExpertParts.h"
#include "LatentParts.h"
#include "LayerParts.h"

using namespace heddle;

static KimiDeltaAttention makeDelta(const DecoderConfig &config, int64_t heads, int64_t dim,
                                    int64_t kernel) {
  int64_t hidden = config.hiddenSize, width = heads * dim;
  KimiDeltaAttention delta;
  delta.heads = heads;
  delta.headDim = dim;
  delta.kernel = kernel;
  delta.query = {"self_attn.q_proj", width, hidden};
  delta.key = {"self_attn.k_proj", width, hidden};
  delta.value = {"self_attn.v_proj", width, hidden};
  delta.queryConvolution = "self_attn.q_conv1d.weight";
  delta.keyConvolution = "self_attn.k_conv1d.weight";
  delta.valueConvolution = "self_attn.v_conv1d.weight";
  delta.decayDown = {"self_attn.f_a_proj", dim, hidden};
  delta.decayUp = {"self_attn.f_b_proj", width, dim};
  delta.beta = {"self_attn.b_proj", heads, hidden};
  delta.gateDown = {"self_attn.g_a_proj", dim, hidden};
  delta.gateUp = {"self_attn.g_b_proj", width, dim};
  delta.decayLog = "self_attn.A_log";
  delta.decayBias = "self_attn.dt_bias";
  delta.norm = {"self_attn.o_norm", dim, NormKind::Rms, config.normEps};
  delta.output = {"self_attn.o_proj", hidden, width};
  return delta;
}

/// linear_attn_config: heads and kernel of the linear layers, and which layers are of which kind,
/// counted from 1. transformers 5 writes linear_... and layer_types instead.
static KimiDeltaAttention readLinearConfig(FieldReader &fields, const DecoderConfig &config,
                                           std::vector<bool> &linear) {
  int64_t heads = fields.integer("linear_num_heads", 32, kHeadRange);
  int64_t dim = fields.integer("linear_head_dim", 128, kHeadRange);
  int64_t kernel = fields.integer("linear_conv_kernel_dim", 4, kKernelRange);
  std::optional<FieldReader> inner = fields.objectOrNull("linear_attn_config");
  linear = readLayerKinds(fields, config, "linear_attention", /*fullEvery=*/4);
  if (!inner)
    return makeDelta(config, heads, dim, kernel);
  heads = inner->integer("num_heads", heads, kHeadRange);
  dim = inner->integer("head_dim", dim, kHeadRange);
  kernel = inner->integer("short_conv_kernel_size", kernel, kKernelRange);
  IntegerRange range{1, config.numLayers};
  auto full = inner->integersOrNull("full_attn_layers", range);
  auto delta = inner->integersOrNull("kda_layers", range);
  if (full && delta) {
    std::vector<int> kinds(static_cast<size_t>(config.numLayers));
    for (int64_t layer : *full)
      ++kinds[static_cast<size_t>(layer - 1)];
    for (int64_t layer : *delta)
      kinds[static_cast<size_t>(layer - 1)] += 2;
    for (size_t layer = 0; layer < kinds.size(); ++layer) {
      linear[layer] = kinds[layer] == 2;
      if (kinds[layer] != 1 && kinds[layer] != 2) {
        inner->error("full_attn_layers", "and kda_layers do not name layer " +
                                             std::to_string(layer + 1) + " exactly once");
        break;
      }
    }
  }
  inner->reportUnread();
  return makeDelta(config, heads, dim, kernel);
}

static ExpertFeedForward readKimiExperts(FieldReader &fields, const DecoderConfig &config) {
  ExpertFields names;
  names.expertsAbsent = 256;
  names.topK = "num_experts_per_token";
  names.topKAbsent = 8;
  names.innerAbsent = 1024;
  int64_t groups = fields.integer("num_expert_group", 1, kHeadRange);
  int64_t topGroups = fields.integer("topk_group", 1, kHeadRange);
  const std::string part = "block_sparse_moe";
  ExpertFeedForward experts =
      readCorrectedExperts(fields, config, names, part, groups, topGroups, 2.446);
  experts.gate = "w1";
  experts.up = "w3";
  experts.down = "w2";
  experts.renormalize = fields.boolean("moe_renormalize", true);
  int64_t shared = fields.integer("num_shared_experts", 1, {0, kHeadRange.high});
  if (shared > 0)
    experts.shared = makeSharedExpert(config, part + ".shared_experts", shared * experts.inner);
  std::string scoring = fields.string("moe_router_activation_func", "sigmoid");
  if (scoring != "sigmoid")
    fields.error("moe_router_activation_func", "is '" + scoring + "'; supported is sigmoid");
  fields.boolean("use_grouped_topk", true);
  if (fields.integer("moe_layer_freq", 1, kLayerRange) != 1)
    fields.error("moe_layer_freq", "has another value than 1, which alone is supported");
  return experts;
}

DecoderConfig heddle::readKimiLinearConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 163840;
  defaults.hiddenSize = 2304;
  defaults.intermediateSize = 9216;
  defaults.numLayers = 27;
  defaults.numHeads = 32;
  defaults.numKeyValueHeads = 32;
  defaults.headDim = 72;
  defaults.maxPosition = 1048576;
  defaults.normEps = 1e-5;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.maxPosition = fields.integer("model_max_length", config.maxPosition, kCountRange);
  config.finalNorm = makeNorm(config, "norm");

  LatentAttention attention = readLatentAttention(fields, config, LatentDefaults());
  // The features for positions are there but do not rotate, so nothing reads theta.
  if (!fields.boolean("mla_use_nope", true))
    fields.error("mla_use_nope", "is false; supported is true");
  fields.numberOrNull("rope_theta", {1, 1e18});
  fields.objectOrNull("rope_scaling");
  fields.objectOrNull("rope_parameters");
  if (fields.boolean("mla_use_output_gate", false))
    fields.error("mla_use_output_gate", "is true; supported is false");

  std::vector<bool> linear;
  KimiDeltaAttention delta = readLinearConfig(fields, config, linear);
  ExpertFeedForward experts = readKimiExperts(fields, config);
  std::vector<bool> sparse =
      readExpertLayers(fields, config.numLayers, /*dense=*/1, /*mayBeListed=*/true);
  fields.integer("num_nextn_predict_layers", 0, {0, 64});
  for (int64_t index = 0; index < config.numLayers; ++index) {
    LayerConfig layer = makePreNormLayer(config, attention, makeGatedFeedForward(config));
    if (linear[static_cast<size_t>(index)])
      layer.mixer = delta;
    if (sparse[static_cast<size_t>(index)])
      layer.feedForward = experts;
    config.layers.push_back(std::move(layer));
  }
  return config;
}
