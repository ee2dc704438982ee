//===- TinyCheckpoint.cpp - made-up checkpoints that run ------------------===//

#include "TinyCheckpoint.h"

#include "Weights.h"

#include "heddle/Import/HuggingFaceConfig.h"
#include "heddle/Import/WeightTable.h"
#include "heddle/TensorIO/Safetensors.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace heddle::test {

/// Numbers that keep hidden states near 1: gains around 1, matrices by their width.
static Tensor randomWeight(const WeightDemand &demand, std::mt19937 &random) {
  Tensor tensor = std::move(*Tensor::zeros(DType::F32, demand.shape));
  bool isGain = demand.shape.size() == 1 && demand.name.find("norm") != std::string::npos;
  double width = demand.shape.size() > 1 ? double(demand.shape.back()) : 4;
  std::uniform_real_distribution<double> numbers(-1, 1);
  for (int64_t i = 0; i < tensor.count(); ++i)
    storeFromDouble(DType::F32, tensor.data(), size_t(i),
                    isGain ? 1 + 0.3 * numbers(random) : 1.7 / std::sqrt(width) * numbers(random));
  return tensor;
}

TinyCheckpoint::TinyCheckpoint(const std::string &name, const std::string &fields)
    : path(testing::TempDir() + "heddle-tiny-" + name) {
  std::string text = "{" + fields + "}";
  ImportMessages messages;
  std::optional<DecoderConfig> config = parseHuggingFaceConfig(text, messages);
  for (const ImportMessage &message : messages.messages())
    ADD_FAILURE() << name << ": " << message.text;
  if (!config)
    return;
  std::filesystem::create_directories(path);
  std::ofstream(path + "/config.json") << text;
  std::mt19937 random(1);
  for (const WeightDemand &demand : inParts(decoderDemands(*config)))
    tensors.emplace(demand.name, randomWeight(demand, random));
  write();
}

TinyCheckpoint::~TinyCheckpoint() {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

void TinyCheckpoint::write() const {
  TensorMap views;
  for (const auto &[name, tensor] : tensors)
    views.emplace(name, tensor.view());
  Status status = writeSafetensors(path + "/model.safetensors", views);
  EXPECT_TRUE(status) << status.error();
}

static goldens::ModuleLoader &loader() {
  static goldens::ModuleLoader shared;
  return shared;
}

std::unique_ptr<TinyDecoder> TinyDecoder::load(const std::string &folder,
                                               const HuggingFaceImportOptions &options,
                                               int64_t capacity) {
  goldens::DiagnosticText diagnostics(loader().context());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      importHuggingFace(&loader().context(), folder, options);
  if (!module) {
    ADD_FAILURE() << diagnostics.text();
    return nullptr;
  }
  goldens::LoadOptions load;
  load.variants = {"avx2"};
  Result<run::Module> loaded = loader().load(*module, load);
  Result<Checkpoint> opened = Checkpoint::open(folder);
  if (loaded && opened)
    return std::unique_ptr<TinyDecoder>(
        new TinyDecoder(std::move(*opened), std::move(*loaded), capacity));
  ADD_FAILURE() << (loaded ? opened.error() : loaded.error());
  return nullptr;
}

Tensor TinyDecoder::call(Caches &caches, const std::vector<std::vector<int64_t>> &tokens,
                         int64_t start, const std::vector<std::vector<bool>> &mask) {
  int64_t batch = int64_t(tokens.size()), count = int64_t(tokens.front().size());
  Result<const run::Entry *> entry = module.findEntry(count == 1 ? "decode" : "prefill");
  Tensor ids = std::move(*Tensor::zeros(DType::I64, {batch, count}));
  Tensor starts = std::move(*Tensor::zeros(DType::I32, {batch}));
  Tensor bits = std::move(*Tensor::zeros(DType::Bool, {batch, capacity}));
  for (int64_t b = 0; b < batch; ++b) {
    storeFromDouble(DType::I32, starts.data(), size_t(b), double(start));
    for (int64_t i = 0; i < count; ++i)
      storeFromDouble(DType::I64, ids.data(), size_t(b * count + i),
                      double(tokens[size_t(b)][size_t(i)]));
    for (int64_t j = 0; !mask.empty() && j < capacity; ++j)
      storeFromDouble(DType::Bool, bits.data(), size_t(b * capacity + j),
                      mask[size_t(b)][size_t(j)]);
  }
  auto arguments = std::make_unique<run::ArgumentSet>(**entry);
  std::string failure;
  auto check = [&](Status status) {
    if (!status && failure.empty())
      failure = status.error();
  };
  check(arguments->giveOwned("tokens", std::move(ids), "tokens"));
  check(arguments->giveOwned("start", std::move(starts), "start"));
  if (!mask.empty())
    check(arguments->giveOwned("mask", std::move(bits), "mask"));
  check(run::giveWeights(checkpoint, *arguments));
  for (const run::Argument &argument : (*entry)->args)
    if (argument.isCache() && caches)
      check(arguments->share(argument.name, *caches));
  if (!caches && (*entry)->find("mask") == nullptr)
    check(arguments->setDim("C", capacity, "capacity"));
  if (failure.empty())
    check(arguments->allocate(nullptr));
  if (failure.empty())
    check(arguments->call(module, {2}));
  if (!failure.empty()) {
    ADD_FAILURE() << failure;
    return Tensor();
  }
  Tensor logits = std::move(*Tensor::copyOf(arguments->view("logits")));
  if (!caches)
    caches = std::move(arguments);
  return logits;
}

std::vector<double> rowsOf(const Tensor &logits, int64_t batch, int64_t first, int64_t count) {
  std::vector<double> numbers;
  if (logits.shape().size() != 3)
    return numbers;
  int64_t rows = logits.shape()[1], width = logits.shape()[2];
  for (int64_t i = 0; i < count * width; ++i)
    numbers.push_back(
        loadAsDouble(logits.dtype(), logits.data(), size_t((batch * rows + first) * width + i)));
  return numbers;
}

double relativeError(const std::vector<double> &actual, const std::vector<double> &expected) {
  double difference = 0, size = 0;
  if (actual.empty() || actual.size() != expected.size())
    return INFINITY;
  for (size_t i = 0; i < actual.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  double error = std::sqrt(difference / size);
  return std::isfinite(error) ? error : INFINITY;
}

} // namespace heddle::test
