//===- HuggingFaceConfig.cpp - reads a config.json ------------------------===//

#include "heddle/Import/HuggingFaceConfig.h"

#include "ModelFamilies.h"

using namespace heddle;

namespace {
struct ModelFamily {
  const char *modelType;
  DecoderConfig (*read)(FieldReader &fields);
};
} // namespace

static constexpr ModelFamily kFamilies[] = {
    {"bloom", readBloomConfig},
    {"gemma2", readGemma2Config},
    {"gemma3_text", readGemma3TextConfig},
    {"glm", readGlmConfig},
    {"gpt2", readGpt2Config},
    {"gpt_neox", readGptNeoXConfig},
    {"llama", readLlamaConfig},
    {"mistral", readMistralConfig},
    {"mpt", readMptConfig},
    {"olmo2", readOlmo2Config},
    {"olmo3", readOlmo3Config},
    {"phi3", readPhi3Config},
    {"qwen2", readQwen2Config},
    {"qwen3", readQwen3Config},
};

std::optional<DecoderConfig> heddle::parseHuggingFaceConfig(std::string_view text,
                                                            ImportMessages &messages) {
  // Without a name in front, parse errors start with ":<line>:<column>: ".
  Result<nlohmann::json> document = parseStrictJson(text, "");
  if (!document) {
    messages.locatedError(document.error(), 0);
    return std::nullopt;
  }
  if (!document->is_object()) {
    messages.error({1, 1, {}}, "expected an object at the top of a config.json");
    return std::nullopt;
  }

  FieldReader fields(*document, text, {}, messages);
  std::string supported;
  std::string modelType = fields.string("model_type", "");
  for (const ModelFamily &family : kFamilies) {
    supported += (supported.empty() ? "" : ", ") + std::string(family.modelType);
    if (modelType != family.modelType)
      continue;
    DecoderConfig config = family.read(fields);
    config.modelType = modelType;
    fields.reportUnread();
    if (messages.hasErrors())
      return std::nullopt;
    return config;
  }
  if (!fields.has("model_type"))
    fields.error("model_type", "is missing; supported are " + supported);
  else if (!messages.hasErrors())
    fields.error("model_type", "is '" + modelType + "'; supported are " + supported);
  return std::nullopt;
}
