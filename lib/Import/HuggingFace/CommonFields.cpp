//===- CommonFields.cpp - config.json fields of all architectures ---------===//

#include "ModelFamilies.h"

#include <string>

using namespace heddle;

static GatedActivation readActivation(FieldReader &fields) {
  static constexpr struct {
    const char *name;
    GatedActivation activation;
  } kNames[] = {{"silu", GatedActivation::SiLU},
                {"swish", GatedActivation::SiLU},
                {"gelu", GatedActivation::GeluErf},
                {"gelu_new", GatedActivation::GeluTanh},
                {"gelu_pytorch_tanh", GatedActivation::GeluTanh}};
  std::string name = fields.string("hidden_act", "silu");
  for (const auto &entry : kNames)
    if (name == entry.name)
      return entry.activation;
  fields.error("hidden_act", "is '" + name +
                                 "'; supported are silu, swish, gelu, gelu_new and "
                                 "gelu_pytorch_tanh");
  return GatedActivation::SiLU;
}

/// Head count and width, which may be given, defaulted or derived.
static void readHeads(FieldReader &fields, const CommonDefaults &defaults, DecoderConfig &config) {
  config.numHeads = fields.integer("num_attention_heads", defaults.numHeads, kHeadRange);
  std::optional<int64_t> groups =
      fields.integerOrNull("num_key_value_heads", defaults.numKeyValueHeads, kHeadRange);
  std::optional<int64_t> width = fields.integerOrNull("head_dim", defaults.headDim, kHeadRange);

  config.numKeyValueHeads = groups.value_or(config.numHeads);
  config.headDim = width.value_or(config.hiddenSize / config.numHeads);
  // A field that was refused stands here with a number of its own.
  if (fields.failed())
    return;

  if (config.numHeads % config.numKeyValueHeads != 0)
    fields.error("num_key_value_heads",
                 "is " + std::to_string(config.numKeyValueHeads) +
                     (fields.has("num_key_value_heads") ? "" : " by default") +
                     ", of which num_attention_heads (" + std::to_string(config.numHeads) +
                     ") is no multiple");

  if (!width && config.hiddenSize % config.numHeads != 0)
    fields.error("hidden_size", "is " + std::to_string(config.hiddenSize) +
                                    ", no multiple of num_attention_heads (" +
                                    std::to_string(config.numHeads) +
                                    "), and head_dim is not given");
  else if (config.headDim % 2 != 0)
    fields.error("head_dim", "is " + std::to_string(config.headDim) + (width ? "" : " (derived)") +
                                 "; the rotary embedding needs an even number");
}

DecoderConfig heddle::readCommonFields(FieldReader &fields, const CommonDefaults &defaults) {
  DecoderConfig config;
  config.vocabSize = fields.integer("vocab_size", defaults.vocabSize, kCountRange);
  config.hiddenSize = fields.integer("hidden_size", defaults.hiddenSize, kWidthRange);
  config.intermediateSize =
      fields.integer("intermediate_size", defaults.intermediateSize, kWidthRange);
  config.numLayers = fields.integer("num_hidden_layers", defaults.numLayers, kLayerRange);
  config.maxPosition = fields.integer("max_position_embeddings", defaults.maxPosition, kCountRange);
  readHeads(fields, defaults, config);

  config.rmsNormEps = fields.number("rms_norm_eps", 1e-6, {0, 1});
  config.activation = readActivation(fields);
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", false);
  config.rope = readRope(fields, config);
  config.layerWindow.assign(static_cast<size_t>(config.numLayers), 0);
  return config;
}
