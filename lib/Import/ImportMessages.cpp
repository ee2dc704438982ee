//===- ImportMessages.cpp - what a reader has to say ----------------------===//

#include "heddle/Import/ImportMessages.h"

#include <charconv>

using namespace heddle;

/// Takes ":<number>" off the end of `text`.
static bool takeNumber(std::string &text, unsigned &number) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size())
    return false;
  const char *end = text.data() + text.size();
  auto [next, status] = std::from_chars(text.data() + colon + 1, end, number);
  if (next != end || status != std::errc())
    return false;
  text.resize(colon);
  return true;
}

void ImportMessages::locatedError(const std::string &message, size_t shortestName) {
  size_t separator = message.find(": ", shortestName);
  if (separator == std::string::npos) {
    error({}, message);
    return;
  }
  ImportPosition position;
  position.file = message.substr(0, separator);
  std::string withoutColumn = position.file;
  if (takeNumber(withoutColumn, position.column) && takeNumber(withoutColumn, position.line))
    position.file = withoutColumn;
  else
    position.line = position.column = 0;
  error(std::move(position), message.substr(separator + 2));
}
