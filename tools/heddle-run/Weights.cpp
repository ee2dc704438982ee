//===- Weights.cpp - arguments that come from a checkpoint ----------------===//

#include "Weights.h"

#include <cstdio>
#include <set>

using namespace heddle;
using namespace heddle::run;

/// The weight that an argument is. Symbolic extents are -1; what is put together has none.
static WeightSpec specOf(const Argument &argument) {
  WeightSpec weight{argument.name, argument.dtype, {}, argument.parts};
  for (const Dim &dim : argument.shape)
    weight.shape.push_back(dim.extent);
  return weight;
}

static void warnOfUnused(const Checkpoint &checkpoint, const Module &module) {
  std::set<std::string> used;
  for (const Entry &entry : module.description().entries)
    for (const Argument &argument : entry.args)
      if (argument.isWeight())
        for (std::string &name : storedNames(checkpoint, specOf(argument)))
          used.insert(std::move(name));
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
  bool hasWeights = false;
  for (const Entry &entry : module.description().entries)
    for (const Argument &argument : entry.args)
      hasWeights |= argument.isWeight();
  std::string path = options.weights;
  if (path.empty() && module.description().weightsFile && hasWeights)
    path = module.beside(*module.description().weightsFile);
  if (path.empty())
    return std::optional<Checkpoint>();
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return checkpoint.failure();
  warnOfUnused(*checkpoint, module);
  return std::optional<Checkpoint>(std::move(*checkpoint));
}

Status heddle::run::giveWeights(const Checkpoint &checkpoint, ArgumentSet &arguments, bool copied) {
  std::vector<std::string> missing;
  std::vector<const Argument *> wanted;
  for (const Argument &argument : arguments.entry().args) {
    if (!argument.isWeight() || arguments.isGiven(argument.name))
      continue;
    wanted.push_back(&argument);
    if (std::string name; storedNames(checkpoint, specOf(argument), &name).empty())
      missing.push_back(name);
  }
  if (!missing.empty())
    return Failure{checkpoint.path() + ": lacks " + std::to_string(missing.size()) +
                   " weights of entry '" + arguments.entry().name + "': " + nameList(missing)};
  for (const Argument *argument : wanted) {
    Result<LoadedWeight> loaded = loadWeight(checkpoint, specOf(*argument));
    if (!loaded)
      return loaded.failure();
    bool shared = loaded->isMapped() && !copied;
    if (loaded->isMapped() && copied) {
      Result<Tensor> copy = Tensor::copyOf(loaded->view);
      if (!copy)
        return Failure{loaded->source + ": " + copy.error()};
      loaded->owned = std::move(*copy);
    }
    if (Status status =
            shared ? arguments.give(argument->name, loaded->view, loaded->source)
                   : arguments.giveOwned(argument->name, std::move(loaded->owned), loaded->source);
        !status)
      return status;
  }
  return {};
}
