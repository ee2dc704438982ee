//===- StrictJson.cpp - JSON without its loose ends -----------------------===//
//
// Builds the document from nlohmann's SAX events, because its own parser keeps the last of
// duplicate keys and has no depth limit. SAX events carry no position, so the parser reads through
// an iterator that reports how far it is.
//
//===----------------------------------------------------------------------===//

#include "heddle/TensorIO/StrictJson.h"
#include "heddle/TensorIO/File.h"
#include <algorithm>
#include <iterator>

using namespace heddle;
using nlohmann::json;

namespace {

/// Walks the text and keeps `position` at the number of bytes taken.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  const char *at;
  size_t *position;

  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++at;
    ++*position;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator &other) const { return at == other.at; }
  bool operator!=(const CountingIterator &other) const { return at != other.at; }
};

class Builder : public nlohmann::json_sax<json> {
public:
  Builder(std::string_view text, const std::string &name) : text(text), name(name) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; } // JSON text has none
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &value) override {
    if (nesting.back()->contains(value))
      return fail(startOfString(), "duplicate key \"" + value + "\"");
    pendingKey = std::move(value);
    return true;
  }

  bool parse_error(std::size_t offset, const std::string &,
                   const nlohmann::detail::exception &exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: <text>"
    std::string_view what = exception.what();
    size_t bracket = what.find("] ");
    what.remove_prefix(bracket == what.npos ? 0 : bracket + 2);
    constexpr std::string_view prefix = "parse error";
    if (what.substr(0, prefix.size()) == prefix)
      if (size_t colon = what.find(": "); colon != what.npos)
        what.remove_prefix(colon + 2);
    return fail(offset > 0 ? offset - 1 : 0, std::string(what));
  }

  std::string error;
  size_t position = 0;
  json root;

  /// Keeps the error with the position of byte `offset`; returns false, which stops the parser.
  bool fail(size_t offset, const std::string &what) {
    offset = std::min(offset, text.size());
    size_t line = 1 + size_t(std::count(text.begin(), text.begin() + offset, '\n'));
    size_t lineStart = offset == 0 ? text.npos : text.rfind('\n', offset - 1);
    size_t column = lineStart == text.npos ? offset + 1 : offset - lineStart;
    error = name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
    return false;
  }

private:
  /// Where the string literal that ends at `position` starts.
  size_t startOfString() const {
    size_t at = position - 1; // the closing quote
    while (at > 0) {
      at = text.rfind('"', at - 1);
      size_t backslashes = 0;
      while (backslashes < at && text[at - 1 - backslashes] == '\\')
        ++backslashes;
      if (backslashes % 2 == 0)
        break;
    }
    return at;
  }

  json *place(json value) {
    if (nesting.empty()) {
      root = std::move(value);
      return &root;
    }
    json &parent = *nesting.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json &slot = parent[pendingKey];
    slot = std::move(value);
    return &slot;
  }

  template <typename T> bool add(T &&value) {
    place(json(std::forward<T>(value)));
    return true;
  }

  bool open(json container) {
    if (nesting.size() >= size_t(maxJsonDepth))
      return fail(position - 1, "nested deeper than " + std::to_string(maxJsonDepth) + " levels");
    nesting.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    nesting.pop_back();
    return true;
  }

  std::string_view text;
  const std::string &name;
  std::vector<json *> nesting; // containers that are open; parents hold still while a child is open
  std::string pendingKey;
};

} // namespace

Result<json> heddle::parseStrictJson(std::string_view text, const std::string &name) {
  Builder builder(text, name);
  // The lexer takes a NUL for the end of the text.
  if (size_t nul = text.find('\0'); nul != text.npos) {
    builder.fail(nul, "a NUL byte");
    return Failure{builder.error};
  }
  CountingIterator begin{text.data(), &builder.position};
  CountingIterator end{text.data() + text.size(), &builder.position};
  if (!json::sax_parse(begin, end, &builder))
    return Failure{builder.error.empty() ? name + ": is not JSON" : builder.error};
  return std::move(builder.root);
}

Result<json> heddle::readStrictJson(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.failure();
  return parseStrictJson(file->text(), path);
}
