//===- Gpt2Config.cpp - config.json of model_type gpt2 --------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

#include <cmath>

using namespace heddle;

DecoderConfig heddle::readGpt2Config(FieldReader &fields) {
  DecoderConfig config;
  config.vocabSize = fields.integer("vocab_size", 50257, kCountRange);
  config.hiddenSize = fields.integer("n_embd", 768, kWidthRange);
  config.numLayers = fields.integer("n_layer", 12, kLayerRange);
  config.numHeads = config.numKeyValueHeads = fields.integer("n_head", 12, kHeadRange);
  config.maxPosition = fields.integer("n_positions", 1024, kCountRange);
  config.intermediateSize =
      fields.integerOrNull("n_inner", std::nullopt, kWidthRange).value_or(4 * config.hiddenSize);
  config.headDim = divideHidden(fields, config, "n_embd", "n_head");
  config.normKind = NormKind::Layer;
  config.normEps = fields.number("layer_norm_epsilon", 1e-5, {0, 1});
  config.activation = readActivation(fields, "activation_function", "gelu_new");
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", true);
  // The older name of n_positions, and an order of rounding that f32 scores do not need.
  fields.integerOrNull("n_ctx", std::nullopt, kCountRange);
  fields.boolean("reorder_and_upcast_attn", false);

  config.root = "transformer.";
  config.bareNames = true;
  config.layersName = "h";
  config.embeddingName = "wte.weight";
  config.positionName = "wpe.weight";
  config.finalNorm = makeNorm(config, "ln_f");
  // The causal mask and its value, which older files hold.
  config.ignoredSuffixes = {".attn.bias", ".attn.masked_bias"};

  SoftmaxAttention attention = makeFusedAttention(config, QueryKeyValueLayout::Rows, "attn.c_attn",
                                                  "attn.c_proj", /*bias=*/true);
  DenseFeedForward feedForward =
      makePlainFeedForward(config, "mlp.c_fc", "mlp.c_proj", /*bias=*/true);
  for (LinearConfig *linear :
       {&attention.query, &attention.output, &feedForward.up, &feedForward.down})
    linear->transposed = true;
  bool scaled = fields.boolean("scale_attn_weights", true);
  bool scaledByLayer = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  for (int64_t index = 0; index < config.numLayers; ++index) {
    attention.scale = (scaled ? 1 / std::sqrt(static_cast<double>(config.headDim)) : 1) /
                      (scaledByLayer ? static_cast<double>(index + 1) : 1);
    LayerConfig layer = makePreNormLayer(config, attention, feedForward);
    layer.mixerInputNorm = makeNorm(config, "ln_1");
    layer.feedForwardInputNorm = makeNorm(config, "ln_2");
    config.layers.push_back(std::move(layer));
  }
  return config;
}
