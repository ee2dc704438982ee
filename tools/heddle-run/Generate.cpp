//===- Generate.cpp - greedy decoding with the entries prefill and decode -===//
//
// 1. prefill sees the whole prompt at start 0 and fills the caches; the last position's logits give
//    the first new token.
// 2. decode sees one token a sequence at start L, L + 1, ... with the same caches and weights.
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "Progress.h"
#include "RandomData.h"
#include "TensorFiles.h"
#include "Weights.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

namespace {

/// The sequences so far, [batch, prompt length + new tokens].
struct Sequences {
  int64_t batch, promptLength, length;
  Tensor tokens; // i64
  int64_t at(int64_t sequence, int64_t position) const {
    return loadAsInteger(DType::I64, tokens.data(), size_t(sequence * length + position));
  }
  void set(int64_t sequence, int64_t position, int64_t token) {
    reinterpret_cast<int64_t *>(tokens.data())[sequence * length + position] = token;
  }
};

class Generator {
public:
  Generator(const Module &module, const Options &options) : module(module), options(options) {}
  Status run();

private:
  Result<const Entry *> findDecoderEntry(const char *name) const;
  Status readPrompt();
  Status prepare(ArgumentSet &arguments, int64_t length, ArgumentSet *caches);
  Status step(ArgumentSet &arguments, int64_t begin, int64_t length);
  Status takeBest(const ArgumentSet &arguments, int64_t position);
  void print(double prefillSeconds, double decodeSeconds) const;

  const Module &module;
  const Options &options;
  Sequences sequences = {};
  std::optional<Checkpoint> weights;
};

Result<const Entry *> Generator::findDecoderEntry(const char *name) const {
  const Entry *entry = module.description().find(name);
  if (!entry)
    return Failure{module.path() + ": --generate needs the entries 'prefill' and 'decode', but '" +
                   name + "' is missing"};
  for (const char *argument : {"tokens", "start", "logits"}) {
    const Argument *found = entry->find(argument);
    bool fits = found && found->shape.size() == (argument[0] == 's'   ? 1u
                                                 : argument[0] == 't' ? 2u
                                                                      : 3u);
    if (!fits || isFloat(found->dtype) != (argument[0] == 'l'))
      return Failure{module.path() + ": --generate needs an argument '" + argument +
                     "' of entry '" + name + "': integers tokens [B, L] and start [B], floats " +
                     "logits [B, L, V]"};
  }
  return entry;
}

Status Generator::readPrompt() {
  TensorOption option = parseTensorPath(options.tokens);
  option.name = "tokens";
  TensorReader reader;
  Result<TensorView> prompt = reader.read(option);
  if (!prompt)
    return prompt.failure();
  if (isFloat(prompt->dtype) || prompt->shape.size() != 2 || prompt->bytes == 0)
    return Failure{options.tokens + ": the prompt is " + std::string(dtypeName(prompt->dtype)) +
                   " " + shapeText(prompt->shape) +
                   ", expected integers [batch, length] with at least one of each"};
  sequences.batch = prompt->shape[0];
  sequences.promptLength = prompt->shape[1];
  sequences.length = sequences.promptLength + options.generate;
  Result<Tensor> tokens = Tensor::zeros(DType::I64, {sequences.batch, sequences.length});
  if (!tokens)
    return tokens.failure();
  sequences.tokens = std::move(*tokens);
  for (int64_t b = 0; b < sequences.batch; ++b)
    for (int64_t t = 0; t < sequences.promptLength; ++t)
      sequences.set(
          b, t, loadAsInteger(prompt->dtype, prompt->data, size_t(b * sequences.promptLength + t)));
  return {};
}

/// Fixes all shapes of an entry and allocates its arguments, sharing caches and weights.
Status Generator::prepare(ArgumentSet &arguments, int64_t length, ArgumentSet *caches) {
  const Entry &entry = arguments.entry();
  auto hasSymbol = [&](const std::string &symbol) {
    return std::find(entry.symbols.begin(), entry.symbols.end(), symbol) != entry.symbols.end();
  };
  bool capacityGiven = false;
  for (const auto &[symbol, extent] : options.dims) {
    capacityGiven |= symbol == "C";
    // decode need not have all dimensions of prefill, which has checked the names.
    if (caches && !hasSymbol(symbol))
      continue;
    if (Status status = arguments.setDim(symbol, extent, "--dim " + symbol); !status)
      return status;
  }
  for (const char *name : {"tokens", "start"}) {
    std::vector<int64_t> shape = {sequences.batch, length};
    shape.resize(entry.find(name)->shape.size());
    Result<Tensor> tensor = Tensor::zeros(entry.find(name)->dtype, shape);
    if (!tensor)
      return tensor.failure();
    // Unlike an input from a file, this one is written between calls: the set keeps a copy.
    if (Status status = arguments.giveOwned(name, std::move(*tensor), options.tokens); !status)
      return status;
  }
  if (hasSymbol("C") && !capacityGiven)
    if (Status status = arguments.setDim("C", sequences.length, "--generate"); !status)
      return status;
  for (const Argument &argument : entry.args) {
    bool shared = argument.isCache() || argument.isWeight();
    if (caches && shared && caches->entry().find(argument.name))
      if (Status status = arguments.share(argument.name, *caches); !status)
        return status;
  }
  if (weights)
    if (Status status = giveWeights(*weights, arguments); !status)
      return status;
  return arguments.allocate(randomFiller(options.seed, module.description().vocabularySize));
}

/// Feeds the tokens [begin, begin + length) and keeps the best next one.
Status Generator::step(ArgumentSet &arguments, int64_t begin, int64_t length) {
  std::byte *tokens = arguments.mutableData("tokens");
  std::byte *start = arguments.mutableData("start");
  DType tokenType = arguments.entry().find("tokens")->dtype;
  DType startType = arguments.entry().find("start")->dtype;
  for (int64_t b = 0; b < sequences.batch; ++b) {
    storeFromDouble(startType, start, size_t(b), double(begin));
    for (int64_t t = 0; t < length; ++t)
      storeFromDouble(tokenType, tokens, size_t(b * length + t),
                      double(sequences.at(b, begin + t)));
  }
  if (Status status = arguments.call(module, options.threads); !status)
    return status;
  return takeBest(arguments, begin + length);
}

/// Stores the token with the largest logit, the lowest number among equals, at `position`.
Status Generator::takeBest(const ArgumentSet &arguments, int64_t position) {
  TensorView logits = arguments.view("logits");
  int64_t length = logits.shape[1], vocabulary = logits.shape[2];
  for (int64_t b = 0; b < sequences.batch; ++b) {
    size_t row = size_t((b * length + length - 1) * vocabulary);
    int64_t best = -1;
    double largest = -INFINITY;
    for (int64_t v = 0; v < vocabulary; ++v) {
      double value = loadAsDouble(logits.dtype, logits.data, row + size_t(v));
      if (std::isnan(value))
        return Failure{"logits of sequence " + std::to_string(b) + " at position " +
                       std::to_string(position - 1) + " contain NaN (token " + std::to_string(v) +
                       ")"};
      if (best < 0 || value > largest) {
        best = v;
        largest = value;
      }
    }
    if (best < 0)
      return Failure{module.path() + ": the vocabulary is empty"};
    sequences.set(b, position, best);
  }
  return {};
}

void Generator::print(double prefillSeconds, double decodeSeconds) const {
  for (int64_t b = 0; b < sequences.batch; ++b) {
    for (int64_t t = sequences.promptLength; t < sequences.length; ++t)
      std::printf("%s%lld", t > sequences.promptLength ? " " : "",
                  static_cast<long long>(sequences.at(b, t)));
    std::printf("\n");
  }
  int64_t decoded = sequences.batch * (options.generate - 1);
  std::printf("prefill %.6g ms for %lld tokens\n", 1e3 * prefillSeconds,
              static_cast<long long>(sequences.batch * sequences.promptLength));
  if (decoded > 0)
    std::printf("decode %.6g tokens/s\n", double(decoded) / decodeSeconds);
}

Status Generator::run() {
  TensorWriter writer;
  for (const TensorOption &output : options.outputs)
    if (Status status = writer.check(output, DType::I64); !status)
      return status;
  Result<const Entry *> prefillEntry = findDecoderEntry("prefill");
  if (!prefillEntry)
    return prefillEntry.failure();
  Result<const Entry *> decodeEntry = findDecoderEntry("decode");
  if (!decodeEntry)
    return decodeEntry.failure();
  if (Status status = readPrompt(); !status)
    return status;
  for (const auto &[symbol, extent] : options.dims)
    if (symbol == "C" && extent < sequences.length - 1)
      return Failure{"--dim C: a cache of " + std::to_string(extent) +
                     " positions is too short, expected at least " +
                     std::to_string(sequences.length - 1) + " (prompt of " +
                     std::to_string(sequences.promptLength) + " and " +
                     std::to_string(options.generate) + " new tokens)"};

  ArgumentSet prefill(**prefillEntry), decode(**decodeEntry);
  {
    Progress progress("loading");
    Result<std::optional<Checkpoint>> checkpoint = openWeights(module, options);
    if (!checkpoint)
      return checkpoint.failure();
    weights = std::move(*checkpoint);
    if (Status status = prepare(prefill, sequences.promptLength, nullptr); !status)
      return status;
    if (options.generate > 1)
      if (Status status = prepare(decode, 1, &prefill); !status)
        return status;
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  {
    Progress progress("running 'prefill'");
    if (Status status = step(prefill, 0, sequences.promptLength); !status)
      return status;
  }
  Clock::time_point middle = Clock::now();
  {
    Progress progress("running 'decode'");
    for (int64_t position = sequences.promptLength; position + 1 < sequences.length; ++position)
      if (Status status = step(decode, position, 1); !status)
        return status;
  }
  std::chrono::duration<double> prefillTime = middle - begin, decodeTime = Clock::now() - middle;
  for (const TensorOption &output : options.outputs)
    writer.add(output, sequences.tokens.view());
  if (Status status = writer.writeAll(); !status)
    return status;
  print(prefillTime.count(), decodeTime.count());
  return {};
}

} // namespace

Status heddle::run::generate(const Module &module, const Options &options) {
  return Generator(module, options).run();
}
