//===- SingleRun.cpp - one call of one entry ------------------------------===//

#include "SingleRun.h"
#include "ArgumentSet.h"
#include "Bench.h"
#include "Heatmap.h"
#include "Progress.h"
#include "RandomData.h"
#include "TensorFiles.h"
#include "Verify.h"
#include "Weights.h"
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

/// Finds an argument that the entry writes, for --output and --verify.
static Result<const Argument *> findWritten(const Entry &entry, const std::string &name,
                                            const char *option) {
  const Argument *argument = entry.find(name);
  if (argument && argument->kind != Kind::Input)
    return argument;
  std::vector<std::string> names;
  for (const Argument &known : entry.args)
    if (known.kind != Kind::Input)
      names.push_back(known.name);
  return Failure{std::string(option) + ": entry '" + entry.name + "' writes no argument '" + name +
                 "', known are " + nameList(names)};
}

namespace {

/// One call of one entry with all that the options ask for around it.
class SingleRun {
public:
  SingleRun(const Module &module, const Entry &entry, const Options &options)
      : module(module), entry(entry), options(options), arguments(entry) {}

  Status run() {
    if (Status status = checkOutputs(); !status)
      return status;
    if (Status status = load(); !status)
      return status;
    {
      Progress progress("running '" + entry.name + "'");
      if (Status status = arguments.call(module, {options.threads, options.target}); !status)
        return status;
    }
    if (Status status = arguments.fetchUpdated(); !status)
      return status;
    for (const TensorOption &output : options.outputs)
      writer.add(output, arguments.view(output.name));
    if (Status status = writer.writeAll(); !status)
      return status;
    if (Status status = drawHeatmap(); !status)
      return status;
    if (Status status = verify(); !status)
      return status;
    if (options.bench)
      return bench(module, arguments, {options.threads, options.target}, options.bench);
    return {};
  }

private:
  Status checkOutputs() {
    for (const TensorOption &output : options.outputs) {
      Result<const Argument *> argument = findWritten(entry, output.name, "--output");
      if (!argument)
        return argument.failure();
      if (Status status = writer.check(output, (*argument)->dtype); !status)
        return status;
    }
    return options.heatmap.empty() ? Status() : checkPatternMaps(entry);
  }

  Status drawHeatmap() {
    if (options.heatmap.empty())
      return {};
    Result<std::vector<PatternMap>> maps =
        collectPatternMaps(entry, [&](const std::string &name) { return arguments.view(name); });
    if (!maps)
      return maps.failure();
    std::string title =
        module.description().name + ", entry " + entry.name + ": attention by layer and head";
    return writeHeatmap(*maps, title, options.heatmap);
  }

  Status load() {
    Progress progress("loading");
    for (const TensorOption &input : options.inputs) {
      Result<TensorView> tensor = reader.read(input);
      if (!tensor)
        return tensor.failure();
      std::string source = "--input " + input.name + " (" + input.file + ")";
      if (Status status = arguments.give(input.name, *tensor, source); !status)
        return status;
    }
    for (const auto &[symbol, extent] : options.dims)
      if (Status status = arguments.setDim(symbol, extent, "--dim " + symbol); !status)
        return status;
    Result<std::optional<Checkpoint>> opened = openWeights(module, options);
    if (!opened)
      return opened.failure();
    weights = std::move(*opened);
    if (weights)
      if (Status status = giveWeights(*weights, arguments); !status)
        return status;
    Status allocated =
        arguments.allocate(randomFiller(options.seed, module.description().vocabularySize));
    return allocated ? loadExpected() : allocated;
  }

  Status loadExpected() {
    for (const TensorOption &option : options.verify) {
      Result<const Argument *> argument = findWritten(entry, option.name, "--verify");
      if (!argument)
        return argument.failure();
      Result<TensorView> tensor = reader.read(option);
      if (!tensor)
        return tensor.failure();
      std::vector<int64_t> shape = arguments.view(option.name).shape;
      if (tensor->shape != shape)
        return Failure{"--verify " + option.name + " (" + option.file + "): shape is " +
                       shapeText(tensor->shape) + ", expected " + shapeText(shape)};
      expected.push_back(*tensor);
    }
    return {};
  }

  Status verify() {
    std::vector<std::string> failed;
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string &name = options.verify[i].name;
      Comparison comparison = compare(arguments.view(name), expected[i]);
      Verdict verdict = judge(name, comparison, options.rtol, options.atol);
      std::printf("%s\n", verdict.text.c_str());
      if (!verdict.passed)
        failed.push_back(name);
    }
    if (failed.empty())
      return {};
    return Failure{"verification failed: " + nameList(failed)};
  }

  const Module &module;
  const Entry &entry;
  const Options &options;
  TensorReader reader;
  TensorWriter writer;
  std::optional<Checkpoint> weights;
  std::vector<TensorView> expected;
  ArgumentSet arguments;
};

} // namespace

Status heddle::run::callEntry(const Module &module, const Entry &entry, const Options &options) {
  return SingleRun(module, entry, options).run();
}
