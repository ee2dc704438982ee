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
    {"deepseek_v3", readDeepseekV3Config},
    {"deepseek_v32", readDeepseekV32Config},
    {"gemma2", readGemma2Config},
    {"gemma3_text", readGemma3TextConfig},
    {"glm", readGlmConfig},
    {"glm_moe_dsa", readGlmMoeDsaConfig},
    {"gpt2", readGpt2Config},
    {"gpt_neox", readGptNeoXConfig},
    {"gpt_oss", readGptOssConfig},
    {"kimi_linear", readKimiLinearConfig},
    {"llama", readLlamaConfig},
    {"minimax", readMiniMaxConfig},
    {"mistral", readMistralConfig},
    {"mpt", readMptConfig},
    {"olmo2", readOlmo2Config},
    {"olmo3", readOlmo3Config},
    {"phi3", readPhi3Config},
    {"qwen2", readQwen2Config},
    {"qwen3", readQwen3Config},
    {"qwen3_5", readQwen35Config},
    {"qwen3_5_text", readQwen35TextConfig},
    {"qwen3_moe", readQwen3MoeConfig},
    {"qwen3_next", readQwen3NextConfig},
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
    readQuantization(fields, config);
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
