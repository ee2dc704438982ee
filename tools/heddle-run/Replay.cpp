//===- Replay.cpp - a stored run of a decoder, repeated and compared ------===//

#include "Replay.h"
#include "Decoder.h"
#include "Progress.h"
#include "TensorFiles.h"
#include "Verify.h"
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace heddle;
using namespace heddle::run;

namespace {

class Replayer {
public:
  Replayer(const Module &module, const Options &options)
      : options(options), decoder(module, options, "--replay") {}
  Status run();

private:
  Status readStored();
  Status checkStored(const char *name, TensorView &tensor, int64_t rows);
  Status runEntries();
  Status keepBest();
  void keepLogits(int64_t step);
  void printTimes() const;
  void printTokens() const;
  Status verify() const;

  int64_t tokenAt(int64_t sequence, int64_t position) const {
    return loadAsInteger(tokens.dtype, tokens.data, size_t(sequence * tokens.shape[1] + position));
  }

  const Options &options;
  Decoder decoder;
  TensorReader reader;
  TensorView tokens, storedPrefill, storedDecode;
  int64_t batch = 0, promptLength = 0, steps = 0;
  Tensor prefillLogits, decodeLogits;
  std::vector<std::vector<int64_t>> best; // [step][sequence]
  double prefillSeconds = 0, decodeSeconds = 0;
};

/// Reads one tensor of logits, [batch, rows, vocabulary].
Status Replayer::checkStored(const char *name, TensorView &tensor, int64_t rows) {
  Result<TensorView> found = reader.read({name, options.replay, name});
  if (!found)
    return found.failure();
  tensor = *found;
  bool fits = isFloat(tensor.dtype) && tensor.shape.size() == 3 && tensor.shape[0] == batch &&
              tensor.shape[1] == rows;
  if (!fits)
    return Failure{options.replay + ": tensor '" + name + "' is " +
                   std::string(dtypeName(tensor.dtype)) + " " + shapeText(tensor.shape) +
                   ", expected floats [" + std::to_string(batch) + ", " + std::to_string(rows) +
                   ", V]"};
  return {};
}

Status Replayer::readStored() {
  Result<TensorView> found = reader.read({"tokens", options.replay, "tokens"});
  if (!found)
    return found.failure();
  tokens = *found;
  if (isFloat(tokens.dtype) || tokens.shape.size() != 2 || tokens.bytes == 0)
    return Failure{options.replay + ": tensor 'tokens' is " + std::string(dtypeName(tokens.dtype)) +
                   " " + shapeText(tokens.shape) +
                   ", expected integers [batch, length] with at least one of each"};
  Result<TensorView> length = reader.read({"prompt_length", options.replay, "prompt_length"});
  if (!length)
    return length.failure();
  if (isFloat(length->dtype) || length->count() != 1)
    return Failure{options.replay + ": tensor 'prompt_length' is not one integer"};
  batch = tokens.shape[0];
  promptLength = loadAsInteger(length->dtype, length->data, 0);
  steps = tokens.shape[1] - promptLength;
  if (promptLength < 1 || steps < 0)
    return Failure{options.replay + ": prompt_length is " + std::to_string(promptLength) +
                   ", but there are " + std::to_string(tokens.shape[1]) + " tokens"};
  if (Status status = checkStored("logits_prefill", storedPrefill, promptLength); !status)
    return status;
  return steps ? checkStored("logits_decode", storedDecode, steps) : Status();
}

Status Replayer::keepBest() {
  Result<std::vector<int64_t>> next = decoder.bestTokens();
  if (!next)
    return next.failure();
  best.push_back(std::move(*next));
  return {};
}

/// Copies the logits of one step into their place in [batch, steps, vocabulary].
void Replayer::keepLogits(int64_t step) {
  TensorView row = decoder.logits();
  size_t bytes = row.bytes / size_t(batch);
  for (int64_t b = 0; b < batch; ++b)
    std::memcpy(decodeLogits.data() + size_t(b * steps + step) * bytes,
                row.data + size_t(b) * bytes, bytes);
}

Status Replayer::runEntries() {
  using Clock = std::chrono::steady_clock;
  auto secondsSince = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  auto feedFrom = [this](int64_t sequence, int64_t position) {
    return tokenAt(sequence, position);
  };
  Clock::time_point begin = Clock::now();
  if (Status status = decoder.prefill(feedFrom); !status)
    return status;
  prefillSeconds = secondsSince(begin);
  TensorView logits = decoder.logits();
  Result<Tensor> copy = Tensor::copyOf(logits);
  if (!copy)
    return copy.failure();
  prefillLogits = std::move(*copy);
  if (Status status = keepBest(); !status)
    return status;

  Result<Tensor> rows = Tensor::zeros(logits.dtype, {batch, steps, logits.shape[2]});
  if (!rows)
    return rows.failure();
  decodeLogits = std::move(*rows);
  for (int64_t step = 0; step < steps; ++step) {
    begin = Clock::now();
    if (Status status = decoder.decode(promptLength + step, feedFrom); !status)
      return status;
    decodeSeconds += secondsSince(begin);
    keepLogits(step);
    if (Status status = keepBest(); !status)
      return status;
  }
  return {};
}

void Replayer::printTimes() const {
  std::printf("prefill: %lld x %lld tokens in %.3g ms\n", static_cast<long long>(batch),
              static_cast<long long>(promptLength), 1e3 * prefillSeconds);
  if (steps)
    std::printf("decode: %lld steps in %.3g ms, %.3g ms a step\n", static_cast<long long>(steps),
                1e3 * decodeSeconds, 1e3 * decodeSeconds / double(steps));
}

/// The best token after each stored position, beside the stored one where they differ.
void Replayer::printTokens() const {
  for (int64_t b = 0; b < batch; ++b) {
    int64_t different = 0;
    std::printf("greedy tokens of sequence %lld:", static_cast<long long>(b));
    for (int64_t step = 0; step < steps; ++step) {
      int64_t token = best[size_t(step)][size_t(b)], stored = tokenAt(b, promptLength + step);
      std::printf(" %lld", static_cast<long long>(token));
      if (token == stored)
        continue;
      std::printf(" (stored: %lld)", static_cast<long long>(stored));
      ++different;
    }
    if (different)
      std::printf(", %lld differ from the stored ones\n", static_cast<long long>(different));
    else
      std::printf(", as stored\n");
  }
}

Status Replayer::verify() const {
  std::vector<std::string> failed;
  struct {
    const char *name;
    TensorView actual, expected;
  } outputs[] = {{"logits_prefill", prefillLogits.view(), storedPrefill},
                 {"logits_decode", decodeLogits.view(), storedDecode}};
  for (const auto &output : outputs) {
    if (output.actual.bytes == 0)
      continue;
    if (output.actual.shape != output.expected.shape)
      return Failure{options.replay + ": tensor '" + output.name + "' has shape " +
                     shapeText(output.expected.shape) + ", the module gives " +
                     shapeText(output.actual.shape)};
    Verdict verdict =
        judge(output.name, compare(output.actual, output.expected), options.rtol, options.atol);
    std::printf("%s\n", verdict.text.c_str());
    if (!verdict.passed)
      failed.push_back(output.name);
  }
  if (failed.empty())
    return {};
  return Failure{"verification failed: " + nameList(failed)};
}

Status Replayer::run() {
  if (Status status = decoder.find(); !status)
    return status;
  if (Status status = readStored(); !status)
    return status;
  {
    Progress progress("loading");
    Decoder::Extents extents = {batch, promptLength, promptLength + steps, steps > 0};
    if (Status status = decoder.prepare(extents, options.replay); !status)
      return status;
  }
  {
    Progress progress("running");
    if (Status status = runEntries(); !status)
      return status;
  }
  printTimes();
  printTokens();
  return verify();
}

} // namespace

Status heddle::run::replay(const Module &module, const Options &options) {
  return Replayer(module, options).run();
}
