//===- CommonFields.cpp - config.json fields of all architectures ---------===//

#include "ModelFamilies.h"

#include <string>

using namespace heddle;

Activation heddle::readActivation(FieldReader &fields, const char *field, const char *absent) {
  static constexpr struct {
    const char *name;
    Activation activation;
  } kNames[] = {{"silu", Activation::SiLU},
                {"swish", Activation::SiLU},
                {"gelu", Activation::GeluErf},
                {"gelu_new", Activation::GeluTanh},
                {"gelu_pytorch_tanh", Activation::GeluTanh}};
  std::string name = fields.string(field, absent);
  for (const auto &entry : kNames)
    if (name == entry.name)
      return entry.activation;
  fields.error(field, "is '" + name +
                          "'; supported are silu, swish, gelu, gelu_new and "
                          "gelu_pytorch_tanh");
  return Activation::SiLU;
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
  if (!fields.failed() && !width && config.hiddenSize % config.numHeads != 0)
    fields.error("hidden_size", "is " + std::to_string(config.hiddenSize) +
                                    ", no multiple of num_attention_heads (" +
                                    std::to_string(config.numHeads) +
                                    "), and head_dim is not given");
  else
    checkHeads(fields, config);
}

int64_t heddle::divideHidden(FieldReader &fields, const DecoderConfig &config,
                             const char *hiddenField, const char *headsField) {
  if (!fields.failed() && config.hiddenSize % config.numHeads != 0)
    fields.error(hiddenField, "is " + std::to_string(config.hiddenSize) + ", no multiple of " +
                                  headsField + " (" + std::to_string(config.numHeads) + ")");
  return config.hiddenSize / config.numHeads;
}

void heddle::checkHeads(FieldReader &fields, const DecoderConfig &config) {
  if (fields.failed())
    return;
  if (config.numHeads % config.numKeyValueHeads != 0)
    fields.error("num_key_value_heads",
                 "is " + std::to_string(config.numKeyValueHeads) +
                     (fields.has("num_key_value_heads") ? "" : " by default") +
                     ", of which num_attention_heads (" + std::to_string(config.numHeads) +
                     ") is no multiple");
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

  config.normEps = fields.number(defaults.normEpsField, defaults.normEps, {0, 1});
  config.activation = readActivation(fields, defaults.activationField, defaults.activation);
  config.tieWordEmbeddings = fields.boolean("tie_word_embeddings", defaults.tied);
  return config;
}
