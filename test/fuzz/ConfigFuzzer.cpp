//===- ConfigFuzzer.cpp - libFuzzer target of the config.json reader ------===//
//
// Any text must give a config or an error, and a config must be one that the
// rest of the importer can take: tensors with a size, a description of each layer.
//
//===----------------------------------------------------------------------===//

#include "heddle/Import/HuggingFaceConfig.h"
#include "heddle/Import/WeightTable.h"

#include <cstdlib>

using namespace heddle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ImportMessages messages;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  std::optional<DecoderConfig> config = parseHuggingFaceConfig(text, messages);
  if (config.has_value() == messages.hasErrors())
    std::abort();
  if (!config)
    return 0;
  if (config->layers.size() != static_cast<size_t>(config->numLayers) ||
      config->numHeads % config->numKeyValueHeads != 0)
    std::abort();
  for (const WeightDemand &demand : blockDemands(*config, config->numLayers - 1))
    for (int64_t extent : demand.shape)
      if (extent <= 0)
        std::abort();
  return 0;
}
