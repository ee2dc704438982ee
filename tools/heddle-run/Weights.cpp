//===- Weights.cpp - arguments that come from a checkpoint ----------------===//

#include "Weights.h"

#include "heddle/TensorIO/BlockScales.h"

#include <cstdio>
#include <set>

using namespace heddle;
using namespace heddle::run;

static void warnOfUnused(const Checkpoint &checkpoint, const std::set<std::string> &used) {
  std::vector<std::string> unused;
  for (const auto &[name, entry] : checkpoint.tensors())
    if (!used.count(name))
      unused.push_back(name);
  if (!unused.empty())
    std::fprintf(stderr, "heddle-run: warning: %s: no entry uses %zu of its %zu tensors: %s\n",
                 checkpoint.path().c_str(), unused.size(), checkpoint.tensors().size(),
                 nameList(unused, 3).c_str());
}

Result<std::optional<Checkpoint>> heddle::run::openWeights(const Module &module,
                                                           const Options &options) {
  std::set<std::string> used;
  for (const Entry &entry : module.description().entries)
    for (const Argument &argument : entry.args)
      if (argument.isWeight())
        used.insert(argument.name);
  std::string path = options.weights;
  if (path.empty() && module.description().weightsFile && !used.empty())
    path = module.folder() + "/" + *module.description().weightsFile;
  if (path.empty())
    return std::optional<Checkpoint>();
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return checkpoint.failure();
  warnOfUnused(*checkpoint, used);
  return std::optional<Checkpoint>(std::move(*checkpoint));
}

Status heddle::run::giveWeights(const Checkpoint &checkpoint, ArgumentSet &arguments) {
  std::vector<std::string> missing;
  for (const Argument &argument : arguments.entry().args) {
    if (!argument.isWeight() || arguments.isGiven(argument.name))
      continue;
    const Checkpoint::Entry *entry = checkpoint.find(argument.name);
    if (!entry) {
      missing.push_back(argument.name);
      continue;
    }
    std::string source = *entry->file + ": tensor '" + argument.name + "'";
    if (entry->tensor.dtype == DType::F8E4M3) {
      Result<Tensor> numbers = dequantize(checkpoint, argument.name, argument.dtype);
      if (!numbers)
        return numbers.failure();
      if (Status status = arguments.giveOwned(argument.name, std::move(*numbers), source); !status)
        return status;
      continue;
    }
    if (Status status = arguments.give(argument.name, entry->tensor, source); !status)
      return status;
  }
  if (missing.empty())
    return {};
  return Failure{checkpoint.path() + ": lacks " + std::to_string(missing.size()) +
                 " weights of entry '" + arguments.entry().name + "': " + nameList(missing)};
}
