//===- StrictJson.h - JSON without its loose ends -------------------------===//

#ifndef HEDDLE_TENSORIO_STRICTJSON_H
#define HEDDLE_TENSORIO_STRICTJSON_H

// Without exceptions nlohmann's accessors abort on a wrong type: ask is_*() before get().
#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION 1
#endif

#include "heddle/TensorIO/Result.h"
#include <nlohmann/json.hpp>
#include <string_view>

namespace heddle {

/// Deepest nesting of objects and arrays that parseStrictJson accepts.
constexpr int maxJsonDepth = 64;

/// Parses one JSON text. Beyond the grammar it refuses duplicate keys in one object, nesting deeper
/// than maxJsonDepth and anything but white space after the value. Errors start with
/// "<name>:<line>:<column>: "; columns count bytes from 1.
Result<nlohmann::json> parseStrictJson(std::string_view text, const std::string &name);

/// Reads and parses a file.
Result<nlohmann::json> readStrictJson(const std::string &path);

} // namespace heddle

#endif // HEDDLE_TENSORIO_STRICTJSON_H
