//===- GptNeoXConfig.cpp - config.json of model_type gpt_neox -------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readGptNeoXConfig(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 50432;
  defaults.hiddenSize = 6144;
  defaults.intermediateSize = 24576;
  defaults.numLayers = 44;
  defaults.numHeads = 64;
  defaults.maxPosition = 2048;
  defaults.normEps = 1e-5;
  defaults.normEpsField = "layer_norm_eps";
  defaults.activation = "gelu";
  DecoderConfig config = readCommonFields(fields, defaults);
  config.normKind = NormKind::Layer;
  // Older names of theta and of the part of a head that rotates.
  RopeDefaults rope;
  rope.theta = fields.number("rotary_emb_base", 10000, {1, 1e18});
  rope.partialFactor = fields.number("rotary_pct", 0.25, {0, 1});
  config.rope = readRope(fields, config, rope);

  config.root = "gpt_neox.";
  config.embeddingName = "embed_in.weight";
  config.headName = "embed_out.weight";
  config.finalNorm = makeNorm(config, "final_layer_norm");
  config.ignoredSuffixes = {".attention.bias", ".attention.masked_bias"};

  SoftmaxAttention attention =
      makeFusedAttention(config, QueryKeyValueLayout::PerHead, "attention.query_key_value",
                         "attention.dense", fields.boolean("attention_bias", true));
  attention.rope = config.rope;
  LayerConfig layer = makePreNormLayer(
      config, attention,
      makePlainFeedForward(config, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h", /*bias=*/true));
  layer.parallelResidual = fields.boolean("use_parallel_residual", true);
  config.layers.assign(static_cast<size_t>(config.numLayers), layer);
  return config;
}
