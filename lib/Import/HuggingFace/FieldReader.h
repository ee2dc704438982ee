//===- FieldReader.h - typed fields of a JSON object ------------*- C++ -*-===//
//
// A config is read by naming each field with its type, default and range. The
// reader reports every field that does not fit and remembers which ones were
// asked for, so that the rest can be reported at the end.
//
// Absent and null differ: an absent field takes the default, null is a value
// that only the ...OrNull functions take (and that a boolean reads as false).
// After an error a function returns a value within its range, so that reading
// goes on and finds further errors.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_FIELDREADER_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_FIELDREADER_H

#include "heddle/Import/ImportMessages.h"
#include "heddle/TensorIO/StrictJson.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Both ends included.
struct IntegerRange {
  int64_t low;
  int64_t high;
};

/// `high` is included, `low` only on request.
struct NumberRange {
  double low;
  double high;
  bool includesLow = false;
};

/// Tokens, positions.
inline constexpr IntegerRange kCountRange{1, 0x7fffffff};
/// Features of a token.
inline constexpr IntegerRange kWidthRange{1, 1 << 24};
inline constexpr IntegerRange kHeadRange{1, 1 << 16};
inline constexpr IntegerRange kLayerRange{1, 4096};
/// Tokens that a short convolution sees.
inline constexpr IntegerRange kKernelRange{2, 64};
/// What a tanh bounds numbers by.
inline constexpr NumberRange kSoftcapRange{0, 1e9};

/// Shortest text that reads back as the same number.
std::string numberText(double number);

class FieldReader {
public:
  /// `text` is the whole file, for positions; `path` names the objects around
  /// this one. All three references must outlive the reader.
  FieldReader(const nlohmann::json &object, std::string_view text, std::vector<std::string> path,
              ImportMessages &messages)
      : object(object), text(text), path(std::move(path)), messages(messages) {}

  /// Whether anything was wrong so far, here or elsewhere in the file.
  bool failed() const { return messages.hasErrors(); }

  /// Whether the field is there, be it null.
  bool has(const char *name) const { return object.contains(name); }

  int64_t integer(const char *name, int64_t absent, IntegerRange range);
  std::optional<int64_t> integerOrNull(const char *name, std::optional<int64_t> absent,
                                       IntegerRange range);
  double number(const char *name, double absent, NumberRange range);
  double requiredNumber(const char *name, NumberRange range);
  /// Nothing if absent or null.
  std::optional<double> numberOrNull(const char *name, NumberRange range);
  bool boolean(const char *name, bool absent);
  std::string string(const char *name, const char *absent);
  std::optional<std::string> stringOrNull(const char *name);
  std::optional<std::vector<std::string>> stringsOrNull(const char *name);
  std::optional<std::vector<int64_t>> integersOrNull(const char *name, IntegerRange range);
  std::vector<double> requiredNumbers(const char *name, NumberRange range);
  std::optional<FieldReader> objectOrNull(const char *name);

  /// "field 'rope_scaling.factor' <text>", at the field or, if it is absent, at
  /// the object that should hold it.
  void error(const char *name, const std::string &text);

  /// Reports the fields that nothing asked for (UnreadFields.cpp): an error
  /// for those that ask for a computation which is not supported, nothing for
  /// those that have no part in it, a warning for all others.
  void reportUnread();

private:
  const nlohmann::json *find(const char *name);
  std::string qualified(const std::string &name) const;
  ImportPosition position(const std::string &name) const;
  void typeError(const char *name, const nlohmann::json &value, const std::string &expected);
  bool readInteger(const char *name, const nlohmann::json &value, IntegerRange range,
                   const char *alternative, int64_t &result);
  bool readNumber(const char *name, const nlohmann::json &value, NumberRange range,
                  const char *alternative, double &result);

  const nlohmann::json &object;
  std::string_view text;
  std::vector<std::string> path;
  ImportMessages &messages;
  std::set<std::string, std::less<>> asked;
};

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_FIELDREADER_H
