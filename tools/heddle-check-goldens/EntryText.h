//===- EntryText.h - the text of one entry ----------------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_ENTRYTEXT_H
#define HEDDLE_TOOLS_CHECKGOLDENS_ENTRYTEXT_H

#include "heddle/TensorIO/DType.h"

namespace heddle::goldens {

/// A float literal of MLIR that reads back as the same double.
std::string floatText(double number);

/// "tensor<?x?x4xf32>"; negative extents are dynamic.
std::string tensorType(const std::vector<int64_t> &shape, DType type);

/// Writes a func.func with named arguments and results.
class EntryText {
public:
  explicit EntryText(std::string symbol) : symbol(std::move(symbol)) {}

  const std::string &name() const { return symbol; }

  /// Adds an argument; gives "%name".
  std::string argument(const std::string &name, const std::string &type);
  /// Adds an argument that a result of the same name replaces.
  std::string cache(const std::string &name, const std::string &type);
  /// Adds a line to the body.
  void line(const std::string &text) { body += "  " + text + "\n"; }
  /// Returns a value of the body under a name.
  void result(const std::string &value, const std::string &type, const std::string &name,
              bool updatesCache = false);

  std::string text() const;

private:
  std::string symbol, arguments, body, values, valueTypes, results;
};

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_ENTRYTEXT_H
