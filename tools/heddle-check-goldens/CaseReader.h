//===- CaseReader.h - attributes and tensors of one case --------*- C++ -*-===//
//
// A case is read by asking for what an operation knows. Whatever was not asked
// for is an error, so that nothing in a file is ignored by accident.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_CASEREADER_H
#define HEDDLE_TOOLS_CHECKGOLDENS_CASEREADER_H

#include "heddle/TensorIO/Safetensors.h"
#include "heddle/TensorIO/StrictJson.h"

#include <set>

namespace heddle::goldens {

class CaseReader {
public:
  CaseReader(const SafetensorsFile &file, std::string name, const nlohmann::json &attributes);

  const std::string &name() const { return caseName; }

  /// "k, q, v".
  std::string inputNames() const;
  bool hasInput(const std::string &name) const { return inputs.count(name) != 0; }

  /// A tensor that has to be there, of that rank.
  const TensorView *input(const std::string &name, size_t rank);
  /// A tensor that may be missing: null.
  const TensorView *optionalInput(const std::string &name);
  const TensorView *optionalOutput(const std::string &name);

  /// Attributes that may be missing; null counts as missing.
  bool flag(const std::string &name);
  std::optional<double> number(const std::string &name);
  std::optional<int64_t> integer(const std::string &name);
  const nlohmann::json *object(const std::string &name);
  /// Integers; empty if they are missing.
  std::vector<int64_t> integers(const std::string &name);
  bool hasAttribute(const std::string &name) const { return attributes.contains(name); }

  /// Remembers an error; the first one counts.
  void fail(const std::string &text);

  /// The first error, or what was not asked for.
  Status finish() const;

private:
  const nlohmann::json *attribute(const std::string &name, const char *expected,
                                  bool (nlohmann::json::*isType)() const noexcept);

  std::string caseName;
  const nlohmann::json &attributes;
  std::map<std::string, const TensorView *> inputs, outputs;
  std::set<std::string> asked; // "attribute 'x'", "input 'x'", "output 'x'"
  std::string error;
};

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_CASEREADER_H
