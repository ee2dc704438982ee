//===- EntryText.cpp - the text of one entry ------------------------------===//

#include "EntryText.h"

#include <cstdio>

namespace heddle::goldens {

std::string floatText(double number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17e : f64", number);
  return text;
}

std::string tensorType(const std::vector<int64_t> &shape, DType type) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += (extent < 0 ? "?" : std::to_string(extent)) + "x";
  return text + (type == DType::Bool ? "i1" : std::string(dtypeName(type))) + ">";
}

static void append(std::string &list, const std::string &item) {
  list += (list.empty() ? "" : ", ") + item;
}

std::string EntryText::argument(const std::string &name, const std::string &type) {
  append(arguments, "%" + name + ": " + type + " {heddle.name = \"" + name + "\"}");
  return "%" + name;
}

std::string EntryText::cache(const std::string &name, const std::string &type) {
  append(arguments, "%" + name + ": " + type + " {heddle.name = \"" + name +
                        "\", heddle.role = \"cache\", bufferization.writable = true}");
  return "%" + name;
}

void EntryText::result(const std::string &value, const std::string &type, const std::string &name,
                       bool updatesCache) {
  append(values, value);
  append(valueTypes, type);
  append(results, type + " {heddle.name = \"" + name + "\"" +
                      (updatesCache ? ", heddle.updates = \"" + name + "\"" : "") + "}");
}

std::string EntryText::text() const {
  return "func.func @" + symbol + "(" + arguments + ") -> (" + results + ") {\n" + body +
         "  return " + values + " : " + valueTypes + "\n}\n";
}

} // namespace heddle::goldens
