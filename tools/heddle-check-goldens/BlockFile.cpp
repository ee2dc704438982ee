//===- BlockFile.cpp - checks one or more Transformer blocks --------------===//
//
// Every layer of the file is imported as a block and run up to three ways: all
// rows in one call; the prompt, then one row at a time, if there are any; the
// prompt in chunks, then one row at a time, unless `chunks` is null. Layer N + 1 reads what layer N gave. The caches are longer
// than the sequence; the rows behind it hold NaN and must stay as they are.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "ArgumentSet.h"
#include "RopeTable.h"
#include "Tokens.h"
#include "Tolerance.h"

#include "heddle/Import/HuggingFace.h"

#include <cstring>
#include <deque>

using nlohmann::json;

namespace heddle::goldens {
namespace {

/// The lengths of consecutive calls.
struct Schedule {
  std::string name;
  std::vector<int64_t> calls;
};

class BlockFile {
public:
  BlockFile(const SafetensorsFile &file, Session &session, Report &report)
      : file(file), session(session), report(report) {}

  void check();

private:
  Status readMetadata();
  Status readTensors();
  Status checkLayers(const LoadOptions &options);
  Status checkLayer(int64_t layer, const LoadOptions &options);
  Status runSchedule(const run::Module &module, const Schedule &schedule, int64_t layer,
                     Tensor &output);
  Status giveArguments(run::ArgumentSet &arguments, const Tensor &rows, int64_t start);
  void compareOutputs(int64_t layer, const std::string &schedule, const Tensor &output,
                      const Tensor &attention, const run::ArgumentSet &caches);
  void compareCache(const std::string &what, const TensorView &cache, const TensorView &expected);
  void checkRotaryTable(mlir::ModuleOp module, int64_t layer);

  const SafetensorsFile &file;
  Session &session;
  Report &report;
  std::optional<Tolerance> tolerance;
  std::string config;
  int64_t layers = 0, batch = 0, rows = 0, width = 0;
  std::vector<Schedule> schedules;
  std::vector<WeightInfo> weightInfos;
  std::map<std::string, Tensor> weights;
  Tensor input; // of the layer being checked
};

} // namespace

Status BlockFile::readMetadata() {
  auto integer = [&](const char *key, int64_t &value) -> Status {
    Result<json> read = metadataJson(file, key);
    if (!read)
      return read.failure();
    if (!read->is_number_integer() || read->get<int64_t>() < 0)
      return Failure{std::string("metadata '") + key + "' is no count"};
    value = read->get<int64_t>();
    return {};
  };
  int64_t prefill = 0, decode = 0;
  for (auto [key, value] :
       {std::pair("batch", &batch), std::pair("prefill", &prefill), std::pair("decode", &decode)})
    if (Status status = integer(key, *value); !status)
      return status;
  Result<json> chunks = metadataJson(file, "chunks"), layerList = metadataJson(file, "layers");
  Result<json> parsedConfig = metadataJson(file, "hf_config");
  for (const Result<json> *part : {&chunks, &layerList, &parsedConfig})
    if (!*part)
      return part->failure();
  Result<Tolerance> limits = Tolerance::ofBlocks(metadataText(file, "tolerance"));
  if (!limits)
    return limits.failure();
  tolerance = *limits;
  config = metadataText(file, "hf_config");
  layers = int64_t(layerList->size());
  rows = prefill + decode;

  schedules = {{"one call", {rows}}};
  if (decode > 0) {
    schedules.push_back({"steps", {prefill}});
    schedules.back().calls.insert(schedules.back().calls.end(), size_t(decode), 1);
  }
  if (chunks->is_null())
    return {};
  Schedule chunked{"chunks", {}};
  int64_t sum = 0;
  for (const json &chunk : *chunks) {
    if (!chunk.is_number_integer())
      return Failure{"metadata 'chunks' is no list of integers"};
    chunked.calls.push_back(chunk.get<int64_t>());
    sum += chunked.calls.back();
  }
  if (sum != prefill)
    return Failure{"metadata 'chunks' does not add up to 'prefill'"};
  chunked.calls.insert(chunked.calls.end(), size_t(decode), 1);
  schedules.push_back(chunked);
  return {};
}

Status BlockFile::readTensors() {
  for (const auto &[name, tensor] : file.tensors()) {
    llvm::StringRef text(name);
    if (text.starts_with("output.") || text.starts_with("rope."))
      continue;
    if (name == "input.hidden_states") {
      input = convert(tensor, session.type);
      continue;
    }
    if (text.starts_with("input."))
      return Failure{"unknown input '" + name + "'"};
    weights[name] = convert(tensor, session.type);
    weightInfos.push_back({name, session.type, tensor.shape, ""});
  }
  if (input.shape().size() != 3 || input.shape()[0] != batch || input.shape()[1] != rows)
    return Failure{"input.hidden_states has shape " + shapeText(input.shape()) +
                   ", expected [batch, prefill + decode, D]"};
  width = input.shape()[2];
  return {};
}

Status BlockFile::giveArguments(run::ArgumentSet &arguments, const Tensor &hidden, int64_t start) {
  Result<Tensor> starts = Tensor::zeros(DType::I32, {batch});
  for (int64_t b = 0; b < batch; ++b)
    storeFromDouble(DType::I32, starts->data(), size_t(b), double(start));
  if (Status status = arguments.giveOwned("start", std::move(*starts), "start"); !status)
    return status;
  if (Status status = arguments.give("hidden_states", hidden.view(), "hidden_states"); !status)
    return status;
  for (const run::Argument &argument : arguments.entry().args)
    if (argument.isWeight())
      if (Status status =
              arguments.give(argument.name, weights[argument.name].view(), argument.name);
          !status)
        return status;
  return {};
}

Status BlockFile::runSchedule(const run::Module &module, const Schedule &schedule, int64_t layer,
                              Tensor &output) {
  Result<const run::Entry *> entry = module.findEntry("block");
  if (!entry)
    return entry.failure();
  output = std::move(*Tensor::zeros(session.type, {batch, rows, width}));
  Tensor attention = std::move(*Tensor::zeros(session.type, {batch, rows, width}));
  std::deque<run::ArgumentSet> calls;
  std::deque<Tensor> inputs;
  int64_t start = 0;
  for (int64_t count : schedule.calls) {
    run::ArgumentSet &arguments = calls.emplace_back(**entry);
    if (Status status = giveArguments(
            arguments, inputs.emplace_back(sliceTokens(input.view(), start, count)), start);
        !status)
      return status;
    for (const char *cache : {"k_cache", "v_cache"})
      if (Status status = start == 0 ? arguments.setDim("C", rows + 3, "capacity")
                                     : arguments.share(cache, calls.front());
          !status)
        return status;
    if (Status status = arguments.allocate(nullptr); !status)
      return status;
    if (Status status = arguments.call(module, {session.threads}); !status)
      return status;
    insertTokens(output, arguments.view("hidden_states.out"), start);
    insertTokens(attention, arguments.view("attn"), start);
    start += count;
  }
  compareOutputs(layer, schedule.name, output, attention, calls.front());
  return {};
}

void BlockFile::compareCache(const std::string &what, const TensorView &cache,
                             const TensorView &expected) {
  std::vector<int64_t> shape = cache.shape;
  size_t bytes = cache.bytes / size_t(batch), row = bytes / size_t(shape[1]);
  shape[1] = rows;
  Tensor written = std::move(*Tensor::zeros(cache.dtype, shape));
  bool untouched = true;
  for (size_t b = 0; b < size_t(batch); ++b) {
    const std::byte *source = cache.data + b * bytes;
    std::memcpy(written.data() + b * row * size_t(rows), source, row * size_t(rows));
    for (size_t i = row * size_t(rows); i < bytes; ++i)
      untouched &= source[i] == std::byte(0xff);
  }
  report.compare(what, written.view(), expected, tolerance->limit(session.type));
  report.check(what + " behind the sequence", untouched,
               untouched ? "same bits" : "was written to");
}

void BlockFile::compareOutputs(int64_t layer, const std::string &schedule, const Tensor &output,
                               const Tensor &attention, const run::ArgumentSet &caches) {
  std::string prefix = "output." + std::to_string(layer) + ".";
  for (const auto &[name, expected] : file.tensors()) {
    llvm::StringRef part(name);
    if (!part.consume_front(prefix))
      continue;
    std::string what = schedule + " " + name;
    if (part == "hidden_states")
      report.compare(what, output.view(), expected, tolerance->limit(session.type));
    else if (part == "attn")
      report.compare(what, attention.view(), expected, tolerance->limit(session.type));
    else if (part == "k_cache" || part == "v_cache")
      compareCache(what, caches.view(part.str()), expected);
    else
      report.fail(what, "can't interpret: unknown output");
  }
}

/// The frequencies that the rotations of the imported block use.
void BlockFile::checkRotaryTable(mlir::ModuleOp module, int64_t layer) {
  std::string name = "rope." + std::to_string(layer) + ".inv_freq";
  const TensorView *expected = file.find(name);
  if (!expected)
    return;
  module.walk([&](attn::RopeOp rope) {
    if (!rope.getTheta())
      return report.fail(name, "the block takes its frequencies from elsewhere");
    std::string text;
    bool same = sameTable(ropeTable(rope.getTheta()->convertToDouble(), rope.getScalingAttr(),
                                    rope.getRotaryDimValue(), rows),
                          *expected, text);
    report.check(name, same, text);
  });
}

Status BlockFile::checkLayer(int64_t layer, const LoadOptions &options) {
  DecoderBuildOptions build;
  build.activations = session.type;
  build.withAttentionResult = true;
  DiagnosticText diagnostics(session.loader.context());
  mlir::OwningOpRef<mlir::ModuleOp> block =
      importHuggingFaceBlock(&session.loader.context(), config, weightInfos, layer, build);
  if (!block)
    return Failure{"can't interpret: " + diagnostics.text()};
  checkRotaryTable(*block, layer);
  Result<run::Module> module = session.load(*block, options);
  if (!module)
    return module.failure();
  Tensor output;
  for (const Schedule &schedule : schedules)
    if (Status status = runSchedule(*module, schedule, layer, output); !status)
      return Failure{schedule.name + ": " + status.error()};
  input = std::move(output);
  return {};
}

Status BlockFile::checkLayers(const LoadOptions &options) {
  weights.clear();
  weightInfos.clear();
  if (Status status = readTensors(); !status)
    return Failure{"can't interpret: " + status.error()};
  for (int64_t layer = 0; layer < layers; ++layer)
    if (Status status = checkLayer(layer, options); !status)
      return status;
  return {};
}

void BlockFile::check() {
  if (Status status = readMetadata(); !status)
    return report.fail("metadata", "can't interpret: " + status.error());
  session.forEachVariant(report, [&](const LoadOptions &options) { return checkLayers(options); });
}

void checkBlockFile(const SafetensorsFile &file, Session &session, Report &report) {
  BlockFile(file, session, report).check();
}

} // namespace heddle::goldens
