//===- WeightTable.cpp - the tensors a decoder demands --------------------===//

#include "LayerDemands.h"

#include "heddle/Import/WeightTable.h"
#include "heddle/TensorIO/BlockScales.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

using namespace heddle;

std::string heddle::rootName(const DecoderConfig &config, const std::string &name) {
  return config.root + name;
}

std::string heddle::layerPrefix(const DecoderConfig &config, int64_t layer) {
  return rootName(config, config.layersName + "." + std::to_string(layer) + ".");
}

bool DecoderConfig::isCausal() const {
  for (const LayerConfig &layer : layers)
    if (const SoftmaxAttention *attention = layer.attention(); attention && !attention->causal)
      return false;
  return true;
}

static std::vector<WeightDemand> demandsWithHead(const DecoderConfig &config, bool head) {
  std::vector<WeightDemand> demands;
  demands.push_back(
      {rootName(config, config.embeddingName), {config.vocabSize, config.hiddenSize}});
  if (!config.positionName.empty())
    demands.push_back(
        {rootName(config, config.positionName), {config.maxPosition, config.hiddenSize}});
  if (config.embeddingNorm)
    addNormDemands(demands, config.root, *config.embeddingNorm);
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    for (WeightDemand &demand : blockDemands(config, layer))
      demands.push_back(std::move(demand));
  addNormDemands(demands, config.root, config.finalNorm);
  if (head)
    demands.push_back({config.headName, {config.vocabSize, config.hiddenSize}});
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

/// Tables that older exporters stored although they follow from the config, and what the
/// architecture has besides the decoder.
static bool isIgnored(const DecoderConfig &config, std::string_view name) {
  if (endsWith(name, ".rotary_emb.inv_freq"))
    return true;
  for (const std::string &prefix : config.ignoredPrefixes)
    if (startsWith(name, prefix))
      return true;
  for (const std::string &suffix : config.ignoredSuffixes)
    if (endsWith(name, suffix))
      return true;
  return false;
}

void heddle::adaptRoot(DecoderConfig &config, const std::vector<WeightInfo> &available) {
  if (!config.bareNames)
    return;
  for (const WeightInfo &info : available)
    if (startsWith(info.name, config.root))
      return;
  config.root.clear();
}

static bool hasDemandedShape(const WeightDemand &demand, std::vector<int64_t> shape) {
  std::vector<int64_t> expected = demand.shape;
  if (demand.anyUnitDims)
    for (std::vector<int64_t> *extents : {&shape, &expected})
      extents->erase(std::remove(extents->begin(), extents->end(), 1), extents->end());
  return shape == expected;
}

static std::string listText(const std::vector<std::string> &names) {
  std::string text = names.size() == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return text;
}

/// Whether the scales of an fp8 weight are there and fit.
static bool checkScales(const DecoderConfig &config, const WeightInfo &weight,
                        const WeightInfo *scales, ImportMessages &messages) {
  ImportPosition position{0, 0, weight.file};
  std::string name = "tensor '" + weight.name + "'";
  if (weight.shape.size() != 2) {
    messages.error(position, name + " has type f8e4m3, which only matrices can have");
    return false;
  }
  if (!scales) {
    messages.error(position, name + " has type f8e4m3, but there is no tensor '" + weight.name +
                                 scaleSuffix + "'");
    return false;
  }
  std::vector<int64_t> expected =
      scaleShape(weight.shape, {config.scaleBlockRows, config.scaleBlockColumns});
  if (scales->shape == expected && (scales->dtype == DType::F32 || scales->dtype == DType::BF16))
    return true;
  messages.error({0, 0, scales->file}, "tensor '" + scales->name + "' has shape " +
                                           shapeText(scales->shape) + " and type " +
                                           std::string(dtypeName(scales->dtype)) + ", expected " +
                                           shapeText(expected) + " of f32 or bf16");
  return false;
}

static std::optional<std::vector<WeightInfo>> matchWeights(const DecoderConfig &config,
                                                           const std::vector<WeightDemand> &demands,
                                                           const std::vector<WeightInfo> &available,
                                                           std::string_view scope,
                                                           ImportMessages &messages) {
  std::map<std::string_view, const WeightInfo *> byName;
  for (const WeightInfo &info : available)
    byName.emplace(info.name, &info);

  std::vector<WeightInfo> matched;
  std::vector<std::string> missing, homeless;
  std::set<std::string_view> demanded;
  std::set<std::string> scaleNames;
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
    if (!hasDemandedShape(demand, info.shape)) {
      messages.error(position, "tensor '" + info.name + "' has shape " + shapeText(info.shape) +
                                   ", expected " + shapeText(demand.shape));
      ok = false;
    }
    if (info.dtype == DType::F8E4M3 && config.scaleBlockRows) {
      std::string scales = info.name + scaleSuffix;
      ok &= checkScales(config, info, byName.count(scales) ? byName[scales] : nullptr, messages);
      scaleNames.insert(scales);
    } else if (info.dtype != DType::F32 && info.dtype != DType::F16 && info.dtype != DType::BF16) {
      messages.error(position, "tensor '" + info.name + "' has type " +
                                   std::string(dtypeName(info.dtype)) +
                                   "; weights can be f32, f16 or bf16");
      ok = false;
    }
    matched.push_back(info);
  }
  for (const WeightInfo &info : available)
    if (!demanded.count(info.name) && !scaleNames.count(info.name) &&
        startsWith(info.name, scope) && !isIgnored(config, info.name))
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
    storedHead |= info.name == config.headName;
  if (storedHead && config.tieWordEmbeddings)
    messages.warning({}, "tie_word_embeddings is true, but the checkpoint holds '" +
                             config.headName + "'; the stored head is used");
  bool head = storedHead || !config.tieWordEmbeddings;
  return matchWeights(config, demandsWithHead(config, head), available, "", messages);
}

std::optional<std::vector<WeightInfo>>
heddle::matchBlockWeights(const DecoderConfig &config, int64_t layer,
                          const std::vector<WeightInfo> &available, ImportMessages &messages) {
  return matchWeights(config, blockDemands(config, layer), available, layerPrefix(config, layer),
                      messages);
}
