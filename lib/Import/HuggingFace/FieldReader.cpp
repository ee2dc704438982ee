//===- FieldReader.cpp - typed fields of a JSON object --------------------===//

#include "FieldReader.h"
#include "JsonPosition.h"

#include <charconv>
#include <cmath>

using namespace heddle;
using nlohmann::json;

std::string heddle::numberText(double number) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  return std::string(buffer, end);
}

/// A value as it stands in the file, shortened.
static std::string valueText(const json &value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "a list";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t limit = 60;
  return text.size() <= limit ? text : text.substr(0, limit) + "...";
}

static std::string rangeText(IntegerRange range) {
  return "an integer from " + std::to_string(range.low) + " to " + std::to_string(range.high);
}

static std::string rangeText(NumberRange range) {
  return std::string("a number ") + (range.includesLow ? "from " : "above ") +
         numberText(range.low) + " up to " + numberText(range.high);
}

const json *FieldReader::find(const char *name) {
  asked.insert(name);
  auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

std::string FieldReader::qualified(const std::string &name) const {
  std::string result;
  for (const std::string &outer : path)
    result += outer + ".";
  return result + name;
}

ImportPosition FieldReader::position(const std::string &name) const {
  std::vector<std::string> full = path;
  full.push_back(name);
  return jsonKeyPosition(text, full);
}

void FieldReader::error(const char *name, const std::string &text) {
  messages.error(position(name), "field '" + qualified(name) + "' " + text);
}

void FieldReader::typeError(const char *name, const json &value, const std::string &expected) {
  error(name, "is " + valueText(value) + "; expected " + expected);
}

/// Whether a value is an integer of the range.
static bool takeInteger(const json &value, IntegerRange range, int64_t &result) {
  // nlohmann keeps integers past int64 as unsigned and wraps in get<int64_t>.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    return false;
  result = value.get<int64_t>();
  return result >= range.low && result <= range.high;
}

bool FieldReader::readInteger(const char *name, const json &value, IntegerRange range,
                              const char *alternative, int64_t &result) {
  if (takeInteger(value, range, result))
    return true;
  typeError(name, value, rangeText(range) + alternative);
  return false;
}

bool FieldReader::readNumber(const char *name, const json &value, NumberRange range,
                             const char *alternative, double &result) {
  if (value.is_number()) {
    result = value.get<double>();
    bool aboveLow = range.includesLow ? result >= range.low : result > range.low;
    if (aboveLow && result <= range.high)
      return true;
  }
  typeError(name, value, rangeText(range) + alternative);
  return false;
}

int64_t FieldReader::integer(const char *name, int64_t absent, IntegerRange range) {
  const json *value = find(name);
  int64_t result = absent;
  if (value && !readInteger(name, *value, range, "", result))
    return absent;
  return result;
}

std::optional<int64_t> FieldReader::integerOrNull(const char *name, std::optional<int64_t> absent,
                                                  IntegerRange range) {
  const json *value = find(name);
  if (!value)
    return absent;
  int64_t result;
  if (value->is_null() || !readInteger(name, *value, range, ", or null", result))
    return std::nullopt;
  return result;
}

double FieldReader::number(const char *name, double absent, NumberRange range) {
  const json *value = find(name);
  double result = absent;
  if (value && !readNumber(name, *value, range, "", result))
    return absent;
  return result;
}

double FieldReader::requiredNumber(const char *name, NumberRange range) {
  const json *value = find(name);
  double result;
  if (!value)
    error(name, "is missing; expected " + rangeText(range));
  else if (readNumber(name, *value, range, "", result))
    return result;
  return range.high;
}

std::optional<double> FieldReader::numberOrNull(const char *name, NumberRange range) {
  const json *value = find(name);
  double result;
  if (!value || value->is_null() || !readNumber(name, *value, range, ", or null", result))
    return std::nullopt;
  return result;
}

bool FieldReader::boolean(const char *name, bool absent) {
  const json *value = find(name);
  if (!value)
    return absent;
  if (value->is_boolean())
    return value->get<bool>();
  if (!value->is_null())
    typeError(name, *value, "true or false");
  return false;
}

std::string FieldReader::string(const char *name, const char *absent) {
  const json *value = find(name);
  if (!value)
    return absent;
  if (value->is_string())
    return value->get<std::string>();
  typeError(name, *value, "a string");
  return absent;
}

std::optional<std::string> FieldReader::stringOrNull(const char *name) {
  const json *value = find(name);
  if (!value || value->is_null())
    return std::nullopt;
  if (value->is_string())
    return value->get<std::string>();
  typeError(name, *value, "a string, or null");
  return std::nullopt;
}

std::optional<std::vector<std::string>> FieldReader::stringsOrNull(const char *name) {
  const json *value = find(name);
  if (!value || value->is_null())
    return std::nullopt;
  if (!value->is_array()) {
    typeError(name, *value, "a list of strings, or null");
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (const json &entry : *value) {
    if (!entry.is_string()) {
      error(name, "has " + valueText(entry) + " at index " + std::to_string(result.size()) +
                      "; expected a string");
      return std::nullopt;
    }
    result.push_back(entry.get<std::string>());
  }
  return result;
}

std::optional<std::vector<int64_t>> FieldReader::integersOrNull(const char *name,
                                                                IntegerRange range) {
  const json *value = find(name);
  if (!value || value->is_null())
    return std::nullopt;
  if (!value->is_array()) {
    typeError(name, *value, "a list of integers, or null");
    return std::nullopt;
  }
  std::vector<int64_t> result;
  for (const json &entry : *value) {
    int64_t number = 0;
    if (!takeInteger(entry, range, number)) {
      error(name, "has " + valueText(entry) + " at index " + std::to_string(result.size()) +
                      "; expected " + rangeText(range));
      return std::nullopt;
    }
    result.push_back(number);
  }
  return result;
}

std::vector<double> FieldReader::requiredNumbers(const char *name, NumberRange range) {
  const json *value = find(name);
  if (!value) {
    error(name, "is missing; expected a list of numbers");
    return {};
  }
  if (!value->is_array()) {
    typeError(name, *value, "a list of numbers");
    return {};
  }
  std::vector<double> result;
  for (const json &entry : *value) {
    double number = entry.is_number() ? entry.get<double>() : std::nan("");
    if (!(number > range.low && number <= range.high)) {
      error(name, "has " + valueText(entry) + " at index " + std::to_string(result.size()) +
                      "; expected " + rangeText(range));
      return {};
    }
    result.push_back(number);
  }
  return result;
}

std::optional<FieldReader> FieldReader::objectOrNull(const char *name) {
  const json *value = find(name);
  if (!value || value->is_null())
    return std::nullopt;
  if (!value->is_object()) {
    typeError(name, *value, "an object, or null");
    return std::nullopt;
  }
  std::vector<std::string> inner = path;
  inner.push_back(name);
  return FieldReader(*value, text, std::move(inner), messages);
}
