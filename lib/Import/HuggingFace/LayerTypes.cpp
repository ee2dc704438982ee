//===- LayerTypes.cpp - which layers see a window -------------------------===//

#include "ModelFamilies.h"

#include <string>

using namespace heddle;

/// Whether each layer slides; nullopt if layer_types is absent, null or wrong.
static std::optional<std::vector<bool>> readLayerTypes(FieldReader &fields, int64_t numLayers) {
  std::optional<std::vector<std::string>> types = fields.stringsOrNull("layer_types");
  if (!types)
    return std::nullopt;
  if (types->size() != static_cast<size_t>(numLayers)) {
    fields.error("layer_types", "has " + std::to_string(types->size()) +
                                    " entries, expected num_hidden_layers (" +
                                    std::to_string(numLayers) + ")");
    return std::nullopt;
  }
  std::vector<bool> slides;
  for (size_t i = 0; i < types->size(); ++i) {
    const std::string &type = (*types)[i];
    if (type != "full_attention" && type != "sliding_attention") {
      fields.error("layer_types", "has '" + type + "' at index " + std::to_string(i) +
                                      "; supported are full_attention and sliding_attention");
      return std::nullopt;
    }
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

void heddle::readQwenWindows(FieldReader &fields, DecoderConfig &config) {
  bool enabled = fields.boolean("use_sliding_window", false);
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", 4096, kCountRange);
  int64_t firstSliding = fields.integer("max_window_layers", 28, {0, kLayerRange.high});
  if (!enabled)
    window.reset();

  std::optional<std::vector<bool>> slides = readLayerTypes(fields, config.numLayers);
  for (size_t layer = 0; layer < config.layerWindow.size(); ++layer) {
    bool sliding = slides ? (*slides)[layer] : static_cast<int64_t>(layer) >= firstSliding;
    if (sliding && slides && !window) {
      fields.error("layer_types",
                   "has 'sliding_attention' at index " + std::to_string(layer) +
                       ", but there is no window: " +
                       (enabled ? "sliding_window is null" : "use_sliding_window is not true"));
      return;
    }
    config.layerWindow[layer] = sliding ? window.value_or(0) : 0;
  }
}

void heddle::checkUniformLayerTypes(FieldReader &fields, const DecoderConfig &config) {
  std::optional<std::vector<bool>> slides = readLayerTypes(fields, config.numLayers);
  if (!slides)
    return;
  for (size_t layer = 0; layer < slides->size(); ++layer) {
    bool windowed = config.layerWindow[layer] != 0;
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
