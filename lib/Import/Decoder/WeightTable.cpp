//===- WeightTable.cpp - the tensors a decoder demands --------------------===//

#include "LayerDemands.h"

#include "heddle/Import/WeightTable.h"

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

std::vector<WeightDemand> heddle::decoderDemands(const DecoderConfig &config, bool head) {
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

std::vector<WeightDemand> heddle::inParts(const std::vector<WeightDemand> &demands) {
  std::vector<WeightDemand> stored;
  for (const WeightDemand &demand : demands) {
    if (!demand.parts.count)
      stored.push_back(demand);
    for (int64_t part = 0; part < demand.parts.count; ++part)
      stored.push_back({demand.parts.name(part), {demand.shape.begin() + 1, demand.shape.end()}});
  }
  return stored;
}

std::vector<WeightDemand> heddle::decoderDemands(const DecoderConfig &config) {
  return decoderDemands(config, !config.tieWordEmbeddings);
}

void heddle::adaptRoot(DecoderConfig &config, const std::vector<WeightInfo> &available) {
  if (!config.bareNames)
    return;
  for (const WeightInfo &info : available)
    if (std::string_view(info.name).substr(0, config.root.size()) == config.root)
      return;
  config.root.clear();
}
