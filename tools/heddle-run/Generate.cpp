//===- Generate.cpp - greedy decoding with the entries prefill and decode -===//
//
// 1. prefill sees the whole prompt at start 0 and fills the caches; the last position's logits give
//    the first new token.
// 2. decode sees the newest token of each sequence at start L, L + 1, ...
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "Decoder.h"
#include "Progress.h"
#include "TensorFiles.h"
#include <chrono>
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
  Generator(const Module &module, const Options &options)
      : options(options), decoder(module, options, "--generate") {}
  Status run();

private:
  Status readPrompt();
  Status checkCapacity() const;
  Status takeBest(int64_t position);
  void print(double prefillSeconds, double decodeSeconds) const;

  const Options &options;
  Decoder decoder;
  Sequences sequences = {};
};

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

Status Generator::checkCapacity() const {
  for (const auto &[symbol, extent] : options.dims)
    if (symbol == "C" && extent < sequences.length - 1)
      return Failure{"--dim C: a cache of " + std::to_string(extent) +
                     " positions is too short, expected at least " +
                     std::to_string(sequences.length - 1) + " (prompt of " +
                     std::to_string(sequences.promptLength) + " and " +
                     std::to_string(options.generate) + " new tokens)"};
  return {};
}

/// Stores the best next tokens at `position`.
Status Generator::takeBest(int64_t position) {
  Result<std::vector<int64_t>> best = decoder.bestTokens();
  if (!best)
    return best.failure();
  for (int64_t b = 0; b < sequences.batch; ++b)
    sequences.set(b, position, (*best)[size_t(b)]);
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
  if (Status status = decoder.find(); !status)
    return status;
  if (Status status = readPrompt(); !status)
    return status;
  if (Status status = checkCapacity(); !status)
    return status;
  {
    Progress progress("loading");
    Decoder::Extents extents = {sequences.batch, sequences.promptLength, sequences.length,
                                options.generate > 1};
    if (Status status = decoder.prepare(extents, options.tokens); !status)
      return status;
  }
  auto tokenAt = [&](int64_t sequence, int64_t position) {
    return sequences.at(sequence, position);
  };
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  {
    Progress progress("running 'prefill'");
    if (Status status = decoder.prefill(tokenAt); !status)
      return status;
    if (Status status = takeBest(sequences.promptLength); !status)
      return status;
  }
  Clock::time_point middle = Clock::now();
  {
    Progress progress("running 'decode'");
    for (int64_t position = sequences.promptLength; position + 1 < sequences.length; ++position) {
      if (Status status = decoder.decode(position, tokenAt); !status)
        return status;
      if (Status status = takeBest(position + 1); !status)
        return status;
    }
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
