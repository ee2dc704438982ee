//===- QwenHybridConfig.cpp - config.json of qwen3_next and qwen3_5 -------===//

#include "ExpertParts.h"
#include "LayerParts.h"

using namespace heddle;

static DecoderConfig readHybridFields(FieldReader &fields, CommonDefaults defaults, bool mrope) {
  defaults.headDim = 256;
  defaults.maxPosition = 32768;
  DecoderConfig config = readCommonFields(fields, defaults);
  RopeDefaults rope;
  rope.partialFactor = 0.25;
  rope.mrope = mrope;
  config.rope = readRope(fields, config, rope);
  config.normKind = NormKind::RmsPlusOne;
  config.finalNorm = makeNorm(config, "norm");
  // A head that predicts further tokens.
  config.ignoredPrefixes = {"mtp."};
  return config;
}

/// Full attention whose query projection holds a gate for the output of each head.
static SoftmaxAttention readGatedAttention(FieldReader &fields, const DecoderConfig &config) {
  bool bias = fields.boolean("attention_bias", false);
  SoftmaxAttention attention = makeAttention(config, bias, bias);
  addHeadNorms(config, attention);
  if (!fields.boolean("attn_output_gate", true))
    fields.error("attn_output_gate", "is false; supported is true");
  attention.outputGate = true;
  attention.query.out *= 2;
  return attention;
}

static GatedDeltaNet readDelta(FieldReader &fields, const DecoderConfig &config, bool grouped) {
  GatedDeltaNet delta;
  delta.keyHeads = fields.integer("linear_num_key_heads", 16, kHeadRange);
  delta.valueHeads = fields.integer("linear_num_value_heads", 32, kHeadRange);
  delta.keyDim = fields.integer("linear_key_head_dim", 128, kHeadRange);
  delta.valueDim = fields.integer("linear_value_head_dim", 128, kHeadRange);
  delta.kernel = fields.integer("linear_conv_kernel_dim", 4, kKernelRange);
  if (!fields.failed() && delta.valueHeads % delta.keyHeads != 0)
    fields.error("linear_num_value_heads", "is " + std::to_string(delta.valueHeads) +
                                               ", no multiple of linear_num_key_heads (" +
                                               std::to_string(delta.keyHeads) + ")");
  delta.grouped = grouped;
  int64_t hidden = config.hiddenSize, values = delta.valueHeads * delta.valueDim;
  if (grouped) {
    delta.queryKeyValue = {"linear_attn.in_proj_qkvz", delta.channels() + values, hidden};
    delta.beta = {"linear_attn.in_proj_ba", 2 * delta.valueHeads, hidden};
  } else {
    delta.queryKeyValue = {"linear_attn.in_proj_qkv", delta.channels(), hidden};
    delta.gate = {"linear_attn.in_proj_z", values, hidden};
    delta.beta = {"linear_attn.in_proj_b", delta.valueHeads, hidden};
    delta.decay = {"linear_attn.in_proj_a", delta.valueHeads, hidden};
  }
  delta.convolution = "linear_attn.conv1d.weight";
  delta.decayLog = "linear_attn.A_log";
  delta.decayBias = "linear_attn.dt_bias";
  delta.norm = {"linear_attn.norm", delta.valueDim, NormKind::Rms, config.normEps};
  delta.output = {"linear_attn.out_proj", hidden, values};
  return delta;
}

static std::vector<bool> readLinearLayers(FieldReader &fields, const DecoderConfig &config) {
  int64_t interval = fields.integer("full_attention_interval", 4, kLayerRange);
  return readLayerKinds(fields, config, "linear_attention", interval);
}

static ExpertFeedForward readNextExperts(FieldReader &fields, const DecoderConfig &config) {
  ExpertFields names;
  names.expertsAbsent = 512;
  names.mayBeNone = true;
  names.topKAbsent = 10;
  names.innerAbsent = 512;
  ExpertFeedForward experts = readExperts(fields, config, names);
  experts.renormalize = fields.boolean("norm_topk_prob", true);
  int64_t inner = fields.integer("shared_expert_intermediate_size", 512, kWidthRange);
  experts.shared = makeSharedExpert(config, "mlp.shared_expert", inner);
  experts.sharedGate = {"mlp.shared_expert_gate", 1, config.hiddenSize};
  return experts;
}

DecoderConfig heddle::readQwen3NextConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 151936;
  defaults.hiddenSize = 2048;
  defaults.intermediateSize = 5632;
  defaults.numLayers = 48;
  defaults.numHeads = 16;
  defaults.numKeyValueHeads = 2;
  DecoderConfig config = readHybridFields(fields, defaults, /*mrope=*/false);
  SoftmaxAttention attention = readGatedAttention(fields, config);
  GatedDeltaNet delta = readDelta(fields, config, /*grouped=*/true);
  std::vector<bool> linear = readLinearLayers(fields, config);
  ExpertFeedForward experts = readNextExperts(fields, config);
  std::vector<bool> sparse = readSparseLayers(fields, config, experts.experts);
  for (size_t index = 0; index < linear.size(); ++index) {
    LayerConfig layer = makePreNormLayer(config, attention, makeGatedFeedForward(config));
    if (linear[index])
      layer.mixer = delta;
    if (sparse[index])
      layer.feedForward = experts;
    config.layers.push_back(std::move(layer));
  }
  return config;
}

static DecoderConfig readQwen35Fields(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 248320;
  defaults.hiddenSize = 4096;
  defaults.intermediateSize = 12288;
  defaults.numLayers = 32;
  defaults.numHeads = 16;
  defaults.numKeyValueHeads = 4;
  DecoderConfig config = readHybridFields(fields, defaults, /*mrope=*/true);
  SoftmaxAttention attention = readGatedAttention(fields, config);
  GatedDeltaNet delta = readDelta(fields, config, /*grouped=*/false);
  for (bool linear : readLinearLayers(fields, config)) {
    LayerConfig layer = makePreNormLayer(config, attention, makeGatedFeedForward(config));
    if (linear)
      layer.mixer = delta;
    config.layers.push_back(std::move(layer));
  }
  return config;
}

DecoderConfig heddle::readQwen35TextConfig(FieldReader &fields) { return readQwen35Fields(fields); }

DecoderConfig heddle::readQwen35Config(FieldReader &fields) {
  std::optional<FieldReader> text = fields.objectOrNull("text_config");
  if (!text) {
    fields.error("text_config", "is missing; expected the config of the text model");
    return DecoderConfig();
  }
  // The text model alone: images and videos are the caller's.
  fields.objectOrNull("vision_config");
  DecoderConfig config = readQwen35Fields(*text);
  text->reportUnread();
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", config.tieWordEmbeddings);
  config.root = "model.language_model.";
  config.ignoredPrefixes.push_back("model.visual.");
  return config;
}
