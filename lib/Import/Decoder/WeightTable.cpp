//===- WeightTable.cpp - the tensors a decoder demands --------------------===//

#include "heddle/Import/WeightTable.h"

#include <map>
#include <set>
#include <string_view>

using namespace heddle;

std::string heddle::layerPrefix(int64_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

std::vector<WeightDemand> heddle::blockDemands(const DecoderConfig &config, int64_t layer) {
  std::vector<WeightDemand> demands;
  std::string prefix = layerPrefix(layer);
  auto norm = [&](const char *name, int64_t size) {
    demands.push_back({prefix + name + ".weight", {size}});
  };
  auto linear = [&](const char *name, int64_t out, int64_t in, bool bias) {
    demands.push_back({prefix + name + ".weight", {out, in}});
    if (bias)
      demands.push_back({prefix + name + ".bias", {out}});
  };

  int64_t hidden = config.hiddenSize;
  int64_t inner = config.intermediateSize;
  int64_t queries = config.numHeads * config.headDim;
  int64_t keys = config.numKeyValueHeads * config.headDim;

  norm("input_layernorm", hidden);
  linear("self_attn.q_proj", queries, hidden, config.queryKeyValueBias);
  linear("self_attn.k_proj", keys, hidden, config.queryKeyValueBias);
  linear("self_attn.v_proj", keys, hidden, config.queryKeyValueBias);
  if (config.queryKeyNorm) {
    norm("self_attn.q_norm", config.headDim);
    norm("self_attn.k_norm", config.headDim);
  }
  linear("self_attn.o_proj", hidden, queries, config.attentionOutputBias);
  norm("post_attention_layernorm", hidden);
  linear("mlp.gate_proj", inner, hidden, config.mlpBias);
  linear("mlp.up_proj", inner, hidden, config.mlpBias);
  linear("mlp.down_proj", hidden, inner, config.mlpBias);
  return demands;
}

static std::vector<WeightDemand> demandsWithHead(const DecoderConfig &config, bool head) {
  std::vector<WeightDemand> demands;
  demands.push_back({kEmbeddingName, {config.vocabSize, config.hiddenSize}});
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    for (WeightDemand &demand : blockDemands(config, layer))
      demands.push_back(std::move(demand));
  demands.push_back({kFinalNormName, {config.hiddenSize}});
  if (head)
    demands.push_back({kHeadName, {config.vocabSize, config.hiddenSize}});
  return demands;
}

std::vector<WeightDemand> heddle::decoderDemands(const DecoderConfig &config) {
  return demandsWithHead(config, !config.tieWordEmbeddings);
}

static bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

static bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Tables that older exporters stored although they follow from the config.
static bool isDerivedBuffer(std::string_view name) {
  return endsWith(name, ".rotary_emb.inv_freq");
}

static std::string listText(const std::vector<std::string> &names) {
  std::string text = names.size() == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return text;
}

static std::optional<std::vector<WeightInfo>> matchWeights(const std::vector<WeightDemand> &demands,
                                                           const std::vector<WeightInfo> &available,
                                                           std::string_view scope,
                                                           ImportMessages &messages) {
  std::map<std::string_view, const WeightInfo *> byName;
  for (const WeightInfo &info : available)
    byName.emplace(info.name, &info);

  std::vector<WeightInfo> matched;
  std::vector<std::string> missing, homeless;
  std::set<std::string_view> demanded;
  bool ok = true;
  for (const WeightDemand &demand : demands) {
    demanded.insert(demand.name);
    auto it = byName.find(demand.name);
    if (it == byName.end()) {
      missing.push_back(demand.name);
      continue;
    }
    const WeightInfo &info = *it->second;
    ImportPosition position{0, 0, info.file};
    if (info.shape != demand.shape) {
      messages.error(position, "tensor '" + info.name + "' has shape " + shapeText(info.shape) +
                                   ", expected " + shapeText(demand.shape));
      ok = false;
    }
    if (info.dtype != DType::F32 && info.dtype != DType::F16 && info.dtype != DType::BF16) {
      messages.error(position, "tensor '" + info.name + "' has type " +
                                   std::string(dtypeName(info.dtype)) +
                                   "; weights can be f32, f16 or bf16");
      ok = false;
    }
    matched.push_back(info);
  }
  for (const WeightInfo &info : available)
    if (!demanded.count(info.name) && startsWith(info.name, scope) && !isDerivedBuffer(info.name))
      homeless.push_back(info.name);

  if (!missing.empty())
    messages.error({}, "the checkpoint lacks " + listText(missing));
  if (!homeless.empty())
    messages.error({}, "the checkpoint holds " + listText(homeless) +
                           ", which this configuration has no place for");
  if (!ok || !missing.empty() || !homeless.empty())
    return std::nullopt;
  return matched;
}

std::optional<std::vector<WeightInfo>>
heddle::matchDecoderWeights(const DecoderConfig &config, const std::vector<WeightInfo> &available,
                            ImportMessages &messages) {
  bool storedHead = false;
  for (const WeightInfo &info : available)
    storedHead |= info.name == kHeadName;
  if (storedHead && config.tieWordEmbeddings)
    messages.warning({}, "tie_word_embeddings is true, but the checkpoint holds '" +
                             std::string(kHeadName) + "'; the stored head is used");
  bool head = storedHead || !config.tieWordEmbeddings;
  return matchWeights(demandsWithHead(config, head), available, "", messages);
}

std::optional<std::vector<WeightInfo>>
heddle::matchBlockWeights(const DecoderConfig &config, int64_t layer,
                          const std::vector<WeightInfo> &available, ImportMessages &messages) {
  return matchWeights(blockDemands(config, layer), available, layerPrefix(layer), messages);
}
