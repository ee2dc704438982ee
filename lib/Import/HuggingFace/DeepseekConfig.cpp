//===- DeepseekConfig.cpp - config.json of deepseek_v3, _v32, glm_moe_dsa -===//

#include "ExpertParts.h"
#include "LatentParts.h"
#include "LayerParts.h"

using namespace heddle;

namespace {
struct DeepseekDefaults {
  CommonDefaults common;
  LatentDefaults latent;
  RopeDefaults rope;
  int64_t groups = 8, topGroups = 4;
  /// Heads of the indexer, 0 without one, and whether its pairs are neighbours.
  int64_t indexHeads = 0;
  bool indexInterleaved = false;
};
} // namespace

static KeyIndexer readIndexer(FieldReader &fields, const DecoderConfig &config,
                              const LatentAttention &attention, const DeepseekDefaults &defaults) {
  KeyIndexer indexer;
  indexer.heads = fields.integer("index_n_heads", defaults.indexHeads, kHeadRange);
  indexer.headDim = fields.integer("index_head_dim", 128, kHeadRange);
  indexer.topK = fields.integer("index_topk", 2048, kCountRange);
  indexer.rope = config.rope;
  indexer.rope.rotaryDim = attention.ropeDim;
  indexer.rope.interleaved = fields.boolean("indexer_rope_interleave", defaults.indexInterleaved);
  if (!attention.queryDown) {
    fields.error("q_lora_rank", "is null, but the indexer reads the query's latent");
    return indexer;
  }
  if (!fields.failed() && indexer.headDim < attention.ropeDim)
    fields.error("index_head_dim", "is " + std::to_string(indexer.headDim) +
                                       ", less than qk_rope_head_dim (" +
                                       std::to_string(attention.ropeDim) + ")");
  if (fields.integer("index_topk_freq", 1, kLayerRange) != 1)
    fields.error("index_topk_freq", "has another value than 1: layers that share the keys of an "
                                    "earlier one are not supported");
  int64_t hidden = config.hiddenSize;
  indexer.query = {"self_attn.indexer.wq_b", indexer.heads * indexer.headDim,
                   attention.queryDown->out};
  indexer.key = {"self_attn.indexer.wk", indexer.headDim, hidden};
  indexer.weights = {"self_attn.indexer.weights_proj", indexer.heads, hidden};
  indexer.keyNorm = {"self_attn.indexer.k_norm", indexer.headDim, NormKind::Layer, 1e-6,
                     /*bias=*/true};
  return indexer;
}

/// Only what the formula in readCorrectedExperts says.
static void checkRouter(FieldReader &fields) {
  auto expect = [&](const char *name, const char *value) {
    std::string text = fields.string(name, value);
    if (text != value)
      fields.error(name, "is '" + text + "'; supported is " + value);
  };
  expect("scoring_func", "sigmoid");
  expect("topk_method", "noaux_tc");
  if (fields.integer("moe_layer_freq", 1, kLayerRange) != 1)
    fields.error("moe_layer_freq", "has another value than 1, which alone is supported");
}

static ExpertFeedForward readDeepseekExperts(FieldReader &fields, const DecoderConfig &config,
                                             const DeepseekDefaults &defaults) {
  ExpertFields names;
  names.experts = "n_routed_experts";
  names.expertsAbsent = 256;
  names.topKAbsent = 8;
  names.innerAbsent = 2048;
  int64_t groups = fields.integer("n_group", defaults.groups, kHeadRange);
  int64_t topGroups = fields.integer("topk_group", defaults.topGroups, kHeadRange);
  ExpertFeedForward experts =
      readCorrectedExperts(fields, config, names, "mlp", groups, topGroups, 2.5);
  experts.renormalize = fields.boolean("norm_topk_prob", true);
  int64_t shared = fields.integer("n_shared_experts", 1, {0, kHeadRange.high});
  if (shared > 0)
    experts.shared = makeSharedExpert(config, "mlp.shared_experts", shared * experts.inner);
  checkRouter(fields);
  return experts;
}

static DecoderConfig readDeepseekFields(FieldReader &fields, DeepseekDefaults defaults) {
  defaults.common.headDim = defaults.latent.ropeDim;
  DecoderConfig config = readCommonFields(fields, defaults.common);
  config.finalNorm = makeNorm(config, "norm");
  LatentAttention attention = readLatentAttention(fields, config, defaults.latent);
  readLatentRope(fields, config, attention, defaults.rope);
  if (defaults.indexHeads)
    attention.indexer = readIndexer(fields, config, attention, defaults);

  ExpertFeedForward experts = readDeepseekExperts(fields, config, defaults);
  int64_t dense = fields.integer("first_k_dense_replace", 3, {0, kLayerRange.high});
  // Layers behind the last one predict further tokens.
  int64_t extra = fields.integer("num_nextn_predict_layers", 1, {0, 64});
  for (int64_t layer = 0; layer < extra; ++layer)
    config.ignoredPrefixes.push_back("model.layers." + std::to_string(config.numLayers + layer) +
                                     ".");
  for (int64_t index = 0; index < config.numLayers; ++index) {
    LayerConfig layer = makePreNormLayer(config, attention, makeGatedFeedForward(config));
    if (index >= dense)
      layer.feedForward = experts;
    config.layers.push_back(std::move(layer));
  }
  return config;
}

static DeepseekDefaults deepseekDefaults() {
  DeepseekDefaults defaults;
  defaults.common.vocabSize = 129280;
  defaults.common.hiddenSize = 7168;
  defaults.common.intermediateSize = 18432;
  defaults.common.numLayers = 61;
  defaults.common.numHeads = 128;
  defaults.common.numKeyValueHeads = 128;
  defaults.common.maxPosition = 4096;
  defaults.latent.queryRank = 1536;
  return defaults;
}

DecoderConfig heddle::readDeepseekV3Config(FieldReader &fields) {
  return readDeepseekFields(fields, deepseekDefaults());
}

DecoderConfig heddle::readDeepseekV32Config(FieldReader &fields) {
  DeepseekDefaults defaults = deepseekDefaults();
  defaults.common.maxPosition = 163840;
  defaults.indexHeads = 64;
  return readDeepseekFields(fields, defaults);
}

DecoderConfig heddle::readGlmMoeDsaConfig(FieldReader &fields) {
  DeepseekDefaults defaults;
  defaults.common.vocabSize = 154880;
  defaults.common.hiddenSize = 6144;
  defaults.common.intermediateSize = 12288;
  defaults.common.numLayers = 78;
  defaults.common.numHeads = 64;
  defaults.common.numKeyValueHeads = 64;
  defaults.common.maxPosition = 202752;
  defaults.common.normEps = 1e-5;
  defaults.latent.queryRank = 2048;
  defaults.latent.nopeDim = 192;
  defaults.latent.valueDim = 256;
  defaults.rope.theta = 1e6;
  defaults.groups = defaults.topGroups = 1;
  defaults.indexHeads = 32;
  defaults.indexInterleaved = true;
  return readDeepseekFields(fields, defaults);
}
