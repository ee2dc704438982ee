//===- CaseReader.cpp - attributes and tensors of one case ----------------===//

#include "CaseReader.h"

#include "llvm/ADT/StringRef.h"

using nlohmann::json;

namespace heddle::goldens {

CaseReader::CaseReader(const SafetensorsFile &file, std::string name, const json &attributes)
    : caseName(std::move(name)), attributes(attributes) {
  for (const auto &[tensorName, tensor] : file.tensors()) {
    llvm::StringRef rest(tensorName);
    if (!rest.consume_front(caseName + "."))
      continue;
    if (rest.consume_front("input."))
      inputs[rest.str()] = &tensor;
    else if (rest.consume_front("output."))
      outputs[rest.str()] = &tensor;
    else
      fail("tensor '" + tensorName + "' is neither an input nor an output");
  }
}

void CaseReader::fail(const std::string &text) {
  if (error.empty())
    error = text;
}

std::string CaseReader::inputNames() const {
  std::string names;
  for (const auto &[name, tensor] : inputs)
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

const TensorView *CaseReader::optionalInput(const std::string &name) {
  asked.insert("input '" + name + "'");
  auto found = inputs.find(name);
  return found == inputs.end() ? nullptr : found->second;
}

const TensorView *CaseReader::input(const std::string &name, size_t rank) {
  const TensorView *tensor = optionalInput(name);
  if (!tensor)
    fail("input '" + name + "' is missing");
  else if (tensor->shape.size() != rank)
    fail("input '" + name + "' has shape " + shapeText(tensor->shape) + ", expected rank " +
         std::to_string(rank));
  else
    return tensor;
  static const TensorView empty{DType::F32, {0, 0, 0, 0, 0, 0}, nullptr, 0};
  return &empty;
}

const TensorView *CaseReader::optionalOutput(const std::string &name) {
  asked.insert("output '" + name + "'");
  auto found = outputs.find(name);
  return found == outputs.end() ? nullptr : found->second;
}

const json *CaseReader::attribute(const std::string &name, const char *expected,
                                  bool (json::*isType)() const noexcept) {
  asked.insert("attribute '" + name + "'");
  auto found = attributes.find(name);
  if (found == attributes.end() || found->is_null())
    return nullptr;
  if ((*found.*isType)())
    return &*found;
  fail("attribute '" + name + "' is " + found->dump() + ", expected " + expected);
  return nullptr;
}

bool CaseReader::flag(const std::string &name) {
  const json *value = attribute(name, "true or false", &json::is_boolean);
  return value && value->get<bool>();
}

std::optional<double> CaseReader::number(const std::string &name) {
  const json *value = attribute(name, "a number", &json::is_number);
  return value ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<int64_t> CaseReader::integer(const std::string &name) {
  const json *value = attribute(name, "an integer", &json::is_number_integer);
  return value ? std::optional(value->get<int64_t>()) : std::nullopt;
}

const json *CaseReader::object(const std::string &name) {
  return attribute(name, "an object", &json::is_object);
}

std::vector<int64_t> CaseReader::integers(const std::string &name) {
  std::vector<int64_t> list;
  if (const json *value = attribute(name, "a list of integers", &json::is_array))
    for (const json &each : *value) {
      if (!each.is_number_integer())
        fail("attribute '" + name + "' has " + each.dump() + ", expected integers");
      else
        list.push_back(each.get<int64_t>());
    }
  return list;
}

Status CaseReader::finish() const {
  if (!error.empty())
    return Failure{error};
  std::string unknown;
  auto demand = [&](const std::string &what) {
    if (!asked.count(what))
      unknown += (unknown.empty() ? "unknown " : ", ") + what;
  };
  for (const auto &item : attributes.items())
    demand("attribute '" + item.key() + "'");
  for (const auto &[name, tensor] : inputs)
    demand("input '" + name + "'");
  for (const auto &[name, tensor] : outputs)
    demand("output '" + name + "'");
  if (!unknown.empty())
    return Failure{unknown};
  return {};
}

} // namespace heddle::goldens
