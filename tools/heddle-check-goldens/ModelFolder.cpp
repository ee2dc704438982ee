//===- ModelFolder.cpp - checks a whole decoder against its checkpoint ----===//

#include "Checks.h"

#include "ArgumentSet.h"
#include "Tolerance.h"
#include "Weights.h"

#include "heddle/Import/HuggingFace.h"

#include <cmath>
#include <cstring>

namespace heddle::goldens {
namespace {

class ModelFolder {
public:
  ModelFolder(const std::string &folder, Session &session, Report &report)
      : folder(folder), session(session), report(report) {}

  Status open();
  Status check(const LoadOptions &options);

private:
  Result<Tensor> callEntry(const run::Module &module, const char *name, int64_t start,
                           int64_t count, std::unique_ptr<run::ArgumentSet> &caches);
  Status runModel(const run::Module &module, const Tolerance &tolerance);
  void checkGreedy(const std::string &what, const TensorView &logits, int64_t row, int64_t position,
                   double limit);

  const std::string &folder;
  Session &session;
  Report &report;
  std::optional<SafetensorsFile> expected;
  std::optional<Checkpoint> checkpoint;
  const TensorView *tokens = nullptr, *prefillLogits = nullptr, *decodeLogits = nullptr;
  int64_t batch = 0, prompt = 0, steps = 0, width = 0;
};

} // namespace

Status ModelFolder::open() {
  Result<SafetensorsFile> file = SafetensorsFile::open(folder + "/expected.safetensors");
  if (!file)
    return file.failure();
  expected = std::move(*file);
  auto find = [&](const char *name, DType type, size_t rank) -> const TensorView * {
    const TensorView *tensor = expected->find(name);
    return tensor && tensor->dtype == type && tensor->shape.size() == rank ? tensor : nullptr;
  };
  tokens = find("tokens", DType::I64, 2);
  prefillLogits = find("logits_prefill", DType::F32, 3);
  decodeLogits = find("logits_decode", DType::F32, 3);
  const TensorView *length = expected->find("prompt_length");
  if (!tokens || !prefillLogits || !decodeLogits || !length || length->count() != 1)
    return Failure{"expected.safetensors needs tokens i64 [B, L + n], prompt_length [1], "
                   "logits_prefill f32 [B, L, V] and logits_decode f32 [B, n, V]"};
  prompt = loadAsInteger(length->dtype, length->data, 0);
  batch = tokens->shape[0];
  steps = decodeLogits->shape[1];
  width = tokens->shape[1];
  if (prompt < 1 || prompt + steps > width || prefillLogits->shape[1] != prompt)
    return Failure{"prompt_length " + std::to_string(prompt) +
                   " does not fit the shapes of "
                   "tokens and logits_prefill"};
  // expected.safetensors lies beside the weights, so the checkpoint is opened as the importer does.
  Result<Checkpoint> opened = Checkpoint::open(folder);
  if (!opened)
    return opened.failure();
  checkpoint = std::move(*opened);
  return {};
}

/// Calls an entry with `count` stored tokens from `start` on and gives its logits.
Result<Tensor> ModelFolder::callEntry(const run::Module &module, const char *name, int64_t start,
                                      int64_t count, std::unique_ptr<run::ArgumentSet> &caches) {
  Result<const run::Entry *> entry = module.findEntry(name);
  if (!entry)
    return entry.failure();
  auto arguments = std::make_unique<run::ArgumentSet>(**entry);
  Tensor part = std::move(*Tensor::zeros(DType::I64, {batch, count}));
  Tensor starts = std::move(*Tensor::zeros(DType::I32, {batch}));
  for (int64_t b = 0; b < batch; ++b) {
    storeFromDouble(DType::I32, starts.data(), size_t(b), double(start));
    std::memcpy(part.data() + b * count * 8, tokens->data + (b * width + start) * 8,
                size_t(count) * 8);
  }
  if (Status status = arguments->giveOwned("tokens", std::move(part), "tokens"); !status)
    return status.failure();
  if (Status status = arguments->giveOwned("start", std::move(starts), "start"); !status)
    return status.failure();
  // Kernels of GPUs want the addresses that an allocation has; files are mapped at any.
  bool copied = llvm::StringRef(session.target).starts_with("sim-");
  if (Status status = run::giveWeights(*checkpoint, *arguments, copied); !status)
    return status.failure();
  for (const run::Argument &argument : (*entry)->args)
    if (argument.isCache())
      if (Status status = caches ? arguments->share(argument.name, *caches)
                                 : arguments->setDim("C", width + 3, "capacity");
          !status)
        return status.failure();
  if (Status status = arguments->allocate(nullptr); !status)
    return status.failure();
  if (Status status = arguments->call(module, {session.threads}); !status)
    return status.failure();
  Result<Tensor> logits = Tensor::copyOf(arguments->view("logits"));
  if (!caches)
    caches = std::move(arguments);
  return logits;
}

/// The largest logit of a row must be the token at `position`, unless two are so close that
/// rounding decides.
void ModelFolder::checkGreedy(const std::string &what, const TensorView &logits, int64_t row,
                              int64_t position, double limit) {
  int64_t vocabulary = logits.shape[2], rowCount = logits.shape[1];
  for (int64_t b = 0; b < batch; ++b) {
    double largest = -INFINITY, second = -INFINITY;
    int64_t chosen = 0;
    for (int64_t i = 0; i < vocabulary; ++i) {
      double logit =
          loadAsDouble(logits.dtype, logits.data, size_t((b * rowCount + row) * vocabulary + i));
      if (logit > largest) {
        second = largest;
        largest = logit;
        chosen = i;
      } else if (logit > second) {
        second = logit;
      }
    }
    int64_t stored = loadAsInteger(DType::I64, tokens->data, size_t(b * width + position));
    std::string where = what + " sequence " + std::to_string(b);
    if (largest - second > std::max(1e-4, limit * std::abs(largest)))
      report.check(where, chosen == stored,
                   "token " + std::to_string(chosen) + ", expected " + std::to_string(stored));
    else
      report.skip(where, "the two largest logits are too close");
  }
}

Status ModelFolder::runModel(const run::Module &module, const Tolerance &tolerance) {
  double limit = tolerance.limit(session.type);
  std::unique_ptr<run::ArgumentSet> caches;
  Result<Tensor> logits = callEntry(module, "prefill", 0, prompt, caches);
  if (!logits)
    return logits.failure();
  report.compare("logits_prefill", logits->view(), *prefillLogits, limit);
  checkGreedy("greedy token 0", logits->view(), prompt - 1, prompt, limit);

  Tensor decoded = std::move(*Tensor::zeros(DType::F32, decodeLogits->shape));
  size_t rowBytes = size_t(decodeLogits->shape[2]) * 4;
  for (int64_t step = 0; step < steps; ++step) {
    Result<Tensor> row = callEntry(module, "decode", prompt + step, 1, caches);
    if (!row)
      return row.failure();
    for (int64_t b = 0; b < batch; ++b)
      std::memcpy(decoded.data() + size_t(b * steps + step) * rowBytes,
                  row->data() + size_t(b) * rowBytes, rowBytes);
    if (prompt + step + 1 < width)
      checkGreedy("greedy token " + std::to_string(step + 1), row->view(), 0, prompt + step + 1,
                  limit);
  }
  report.compare("logits_decode", decoded.view(), *decodeLogits, limit);
  return {};
}

Status ModelFolder::check(const LoadOptions &options) {
  HuggingFaceImportOptions import;
  import.activations = session.type;
  DiagnosticText diagnostics(session.loader.context());
  mlir::OwningOpRef<mlir::ModuleOp> imported =
      importHuggingFace(&session.loader.context(), folder, import);
  if (!imported)
    return Failure{"can't interpret: " + diagnostics.text()};
  auto model = (*imported)->getAttrOfType<mlir::DictionaryAttr>("heddle.model");
  Tolerance tolerance =
      Tolerance::ofDecoder(model ? llvm::cast<mlir::IntegerAttr>(model.get("layers")).getInt() : 1);
  Result<run::Module> module = session.load(*imported, options);
  if (!module)
    return module.failure();
  return runModel(*module, tolerance);
}

void checkModelFolder(const std::string &folder, Session &session, Report &report) {
  ModelFolder model(folder, session, report);
  if (Status status = model.open(); !status)
    return report.fail("folder", "can't interpret: " + status.error());
  session.forEachVariant(report, [&](const LoadOptions &options) { return model.check(options); });
}

} // namespace heddle::goldens
