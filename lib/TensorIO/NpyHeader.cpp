//===- NpyHeader.cpp - the dictionary at the start of a .npy file ---------===//

#include "NpyHeader.h"

using namespace heddle;
using namespace heddle::npy;

namespace {

struct Descr {
  std::string_view text;
  DType dtype;
};

// What NumPy writes on a little-endian machine; one-byte types have no byte order.
constexpr Descr descrs[] = {{"<f8", DType::F64}, {"<f4", DType::F32}, {"<f2", DType::F16},
                            {"<i8", DType::I64}, {"<i4", DType::I32}, {"<i2", DType::I16},
                            {"|i1", DType::I8},  {"|u1", DType::U8},  {"|b1", DType::Bool}};

/// A parser of the few Python literals that occur in a header.
class Parser {
public:
  Parser(std::string_view text, const std::string &name) : text(text), name(name) {}
  Result<Header> parse();

private:
  Failure fail(const std::string &what) const { return {name + ": npy header: " + what}; }
  Failure unexpected(const std::string &expected) const {
    std::string found = at < text.size() ? "'" + std::string(1, text[at]) + "'" : "the end";
    return fail("found " + found + " at byte " + std::to_string(at) + ", expected " + expected);
  }

  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }
  bool take(char wanted) {
    skipBlanks();
    if (at >= text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }

  Result<std::string_view> parseString();
  Status parseValue(std::string_view key, Header &header);
  Result<DType> parseDescr();
  Result<bool> parseBool();
  Result<std::vector<int64_t>> parseTuple();

  std::string_view text;
  const std::string &name;
  size_t at = 0;
};

Result<std::string_view> Parser::parseString() {
  skipBlanks();
  if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
    return unexpected("a string");
  size_t end = text.find(text[at], at + 1);
  if (end == text.npos)
    return fail("a string that starts at byte " + std::to_string(at) + " does not end");
  std::string_view content = text.substr(at + 1, end - at - 1);
  if (content.find('\\') != content.npos)
    return fail("a string that starts at byte " + std::to_string(at) + " has an escape");
  at = end + 1;
  return content;
}

Result<DType> Parser::parseDescr() {
  skipBlanks();
  if (at < text.size() && text[at] == '[')
    return fail("structured types are not supported");
  Result<std::string_view> descr = parseString();
  if (!descr)
    return descr.failure();
  for (const Descr &known : descrs)
    if (known.text == *descr || (known.text[0] == '|' && known.text.substr(1) == *descr))
      return known.dtype;
  std::string found = "type '" + std::string(*descr) + "'";
  if (*descr == "|V2" || *descr == "<V2" || *descr == "bfloat16")
    return fail(found + " is how bfloat16 arrays are saved, which loses the type; save them as "
                        ".safetensors");
  if (!descr->empty() && descr->front() == '>')
    return fail(found + " is big endian, expected little endian");
  return fail(found + " is not supported, expected one of <f8 <f4 <f2 <i8 <i4 <i2 |i1 |u1 |b1");
}

Result<bool> Parser::parseBool() {
  skipBlanks();
  for (bool value : {true, false}) {
    std::string_view word = value ? "True" : "False";
    if (text.substr(at, word.size()) == word) {
      at += word.size();
      return value;
    }
  }
  return unexpected("True or False");
}

Result<std::vector<int64_t>> Parser::parseTuple() {
  if (!take('('))
    return unexpected("a tuple");
  std::vector<int64_t> shape;
  bool comma = true;
  while (!take(')')) {
    if (!comma)
      return unexpected("',' or ')'");
    skipBlanks();
    size_t start = at;
    int64_t extent = 0;
    bool tooLarge = false;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      tooLarge |= __builtin_mul_overflow(extent, 10, &extent) ||
                  __builtin_add_overflow(extent, text[at] - '0', &extent);
    if (at == start)
      return unexpected("an extent (0 or more) or ')'");
    if (tooLarge)
      return fail("extent " + std::string(text.substr(start, at - start)) +
                  " does not fit in 64 bits");
    shape.push_back(extent);
    comma = take(',');
  }
  if (shape.size() == 1 && !comma)
    return fail("shape is a number in parentheses, expected a tuple");
  return shape;
}

Status Parser::parseValue(std::string_view key, Header &header) {
  if (key == "descr") {
    Result<DType> dtype = parseDescr();
    if (!dtype)
      return dtype.failure();
    header.dtype = *dtype;
    return {};
  }
  if (key == "fortran_order") {
    Result<bool> order = parseBool();
    if (!order)
      return order.failure();
    header.fortranOrder = *order;
    return {};
  }
  Result<std::vector<int64_t>> shape = parseTuple();
  if (!shape)
    return shape.failure();
  header.shape = std::move(*shape);
  return {};
}

Result<Header> Parser::parse() {
  constexpr std::string_view keys[] = {"descr", "fortran_order", "shape"};
  bool seen[3] = {};
  Header header;
  if (!take('{'))
    return unexpected("'{'");
  bool comma = true;
  while (!take('}')) {
    if (!comma)
      return unexpected("',' or '}'");
    Result<std::string_view> key = parseString();
    if (!key)
      return key.failure();
    size_t which = 0;
    while (which < 3 && keys[which] != *key)
      ++which;
    if (which == 3)
      return fail("unknown key '" + std::string(*key) + "'");
    if (std::exchange(seen[which], true))
      return fail("duplicate key '" + std::string(*key) + "'");
    if (!take(':'))
      return unexpected("':'");
    if (Status status = parseValue(*key, header); !status)
      return status.failure();
    comma = take(',');
  }
  for (size_t i = 0; i < 3; ++i)
    if (!seen[i])
      return fail("key '" + std::string(keys[i]) + "' is missing");
  skipBlanks();
  if (at != text.size())
    return unexpected("nothing more");
  return header;
}

} // namespace

Result<Header> heddle::npy::parseHeader(std::string_view text, const std::string &name) {
  return Parser(text, name).parse();
}

std::string heddle::npy::formatHeader(DType dtype, const std::vector<int64_t> &shape) {
  std::string text = "{'descr': '";
  for (const Descr &known : descrs)
    if (known.dtype == dtype)
      text += known.text;
  text += "', 'fortran_order': False, 'shape': (";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (shape.size() == 1 ? ",), }" : "), }");
}
