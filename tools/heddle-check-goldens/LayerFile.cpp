//===- LayerFile.cpp - checks a layer that is written as a graph ----------===//
//
// FILE.mlir beside FILE.safetensors has one entry, `layer`: x [B, T, D] and the
// weights under their names in, y out, and caches that it updates in place. They
// are named like the outputs of the file, and a `start` counts the tokens before
// the call, if the layer wants it. The layer is run several ways:
//
//   one call      input.x                      output.y, output.CACHE
//   two calls     its first `split` tokens,    output.CACHE_split
//                 then the rest                output.y, output.CACHE
//   steps         input.x_decode by tokens     output.y_decode, output.CACHE_final
//
// The steps follow both. Caches begin with zeros. Those of a growing layer have
// their tokens in dimension 1, and no _split and _final; output.CACHE_half_order is
// the same with even channels before odd ones. A cache may be inter.CACHE instead.
//
// Other results are for tokens, too: output.NAME, and output.NAME_decode. These may
// know fewer columns than the entry gives: then the rest is -1 or -inf. The file's
// `selected` is topk_indices as a mask.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "ArgumentSet.h"
#include "Tokens.h"
#include "Tolerance.h"

#include <cmath>
#include <cstring>
#include <set>

using nlohmann::json;

namespace heddle::goldens {
namespace {

class LayerFile {
public:
  LayerFile(const SafetensorsFile &file, std::string graph, Session &session, Report &report)
      : file(file), graph(std::move(graph)), session(session), report(report) {}

  void check();

private:
  Status readGraph();
  Status checkStrayTensors(const run::Entry &entry) const;
  Status runWay(const run::Module &module, const std::string &way,
                const std::vector<int64_t> &calls);
  Status call(const run::Module &module, const Tensor &tokens, int64_t start);
  void beginCaches(const run::Entry &entry);
  void compareCaches(const std::string &way, const std::string &suffix);
  void compareOutputs(const std::string &way, const std::string &suffix, int64_t first,
                      int64_t count);

  const TensorView *find(const std::string &name) const {
    auto found = file.tensors().find(name);
    return found == file.tensors().end() ? nullptr : &found->second;
  }
  /// The file's name for a cache.
  std::string nameOfCache(const std::string &cache) const {
    return (find("output." + cache) ? "output." : "inter.") + cache;
  }
  /// Whether a cache holds rows of tokens: then only its last contents are known.
  bool grows(const std::string &cache) const { return !find("output." + cache + "_final"); }
  double limit() const { return Tolerance::ofLayer().limit(session.type); }

  const SafetensorsFile &file;
  std::string graph, text;
  Session &session;
  Report &report;
  Tensor x, decode;
  std::map<std::string, Tensor> weights, caches;
  std::map<std::string, Tensor> outputs; // of all tokens so far
};

} // namespace

Status LayerFile::readGraph() {
  Result<std::string> read = heddle::goldens::readGraph(graph, session.type);
  if (!read)
    return read.failure();
  text = std::move(*read);
  for (const char *name : {"input.x", "input.x_decode", "output.y", "output.y_decode"})
    if (!find(name) || find(name)->shape.size() != 3)
      return Failure{std::string("tensor '") + name + "' of rank 3 is missing"};
  x = convert(*find("input.x"), session.type);
  decode = convert(*find("input.x_decode"), session.type);
  return {};
}

/// Rows whose even channels come before the odd ones.
static Tensor inHalfOrder(const TensorView &rows) {
  Tensor ordered = std::move(*Tensor::copyOf(rows));
  size_t size = dtypeSize(rows.dtype), width = size_t(rows.shape.back());
  for (size_t element = 0; element < size_t(rows.count()); ++element) {
    size_t channel = element % width, place = channel / 2 + channel % 2 * (width / 2);
    std::memcpy(ordered.data() + (element - channel + place) * size, rows.data + element * size,
                size);
  }
  return ordered;
}

/// Every weight has an argument, and every output is one of the entry's or a cache at another time.
Status LayerFile::checkStrayTensors(const run::Entry &entry) const {
  std::string unknown;
  for (const auto &[name, tensor] : file.tensors()) {
    llvm::StringRef rest(name);
    if (rest.consume_front("inter.") || rest.starts_with("input."))
      continue;
    if (rest.consume_front("output."))
      (void)(rest.consume_back("_split") || rest.consume_back("_final") ||
             rest.consume_back("_decode") || rest.consume_back("_half_order"));
    else
      rest.consume_front("weight.");
    if (!entry.find(rest == "selected" ? "topk_indices" : rest.str()))
      unknown += (unknown.empty() ? "the graph has no place for " : ", ") + name;
  }
  if (!unknown.empty())
    return Failure{unknown};
  return {};
}

/// States are zeros, and rows of tokens NaN until they are written.
void LayerFile::beginCaches(const run::Entry &entry) {
  caches.clear();
  for (const run::Argument &argument : entry.args) {
    const TensorView *expected = find(nameOfCache(argument.name));
    if (!argument.isCache() || !expected)
      continue;
    Tensor cache = std::move(*Tensor::zeros(argument.dtype, expected->shape));
    if (grows(argument.name))
      std::memset(cache.data(), 0xff, cache.bytes());
    caches[argument.name] = std::move(cache);
  }
}

/// One call: the caches are those of the call before.
Status LayerFile::call(const run::Module &module, const Tensor &tokens, int64_t start) {
  Result<const run::Entry *> entry = module.findEntry("layer");
  if (!entry)
    return entry.failure();
  run::ArgumentSet arguments(**entry);
  for (const run::Argument &argument : (*entry)->args) {
    Status status;
    if (argument.name == "x") {
      status = arguments.give("x", tokens.view(), "x");
    } else if (argument.name == "start") {
      Tensor starts = std::move(*Tensor::zeros(DType::I32, {tokens.shape()[0]}));
      for (int64_t b = 0; b < starts.count(); ++b)
        storeFromDouble(DType::I32, starts.data(), size_t(b), double(start));
      status = arguments.giveOwned("start", std::move(starts), "start");
    } else if (argument.isWeight()) {
      const TensorView *weight = find("weight." + argument.name);
      if (!weight)
        return Failure{"tensor 'weight." + argument.name + "' is missing"};
      Tensor &converted = weights[argument.name];
      if (!converted.count())
        converted = convert(*weight, argument.dtype);
      status = arguments.give(argument.name, converted.view(), argument.name);
    } else if (argument.isCache()) {
      if (!caches.count(argument.name))
        return Failure{"tensor '" + nameOfCache(argument.name) + "' is missing"};
      status = arguments.give(argument.name, caches[argument.name].view(), argument.name);
    }
    if (!status)
      return status;
  }
  if (Status status = arguments.allocate(nullptr); !status)
    return status;
  if (Status status = arguments.call(module, {session.threads}); !status)
    return status;
  for (auto &[name, cache] : caches)
    cache = std::move(*Tensor::copyOf(arguments.view(name)));
  for (const run::Argument &argument : (*entry)->args) {
    if (argument.role != "output")
      continue;
    TensorView result = arguments.view(argument.name);
    Tensor &all = outputs[argument.name];
    if (!all.count()) {
      std::vector<int64_t> shape = result.shape;
      shape[1] = x.shape()[1] + decode.shape()[1];
      all = std::move(*Tensor::zeros(argument.dtype, shape));
    }
    insertTokens(all, result, start);
  }
  return {};
}

void LayerFile::compareCaches(const std::string &way, const std::string &suffix) {
  for (const auto &[name, cache] : caches) {
    bool isEnd = suffix == "_final";
    if (grows(name) && !isEnd)
      continue;
    std::string output = nameOfCache(name) + (grows(name) ? "" : suffix);
    if (const TensorView *expected = find(output))
      report.compare(way + " " + output, cache.view(), *expected, limit());
    if (const TensorView *expected = find(output + "_half_order"))
      report.compare(way + " " + output + "_half_order", inHalfOrder(cache.view()).view(),
                     *expected, limit());
  }
}

/// Columns from `count` on are dropped; all of them are -1 or -inf, which is checked.
static Tensor firstColumns(const TensorView &rows, int64_t count, bool &restIsFill) {
  std::vector<int64_t> shape = rows.shape;
  size_t width = size_t(shape.back()), kept = std::min(width, size_t(count));
  shape.back() = int64_t(kept);
  Tensor first = std::move(*Tensor::zeros(rows.dtype, shape));
  double fill = isFloat(rows.dtype) ? -INFINITY : -1;
  for (size_t element = 0; element < size_t(rows.count()); ++element) {
    double value = loadAsDouble(rows.dtype, rows.data, element);
    if (size_t column = element % width; column >= kept)
      restIsFill = restIsFill && value == fill;
    else
      storeFromDouble(rows.dtype, first.data(), element / width * kept + column, value);
  }
  return first;
}

/// Rows of a mask [B, T, keys] that are 1 where a list [B, T, k] names the key; -1 names none.
static Tensor maskOf(const TensorView &lists, const TensorView &like) {
  Tensor mask = std::move(*Tensor::zeros(like.dtype, like.shape));
  int64_t width = lists.shape.back(), keys = like.shape.back();
  for (int64_t entry = 0; entry < lists.count(); ++entry) {
    int64_t key = loadAsInteger(lists.dtype, lists.data, size_t(entry));
    if (key >= 0 && key < keys)
      storeFromDouble(like.dtype, mask.data(), size_t(entry / width * keys + key), 1);
  }
  return mask;
}

/// Results for the tokens from `first` on with output.NAME, `suffix` at its end.
void LayerFile::compareOutputs(const std::string &way, const std::string &suffix, int64_t first,
                               int64_t count) {
  for (const auto &[name, all] : outputs) {
    Tensor tokens = sliceTokens(all.view(), first, count);
    std::string output = "output." + name + suffix;
    if (const TensorView *expected = find(output)) {
      bool restIsFill = true;
      Tensor columns = firstColumns(tokens.view(), expected->shape.back(), restIsFill);
      report.compare(way + " " + output, columns.view(), *expected, limit());
      if (columns.count() != tokens.count())
        report.check(way + " " + output + " behind the last key", restIsFill,
                     restIsFill ? "nothing" : "expected -1 or -inf");
    }
    if (const TensorView *expected = find("output.selected" + suffix);
        expected && name == "topk_indices")
      report.compare(way + " output.selected" + suffix, maskOf(tokens.view(), *expected).view(),
                     *expected, 0);
  }
}

/// `calls` are the lengths of the calls that input.x is fed in.
Status LayerFile::runWay(const run::Module &module, const std::string &way,
                         const std::vector<int64_t> &calls) {
  Result<const run::Entry *> entry = module.findEntry("layer");
  if (!entry)
    return entry.failure();
  beginCaches(**entry);
  outputs.clear();
  int64_t length = x.shape()[1], steps = decode.shape()[1], start = 0;
  for (int64_t count : calls) {
    if (Status status = call(module, sliceTokens(x.view(), start, count), start); !status)
      return status;
    start += count;
    if (start < length)
      compareCaches(way, "_split");
  }
  compareOutputs(way, "", 0, length);
  compareCaches(way, "");
  for (int64_t step = 0; step < steps; ++step)
    if (Status status = call(module, sliceTokens(decode.view(), step, 1), start + step); !status)
      return status;
  compareOutputs(way, "_decode", length, steps);
  compareCaches(way, "_final");
  return {};
}

void LayerFile::check() {
  if (Status status = readGraph(); !status)
    return report.fail("graph", "can't interpret: " + status.error());
  Result<json> config = metadataJson(file, "config");
  int64_t length = x.shape()[1];
  std::map<std::string, std::vector<int64_t>> ways = {{"one call", {length}}};
  // Where the file knows no state between, there is one all the same.
  int64_t split = (length + 1) / 2;
  if (config && config->contains("split") && (*config)["split"].is_number_integer())
    split = (*config)["split"].get<int64_t>();
  if (split > 0 && split < length)
    ways["two calls"] = {split, length - split};
  session.forEachVariant(report, [&](const LoadOptions &options) -> Status {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = session.loader.parse(text, graph);
    if (!parsed)
      return parsed.failure();
    Result<run::Module> module = session.load(**parsed, options);
    if (!module)
      return module.failure();
    Result<const run::Entry *> entry = module->findEntry("layer");
    if (!entry)
      return entry.failure();
    if (!(*entry)->find("y"))
      return Failure{"the entry has no y"};
    if (Status status = checkStrayTensors(**entry); !status)
      return status;
    for (const auto &[way, calls] : ways)
      if (Status status = runWay(*module, way, calls); !status)
        return Failure{way + ": " + status.error()};
    return {};
  });
}

void checkLayerFile(const SafetensorsFile &file, const std::string &graph, Session &session,
                    Report &report) {
  LayerFile(file, graph, session, report).check();
}

} // namespace heddle::goldens
