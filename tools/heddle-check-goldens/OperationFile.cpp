//===- OperationFile.cpp - checks a file of operation cases ---------------===//

#include "Checks.h"

#include "ArgumentSet.h"
#include "OperationCase.h"

using nlohmann::json;

namespace heddle::goldens {

std::string OperationCase::addInput(const std::string &argument, Tensor tensor,
                                    std::vector<int64_t> shape) {
  std::string type = tensorType(shape, tensor.dtype());
  inputs[argument] = std::move(tensor);
  return entry.argument(argument, type);
}

/// The operation follows from the tensors.
static Status readCase(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  using Read = void (*)(CaseReader &, const CaseSettings &, OperationCase &);
  const std::pair<std::vector<const char *>, Read> families[] = {
      {{"partial_o", "partial_lse"}, readMerge},
      {{"q", "k", "v", "tokens"}, readPatternScores},
      {{"q", "k", "v"}, readAttention},
      {{"q", "k_cache", "v_cache"}, readAttention},
      {{"x", "positions"}, readRope},
      {{"k_cache", "v_cache", "k", "v"}, readKvAppend},
      {{"x", "weight"}, readNorm},
      {{"gate", "up"}, readActivation},
  };
  if (reader.hasAttribute("cuts")) {
    readSplit(reader, settings, result);
    return reader.finish();
  }
  for (const auto &[names, read] : families)
    if (llvm::all_of(names, [&](const char *name) { return reader.hasInput(name); })) {
      read(reader, settings, result);
      return reader.finish();
    }
  return Failure{"no operation takes the inputs " + reader.inputNames()};
}

Status runCase(const OperationCase &operation, const run::Module &module, const Session &session,
               Report &report) {
  Result<const run::Entry *> entry = module.findEntry(operation.entry.name());
  if (!entry)
    return entry.failure();
  run::ArgumentSet arguments(**entry);
  for (const auto &[name, tensor] : operation.inputs)
    if (Status status = arguments.give(name, tensor.view(), name); !status)
      return status;
  if (Status status = arguments.allocate(nullptr); !status)
    return status;
  if (Status status = arguments.call(module, {session.threads}); !status)
    return status;
  for (const Expectation &expectation : operation.expectations) {
    std::string what = operation.name + " " + expectation.argument;
    TensorView actual = arguments.view(expectation.argument);
    if (expectation.sameBits)
      report.compareBits(what, actual, convert(expectation.expected, actual.dtype).view());
    else
      report.compare(what, actual, expectation.expected, expectation.limit);
  }
  return {};
}

static void checkStrayTensors(const SafetensorsFile &file, const json &cases, Report &report) {
  for (const auto &[name, tensor] : file.tensors())
    if (llvm::none_of(cases.items(), [&, &name = name](const auto &item) {
          return llvm::StringRef(name).starts_with(item.key() + ".");
        }))
      report.fail(name, "can't interpret: the tensor belongs to no case");
}

void checkOperationFile(const SafetensorsFile &file, Session &session, Report &report) {
  Result<json> cases = metadataJson(file, "cases");
  Result<Tolerance> tolerance = Tolerance::ofOperations(metadataText(file, "tolerance"));
  if (!cases || !cases->is_object() || !tolerance)
    return report.fail("metadata", "can't interpret: " + (!cases       ? cases.error()
                                                          : !tolerance ? tolerance.error()
                                                                       : "'cases' is no object"));
  checkStrayTensors(file, *cases, report);

  CaseSettings settings{session.type, *tolerance, session.loader.context()};
  std::deque<OperationCase> operations;
  std::string text;
  for (const auto &item : cases->items()) {
    OperationCase operation(item.key(), "case" + std::to_string(operations.size()));
    CaseReader reader(file, item.key(), item.value());
    Status status = readCase(reader, settings, operation);
    if (!status) {
      report.fail(item.key(), "can't interpret: " + status.error());
      continue;
    }
    text += operation.entry.text();
    operations.push_back(std::move(operation));
  }
  for (const OperationCase &operation : operations)
    for (const auto &[what, passed, found] : operation.directChecks)
      report.check(operation.name + " " + what, passed, found);
  if (operations.empty())
    return;

  session.forEachVariant(report, [&](const LoadOptions &options) -> Status {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = session.loader.parse(text, "cases.mlir");
    if (!parsed)
      return parsed.failure();
    Result<run::Module> module = session.load(**parsed, options);
    if (!module)
      return module.failure();
    for (const OperationCase &operation : operations)
      if (Status status = runCase(operation, *module, session, report); !status)
        report.fail(operation.name, status.error());
    return {};
  });
}

} // namespace heddle::goldens
