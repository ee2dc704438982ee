//===- Decoder.cpp - the entries prefill and decode together --------------===//

#include "Decoder.h"
#include "RandomData.h"
#include "Weights.h"
#include <algorithm>
#include <cmath>

using namespace heddle;
using namespace heddle::run;

Result<const Entry *> Decoder::findEntry(const char *name) const {
  const Entry *entry = module.description().find(name);
  if (!entry)
    return Failure{module.path() + ": " + option + " needs the entries 'prefill' and 'decode', " +
                   "but '" + name + "' is missing"};
  struct {
    const char *name;
    size_t rank;
    bool isFloat;
  } needed[] = {{"tokens", 2, false}, {"start", 1, false}, {"logits", 3, true}};
  for (const auto &need : needed) {
    const Argument *found = entry->find(need.name);
    if (!found || found->shape.size() != need.rank || isFloat(found->dtype) != need.isFloat)
      return Failure{module.path() + ": " + option + " needs an argument '" + need.name +
                     "' of entry '" + name + "': integers tokens [B, L] and start [B], floats " +
                     "logits [B, L, V]"};
  }
  return entry;
}

Status Decoder::find() {
  Result<const Entry *> prefillEntry = findEntry("prefill");
  if (!prefillEntry)
    return prefillEntry.failure();
  Result<const Entry *> decodeEntry = findEntry("decode");
  if (!decodeEntry)
    return decodeEntry.failure();
  prefillArguments.emplace(**prefillEntry);
  decodeArguments.emplace(**decodeEntry);
  return {};
}

Status Decoder::prepare(const Extents &given, const std::string &source) {
  extents = given;
  Result<std::optional<Checkpoint>> checkpoint = openWeights(module, options);
  if (!checkpoint)
    return checkpoint.failure();
  weights = std::move(*checkpoint);
  if (Status status = prepareEntry(*prefillArguments, extents.promptLength, source); !status)
    return status;
  return extents.decodes ? prepareEntry(*decodeArguments, 1, source) : Status();
}

/// Fixes all shapes of an entry and allocates its arguments; decode takes prefill's caches and
/// weights.
Status Decoder::prepareEntry(ArgumentSet &arguments, int64_t length, const std::string &source) {
  const Entry &entry = arguments.entry();
  bool isFirst = &arguments == &*prefillArguments;
  auto hasSymbol = [&](const std::string &symbol) {
    return std::find(entry.symbols.begin(), entry.symbols.end(), symbol) != entry.symbols.end();
  };
  bool capacityGiven = false;
  for (const auto &[symbol, extent] : options.dims) {
    capacityGiven |= symbol == "C";
    // decode need not have all dimensions of prefill, which has checked the names.
    if (!isFirst && !hasSymbol(symbol))
      continue;
    if (Status status = arguments.setDim(symbol, extent, "--dim " + symbol); !status)
      return status;
  }
  for (const char *name : {"tokens", "start"}) {
    std::vector<int64_t> shape = {extents.batch, length};
    shape.resize(entry.find(name)->shape.size());
    Result<Tensor> tensor = Tensor::zeros(entry.find(name)->dtype, shape);
    if (!tensor)
      return tensor.failure();
    // Unlike an input from a file, this one is written between calls: the set keeps a copy.
    if (Status status = arguments.giveOwned(name, std::move(*tensor), source); !status)
      return status;
  }
  if (hasSymbol("C") && !capacityGiven)
    if (Status status = arguments.setDim("C", extents.capacity, option); !status)
      return status;
  for (const Argument &argument : entry.args) {
    bool shared = argument.isCache() || argument.isWeight();
    if (!isFirst && shared && prefillArguments->entry().find(argument.name))
      if (Status status = arguments.share(argument.name, *prefillArguments); !status)
        return status;
  }
  if (weights)
    if (Status status = giveWeights(*weights, arguments); !status)
      return status;
  return arguments.allocate(randomFiller(options.seed, module.description().vocabularySize));
}

Status Decoder::feed(ArgumentSet &arguments, int64_t begin, const TokenAt &tokenAt) {
  TensorView tokens = arguments.view("tokens");
  DType startType = arguments.view("start").dtype;
  std::byte *tokenData = arguments.mutableData("tokens");
  std::byte *startData = arguments.mutableData("start");
  int64_t length = tokens.shape[1];
  for (int64_t b = 0; b < extents.batch; ++b) {
    storeFromDouble(startType, startData, size_t(b), double(begin));
    for (int64_t t = 0; t < length; ++t)
      storeFromDouble(tokens.dtype, tokenData, size_t(b * length + t),
                      double(tokenAt(b, begin + t)));
  }
  lastCall = &arguments;
  lastPosition = begin + length - 1;
  return arguments.call(module, {options.threads, options.target});
}

Result<std::vector<int64_t>> Decoder::bestTokens() const {
  TensorView values = logits();
  int64_t length = values.shape[1], vocabulary = values.shape[2];
  if (vocabulary == 0)
    return Failure{module.path() + ": the vocabulary is empty"};
  std::vector<int64_t> tokens;
  for (int64_t b = 0; b < extents.batch; ++b) {
    size_t row = size_t((b * length + length - 1) * vocabulary);
    int64_t best = 0;
    double largest = -INFINITY;
    for (int64_t v = 0; v < vocabulary; ++v) {
      double value = loadAsDouble(values.dtype, values.data, row + size_t(v));
      if (std::isnan(value))
        return Failure{"logits of sequence " + std::to_string(b) + " at position " +
                       std::to_string(lastPosition) + " contain NaN (token " + std::to_string(v) +
                       ")"};
      if (value > largest) {
        best = v;
        largest = value;
      }
    }
    tokens.push_back(best);
  }
  return tokens;
}
