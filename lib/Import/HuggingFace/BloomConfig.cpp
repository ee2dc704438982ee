//===- BloomConfig.cpp - config.json of model_type bloom ------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readBloomConfig(FieldReader &fields) {
  DecoderConfig config;
  config.vocabSize = fields.integer("vocab_size", 250880, kCountRange);
  // n_embed, n_head and n_layer are what older files call them.
  auto renamed = [&](const char *name, const char *former, int64_t absent, IntegerRange range) {
    return fields.integer(name, fields.integer(former, absent, range), range);
  };
  config.hiddenSize = renamed("hidden_size", "n_embed", 64, kWidthRange);
  config.numLayers = renamed("num_hidden_layers", "n_layer", 2, kLayerRange);
  config.numHeads = renamed("num_attention_heads", "n_head", 8, kHeadRange);
  config.numKeyValueHeads = config.numHeads;
  config.intermediateSize = 4 * config.hiddenSize;
  config.headDim = divideHidden(fields, config, "hidden_size", "n_head");
  config.normKind = NormKind::Layer;
  config.normEps = fields.number("layer_norm_epsilon", 1e-5, {0, 1});
  config.activation = Activation::GeluTanh;
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", true);
  fields.boolean("slow_but_exact", false);

  config.root = "transformer.";
  config.bareNames = true;
  config.layersName = "h";
  config.embeddingName = "word_embeddings.weight";
  config.embeddingNorm = makeNorm(config, "word_embeddings_layernorm");
  config.finalNorm = makeNorm(config, "ln_f");

  SoftmaxAttention attention =
      makeFusedAttention(config, QueryKeyValueLayout::PerHead, "self_attention.query_key_value",
                         "self_attention.dense", /*bias=*/true);
  attention.alibi = true;
  config.layers.assign(
      static_cast<size_t>(config.numLayers),
      makePreNormLayer(config, attention,
                       makePlainFeedForward(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h",
                                            /*bias=*/true)));
  return config;
}
