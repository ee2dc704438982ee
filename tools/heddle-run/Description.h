//===- Description.h - what a module says about its entries ---------------===//

#ifndef HEDDLE_TOOLS_RUN_DESCRIPTION_H
#define HEDDLE_TOOLS_RUN_DESCRIPTION_H

#include "heddle/TensorIO/StoredWeight.h"

namespace heddle {
namespace run {

/// An extent: a number, or a symbol that the caller's tensors give.
struct Dim {
  int64_t extent = -1; // -1 for a symbol
  std::string symbol;
};

enum class Kind { Input, Output, InOut };

struct Argument {
  std::string name;
  Kind kind = Kind::Input;
  std::string role; // "input", "weight", "cache", "state" or "output"
  DType dtype = DType::F32;
  std::vector<Dim> shape;
  TensorParts parts = {}; // of a weight that checkpoints store in parts

  bool isWeight() const { return role == "weight"; }
  /// What a call leaves to the next one; a state is zeros before the first.
  bool isCache() const { return role == "cache" || isState(); }
  bool isState() const { return role == "state"; }
};

struct Entry {
  std::string name;
  std::vector<std::string> symbols;
  std::vector<Argument> args;

  const Argument *find(std::string_view name) const;
};

struct Description {
  std::string name, producer;
  std::vector<std::string> targets;     // "cpu", "sm_80", "sim-sm_80"
  std::vector<std::string> cpuVariants; // "avx2"
  std::vector<Entry> entries;
  std::optional<int64_t> vocabularySize;  // of the model, if it says
  std::optional<std::string> weightsFile; // file name beside the module

  const Entry *find(std::string_view name) const;

  /// Whether calls for that target, or for any if the name is empty, take tensors of a CUDA device.
  /// Fails if the module, `module` in messages, has no code for the target.
  Result<bool> runsOnDevice(const std::string &target, const std::string &module) const;
};

/// Parses the JSON of heddle_module_description. Keys that are not known are ignored; known ones
/// must have the right type. `module` stands for the module in messages.
Result<Description> parseDescription(std::string_view json, const std::string &module);

/// "f32 [B, C, 2, 16]".
std::string typeText(const Argument &argument);

/// One line an argument, for --print-entries.
std::string entryText(const Entry &entry);

/// "'a', 'b', 'c' and 4 more".
std::string nameList(const std::vector<std::string> &names, size_t limit = 12);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_DESCRIPTION_H
