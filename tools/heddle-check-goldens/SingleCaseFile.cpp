//===- SingleCaseFile.cpp - checks a file of one case ---------------------===//

#include "SingleCase.h"

using nlohmann::json;

namespace heddle::goldens {

SingleCase::SingleCase(const SafetensorsFile &file, DType type)
    : file(file), elementType(type), caseName(metadataText(file, "case")) {}

double SingleCase::stateLimit() const { return tolerance.limit(elementType); }

std::vector<std::string> SingleCase::namesWith(const std::string &prefix) const {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : file.tensors())
    if (llvm::StringRef rest(name); rest.consume_front(prefix))
      names.push_back(rest.str());
  return names;
}

const TensorView &SingleCase::get(const std::string &tensor) {
  static const TensorView empty{DType::F32, {0, 0, 0, 0}, nullptr, 0};
  used.insert(tensor);
  auto found = file.tensors().find(tensor);
  if (found != file.tensors().end())
    return found->second;
  fail("tensor '" + tensor + "' is missing");
  return empty;
}

Tensor SingleCase::copy(const std::string &tensor, DType type, std::vector<int64_t> shape) {
  TensorView view = get(tensor);
  if (!shape.empty()) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    if (count == view.count())
      view.shape = shape;
    else
      fail("tensor '" + tensor + "' has shape " + shapeText(view.shape) +
           ", expected the elements of " + shapeText(shape));
  }
  return convert(view, type);
}

json SingleCase::metadata(const std::string &name, const std::string &key) {
  Result<json> config = metadataJson(file, name);
  if (!config)
    fail(config.error());
  else if (!config->contains(key))
    fail("metadata '" + name + "' has no '" + key + "'");
  else
    return (*config)[key];
  return nullptr;
}

int64_t SingleCase::integer(const std::string &key) {
  json value = metadata("config", key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::vector<int64_t> SingleCase::integers(const std::string &key) {
  std::vector<int64_t> list;
  for (const json &value : metadata("config", key))
    list.push_back(value.is_number_integer() ? value.get<int64_t>() : 0);
  return list;
}

double SingleCase::number(const std::string &name, const std::string &key) {
  json value = metadata(name, key);
  return value.is_number() ? value.get<double>() : 0;
}

double SingleCase::number(const std::string &name) {
  Result<json> value = metadataJson(file, name);
  if (value && value->is_number())
    return value->get<double>();
  fail("metadata '" + name + "' is no number");
  return 0;
}

void SingleCase::add(OperationCase call) {
  if (symbols.insert(call.entry.name()).second)
    entries += call.entry.text();
  operations.push_back(std::move(call));
}

void SingleCase::fail(const std::string &text) {
  if (error.empty())
    error = text;
}

Status SingleCase::finish() const {
  if (!error.empty())
    return Failure{error};
  std::string unknown;
  for (const auto &[name, tensor] : file.tensors())
    if (!used.count(name))
      unknown += (unknown.empty() ? "unknown tensors " : ", ") + name;
  if (!unknown.empty())
    return Failure{unknown};
  return {};
}

std::vector<int64_t> dynamicDims(std::vector<int64_t> shape, size_t count) {
  for (size_t dim = 0; dim < std::min(count, shape.size()); ++dim)
    shape[dim] = -1;
  return shape;
}

void expect(OperationCase &call, const std::string &argument, Tensor expected, double limit,
            bool sameBits) {
  Expectation expectation{argument, expected.view(), limit, sameBits};
  expectation.owned = std::move(expected);
  call.expectations.push_back(std::move(expectation));
}

void checkSingleCaseFile(const SafetensorsFile &file, Session &session, Report &report) {
  const std::pair<const char *, void (*)(SingleCase &)> kinds[] = {
      {"delta_op_", addDeltaOperation},
      {"delta_ragged", addDeltaRagged},
      {"retention_op", addRetention},
      {"linear_attention", addFeatureMaps},
      {"short_conv", addShortConv},
      {"delta_gates", addDecayGates},
      {"norms", addNorms},
      {"kv_append", addAppends},
      {"router_", addRouter},
      {"mla_op", addLatentAttention},
      {"sinkhorn", addSinkhorn},
      {"mhc_paper", addStreamsPaper},
      {"mhc_v4", addStreamsV4},
  };
  SingleCase single(file, session.type);
  auto kind = llvm::find_if(kinds, [&](const auto &each) {
    return llvm::StringRef(single.name()).starts_with(each.first);
  });
  if (kind == std::end(kinds))
    return report.fail("metadata",
                       "can't interpret: no operation for case '" + single.name() + "'");
  kind->second(single);
  if (Status status = single.finish(); !status)
    return report.fail(single.name(), "can't interpret: " + status.error());

  session.forEachVariant(report, [&](const LoadOptions &options) -> Status {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed =
        session.loader.parse(single.text(), single.name() + ".mlir");
    if (!parsed)
      return parsed.failure();
    Result<run::Module> module = session.load(**parsed, options);
    if (!module)
      return module.failure();
    for (const OperationCase &call : single.calls())
      if (Status status = runCase(call, *module, session, report); !status)
        report.fail(call.name, status.error());
    return {};
  });
}

} // namespace heddle::goldens
