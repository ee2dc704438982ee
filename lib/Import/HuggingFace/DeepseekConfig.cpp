//===- DeepseekConfig.cpp - config.json of deepseek_v3, _v32, glm_moe_dsa -===//

#include "ExpertParts.h"
#include "LatentParts.h"
#include "LayerParts.h"

#include <algorithm>

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
  /// Whether the config may say of each layer if it has an indexer, and if it has experts.
  bool hasLayerLists = false;
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
  int64_t hidden = config.hiddenSize;
  indexer.query = {"self_attn.indexer.wq_b", indexer.heads * indexer.headDim,
                   attention.queryDown->out};
  indexer.key = {"self_attn.indexer.wk", indexer.headDim, hidden};
  indexer.weights = {"self_attn.indexer.weights_proj", indexer.heads, hidden};
  indexer.keyNorm = {"self_attn.indexer.k_norm", indexer.headDim, NormKind::Layer, 1e-6,
                     /*bias=*/true};
  return indexer;
}

/// A string of F and S.
static std::optional<std::vector<bool>> readIndexerPattern(FieldReader &fields, int64_t numLayers) {
  std::optional<std::string> pattern = fields.stringOrNull("index_topk_pattern");
  if (!pattern)
    return std::nullopt;
  if (int64_t(pattern->size()) != numLayers ||
      pattern->find_first_not_of("FS") != std::string::npos) {
    fields.error("index_topk_pattern", "is '" + *pattern +
                                           "', expected a letter F or S for each "
                                           "of num_hidden_layers (" +
                                           std::to_string(numLayers) + ")");
    return std::nullopt;
  }
  std::vector<bool> isFull;
  for (char letter : *pattern)
    isFull.push_back(letter == 'F');
  return isFull;
}

/// Which layers have an indexer of their own. The others attend to the keys that the last one before them chose: transformers'
/// GlmMoeDsaConfig, where a list goes before a pattern, and that before a distance.
static std::vector<bool> readIndexerLayers(FieldReader &fields, int64_t numLayers,
                                           const DeepseekDefaults &defaults) {
  std::vector<bool> all(static_cast<size_t>(numLayers), true);
  int64_t distance = fields.integer("index_topk_freq", 1, kLayerRange);
  if (!defaults.hasLayerLists) {
    if (distance != 1)
      fields.error("index_topk_freq", "has another value than 1: layers that share the keys of an "
                                      "earlier one are supported with glm_moe_dsa only");
    return all;
  }
  int64_t offset = fields.integer("index_skip_topk_offset", 2, {0, kLayerRange.high});
  // Of layers that predict further tokens.
  fields.boolean("index_share_for_mtp_iteration", false);
  const char *source = "indexer_types";
  std::optional<std::vector<bool>> layers =
      readLayerList(fields, source, numLayers, "shared", "full");
  std::optional<std::vector<bool>> pattern = readIndexerPattern(fields, numLayers);
  if (!layers && pattern) {
    source = "index_topk_pattern";
    layers = pattern;
  }
  if (!layers) {
    for (int64_t layer = 0; layer < numLayers; ++layer)
      all[size_t(layer)] = std::max<int64_t>(layer - offset + 1, 0) % distance == 0;
    source = "index_skip_topk_offset";
    layers = all;
  }
  if (!layers->front() && !fields.failed())
    fields.error(source, "gives layer 0 no indexer, and there is no layer before it whose keys it "
                         "could take");
  return *layers;
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
  LatentAttention sharing = attention;
  sharing.reusesChosenKeys = true;
  std::vector<bool> haveIndexer(static_cast<size_t>(config.numLayers), true);
  if (defaults.indexHeads) {
    attention.indexer = readIndexer(fields, config, attention, defaults);
    haveIndexer = readIndexerLayers(fields, config.numLayers, defaults);
  }

  ExpertFeedForward experts = readDeepseekExperts(fields, config, defaults);
  std::vector<bool> haveExperts =
      readExpertLayers(fields, config.numLayers, /*dense=*/3, defaults.hasLayerLists);
  // Layers behind the last one predict further tokens.
  int64_t extra = fields.integer("num_nextn_predict_layers", 1, {0, 64});
  for (int64_t layer = 0; layer < extra; ++layer)
    config.ignoredPrefixes.push_back("model.layers." + std::to_string(config.numLayers + layer) +
                                     ".");
  for (int64_t index = 0; index < config.numLayers; ++index) {
    size_t place = static_cast<size_t>(index);
    LayerConfig layer = makePreNormLayer(config, haveIndexer[place] ? attention : sharing,
                                         makeGatedFeedForward(config));
    if (haveExperts[place])
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
  defaults.hasLayerLists = true;
  return readDeepseekFields(fields, defaults);
}
