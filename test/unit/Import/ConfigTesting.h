//===- ConfigTesting.h - helpers of the config tests ------------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_IMPORT_CONFIGTESTING_H
#define HEDDLE_TEST_UNIT_IMPORT_CONFIGTESTING_H

#include "heddle/Import/HuggingFaceConfig.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle {

struct ParsedConfig {
  std::optional<DecoderConfig> config;
  /// "<line>:<column>: error: <text>" each.
  std::vector<std::string> messages;
};

inline ParsedConfig parseConfig(const std::string &text) {
  ImportMessages messages;
  ParsedConfig result;
  result.config = parseHuggingFaceConfig(text, messages);
  for (const ImportMessage &message : messages.messages())
    result.messages.push_back(std::to_string(message.position.line) + ":" +
                              std::to_string(message.position.column) +
                              (message.isError ? ": error: " : ": warning: ") + message.text);
  EXPECT_NE(result.config.has_value(), messages.hasErrors());
  return result;
}

/// A config whose only special fields are `fields` ("\"a\": 1, ...").
inline ParsedConfig parseFields(const std::string &modelType, const std::string &fields) {
  return parseConfig("{\"model_type\": \"" + modelType + "\"" + (fields.empty() ? "" : ", ") +
                     fields + "}");
}

/// What such a config means, if nothing is to be said against it.
inline DecoderConfig config(const std::string &modelType, const std::string &fields = "") {
  ParsedConfig parsed = parseFields(modelType, fields);
  EXPECT_THAT(parsed.messages, testing::IsEmpty());
  return parsed.config.value_or(DecoderConfig());
}

/// Keys that each layer sees including its own; 0: all of them.
inline std::vector<int64_t> windows(const DecoderConfig &config) {
  std::vector<int64_t> keys;
  for (const LayerConfig &layer : config.layers)
    keys.push_back(layer.attention()->windowLeft + 1);
  return keys;
}

} // namespace heddle

#endif // HEDDLE_TEST_UNIT_IMPORT_CONFIGTESTING_H
