//===- MptConfig.cpp - config.json of model_type mpt ----------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

/// attn_config: everything but ALiBi over full multi-head attention is refused.
static void readAttentionFields(FieldReader &fields, SoftmaxAttention &attention) {
  std::optional<FieldReader> inner = fields.objectOrNull("attn_config");
  if (!inner)
    return;
  if (!inner->boolean("alibi", true))
    inner->error("alibi", "is false; supported is true");
  if (inner->integer("alibi_bias_max", 8, {1, 1024}) != 8)
    inner->error("alibi_bias_max", "has another value than 8, which alone is supported");
  std::string kind = inner->string("attn_type", "multihead_attention");
  if (kind != "multihead_attention")
    inner->error("attn_type", "is '" + kind + "'; supported is multihead_attention");
  attention.scale = inner->numberOrNull("softmax_scale", {0, 1e9}).value_or(0);
  inner->string("attn_impl", "");
  inner->number("attn_pdrop", 0, {0, 1, true});
  inner->reportUnread();
}

DecoderConfig heddle::readMptConfig(FieldReader &fields) {
  DecoderConfig config;
  config.vocabSize = fields.integer("vocab_size", 50368, kCountRange);
  config.hiddenSize = fields.integer("d_model", 2048, kWidthRange);
  config.numLayers = fields.integer("n_layers", 24, kLayerRange);
  config.numHeads = config.numKeyValueHeads = fields.integer("n_heads", 16, kHeadRange);
  config.maxPosition = fields.integer("max_seq_len", 2048, kCountRange);
  config.intermediateSize = config.hiddenSize * fields.integer("expansion_ratio", 4, {1, 1024});
  config.headDim = divideHidden(fields, config, "d_model", "n_heads");
  config.normKind = NormKind::Layer;
  config.normEps = fields.number("layer_norm_epsilon", 1e-5, {0, 1});
  config.activation = Activation::GeluErf;
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", true);
  if (!fields.boolean("no_bias", true))
    fields.error("no_bias", "is false; supported is true");
  // ALiBi takes the place of learned positions.
  fields.boolean("learned_pos_emb", true);
  for (const char *harmless : {"norm_type", "init_device"})
    fields.string(harmless, "");
  fields.number("embedding_fraction", 1, {0, 1, true});

  auto norm = [&](const char *name) {
    NormConfig norm = makeNorm(config, name);
    norm.bias = false;
    return norm;
  };
  config.root = "transformer.";
  config.layersName = "blocks";
  config.embeddingName = "wte.weight";
  config.finalNorm = norm("norm_f");

  SoftmaxAttention attention = makeFusedAttention(config, QueryKeyValueLayout::Rows, "attn.Wqkv",
                                                  "attn.out_proj", /*bias=*/false);
  attention.alibi = true;
  readAttentionFields(fields, attention);
  LayerConfig layer = makePreNormLayer(
      config, attention,
      makePlainFeedForward(config, "ffn.up_proj", "ffn.down_proj", /*bias=*/false));
  layer.mixerInputNorm = norm("norm_1");
  layer.feedForwardInputNorm = norm("norm_2");
  config.layers.assign(static_cast<size_t>(config.numLayers), layer);
  return config;
}
