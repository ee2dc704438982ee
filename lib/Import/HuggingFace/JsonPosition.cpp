//===- JsonPosition.cpp - where a key stands in a JSON text ---------------===//
//
// A scan over text that is known to be well-formed: only strings and brackets
// matter. A string directly inside an object that a colon follows is a key.
//
//===----------------------------------------------------------------------===//

#include "JsonPosition.h"

using namespace heddle;

static size_t skipSpace(std::string_view text, size_t at) {
  while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
    ++at;
  return at;
}

/// From an opening quote to behind the closing one.
static size_t skipString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\')
      ++at;
  return at + 1;
}

static ImportPosition positionAt(std::string_view text, size_t offset) {
  ImportPosition position{1, 1, {}};
  for (char c : text.substr(0, offset)) {
    ++position.column;
    if (c == '\n') {
      ++position.line;
      position.column = 1;
    }
  }
  return position;
}

ImportPosition heddle::jsonKeyPosition(std::string_view text,
                                       const std::vector<std::string> &path) {
  size_t found = skipSpace(text, 0);
  size_t depth = 0, matched = 0;
  for (size_t at = 0; at < text.size() && matched < path.size();) {
    char c = text[at];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      // The object of the last matched key ends: what follows is elsewhere.
      if (--depth == matched)
        break;
    } else if (c == '"') {
      size_t end = skipString(text, at);
      bool isKey = end < text.size() && skipSpace(text, end) < text.size() &&
                   text[skipSpace(text, end)] == ':';
      if (isKey && depth == matched + 1 && text.substr(at + 1, end - at - 2) == path[matched]) {
        found = at;
        ++matched;
      }
      at = end;
      continue;
    }
    ++at;
  }
  return positionAt(text, found);
}
