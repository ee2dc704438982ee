//===- HuggingFaceConfig.h - reads a config.json ----------------*- C++ -*-===//

#ifndef HEDDLE_IMPORT_HUGGINGFACECONFIG_H
#define HEDDLE_IMPORT_HUGGINGFACECONFIG_H

#include "heddle/Import/DecoderConfig.h"
#include "heddle/Import/ImportMessages.h"

#include <optional>
#include <string_view>

namespace heddle {

/// Reads the text of a config.json by the rules of its model_type: llama,
/// mistral, qwen2 or qwen3. Everything that is wrong goes to `messages`; the
/// config is returned only if nothing is. Unknown fields are warnings.
std::optional<DecoderConfig> parseHuggingFaceConfig(std::string_view text,
                                                    ImportMessages &messages);

} // namespace heddle

#endif // HEDDLE_IMPORT_HUGGINGFACECONFIG_H
