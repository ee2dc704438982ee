//===- LayerTypes.cpp - which layers are of which kind --------------------===//

#include "ModelFamilies.h"

#include <algorithm>
#include <string>

using namespace heddle;

std::optional<std::vector<bool>> heddle::readLayerList(FieldReader &fields, const char *name,
                                                       int64_t numLayers, std::string_view plain,
                                                       std::string_view special) {
  std::optional<std::vector<std::string>> types = fields.stringsOrNull(name);
  if (!types)
    return std::nullopt;
  if (types->size() != static_cast<size_t>(numLayers)) {
    fields.error(name, "has " + std::to_string(types->size()) +
                           " entries, expected num_hidden_layers (" + std::to_string(numLayers) +
                           ")");
    return std::nullopt;
  }
  std::vector<bool> isSpecial;
  for (size_t i = 0; i < types->size(); ++i) {
    const std::string &type = (*types)[i];
    if (type != plain && type != special) {
      fields.error(name, "has '" + type + "' at index " + std::to_string(i) + "; supported are " +
                             std::string(plain) + " and " + std::string(special));
      return std::nullopt;
    }
    isSpecial.push_back(type == special);
  }
  return isSpecial;
}

std::vector<bool> heddle::readExpertLayers(FieldReader &fields, int64_t numLayers, int64_t dense,
                                           bool mayBeListed) {
  dense = fields.integer("first_k_dense_replace", dense, {0, kLayerRange.high});
  if (mayBeListed)
    if (auto listed = readLayerList(fields, "mlp_layer_types", numLayers, "dense", "sparse"))
      return *listed;
  std::vector<bool> haveExperts;
  for (int64_t layer = 0; layer < numLayers; ++layer)
    haveExperts.push_back(layer >= dense);
  return haveExperts;
}

static std::optional<std::vector<bool>> readLayerTypes(FieldReader &fields, int64_t numLayers,
                                                       std::string_view special) {
  return readLayerList(fields, "layer_types", numLayers, "full_attention", special);
}

std::vector<int64_t> heddle::readQwenWindows(FieldReader &fields, const DecoderConfig &config) {
  bool enabled = fields.boolean("use_sliding_window", false);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  int64_t firstSliding = fields.integer("max_window_layers", 28, {0, kLayerRange.high});
  if (!enabled)
    window.reset();

  std::vector<int64_t> windows;
  std::optional<std::vector<bool>> slides =
      readLayerTypes(fields, config.numLayers, "sliding_attention");
  for (int64_t layer = 0; layer < config.numLayers; ++layer) {
    bool sliding = slides ? (*slides)[static_cast<size_t>(layer)] : layer >= firstSliding;
    if (sliding && slides && !window) {
      fields.error("layer_types",
                   "has 'sliding_attention' at index " + std::to_string(layer) +
                       ", but there is no window: " +
                       (enabled ? "sliding_window is null" : "use_sliding_window is not true"));
      break;
    }
    windows.push_back(sliding ? window.value_or(0) : 0);
  }
  windows.resize(static_cast<size_t>(config.numLayers));
  return windows;
}

void heddle::checkUniformLayerTypes(FieldReader &fields, const DecoderConfig &config,
                                    bool windowed) {
  std::optional<std::vector<bool>> slides =
      readLayerTypes(fields, config.numLayers, "sliding_attention");
  if (!slides)
    return;
  for (size_t layer = 0; layer < slides->size(); ++layer) {
    if ((*slides)[layer] == windowed)
      continue;
    fields.error("layer_types",
                 std::string("has '") + (windowed ? "full_attention" : "sliding_attention") +
                     "' at index " + std::to_string(layer) +
                     ", but every layer of this architecture " +
                     (windowed ? "has the window of sliding_window" : "sees all keys"));
    return;
  }
}

std::vector<bool> heddle::readLayerKinds(FieldReader &fields, const DecoderConfig &config,
                                         const char *special, int64_t fullEvery, bool reversed) {
  if (std::optional<std::vector<bool>> kinds = readLayerTypes(fields, config.numLayers, special))
    return *kinds;
  std::vector<bool> kinds;
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    kinds.push_back(((layer + 1) % fullEvery != 0) != reversed);
  return kinds;
}

std::vector<bool> heddle::readSparseLayers(FieldReader &fields, const DecoderConfig &config,
                                           int64_t experts) {
  int64_t step = fields.integer("decoder_sparse_step", 1, kLayerRange);
  std::vector<int64_t> dense = fields.integersOrNull("mlp_only_layers", {0, config.numLayers - 1})
                                   .value_or(std::vector<int64_t>());
  std::vector<bool> sparse;
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    sparse.push_back(experts > 0 && (layer + 1) % step == 0 &&
                     std::find(dense.begin(), dense.end(), layer) == dense.end());
  return sparse;
}
