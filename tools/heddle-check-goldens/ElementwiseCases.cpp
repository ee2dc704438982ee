//===- ElementwiseCases.cpp - cases of norms, activations and gated units -===//

#include "OperationCase.h"

#include "Report.h"

namespace heddle::goldens {

/// Adds an operation whose result has the type of its first operand, if the case has that output.
static void addOutput(CaseReader &reader, const CaseSettings &settings, OperationCase &result,
                      const std::string &output, const std::string &operation,
                      const std::string &type) {
  const TensorView *expected = reader.optionalOutput(output);
  if (!expected)
    return;
  result.entry.line("%" + output + " = " + operation);
  result.entry.result("%" + output, type, "out_" + output);
  result.expectations.push_back(
      {"out_" + output, *expected,
       settings.tolerance.limit(settings.type, reader.name(), output, Quantity::Value)});
}

/// All but the last extent are dynamic.
static std::vector<int64_t> rowsShape(const TensorView &tensor) {
  std::vector<int64_t> shape(tensor.shape.size(), -1);
  if (!shape.empty())
    shape.back() = tensor.shape.back();
  return shape;
}

void readNorm(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  const TensorView *input = reader.optionalInput("x");
  const TensorView *weight = reader.input("weight", 1), *bias = reader.optionalInput("bias");
  std::vector<int64_t> shape = rowsShape(*input);
  std::string type = tensorType(shape, settings.type);
  std::string vectorType = tensorType(weight->shape, settings.type);
  std::string operands = result.addInput("x", convert(*input, settings.type), shape) + ", " +
                         result.addInput("weight", convert(*weight, settings.type), weight->shape);
  std::string biasClause;
  if (bias)
    biasClause = " bias(" + result.addInput("bias", convert(*bias, settings.type), bias->shape) +
                 " : " + vectorType + ")";
  std::optional<double> eps = reader.number("eps");
  if (!eps)
    return reader.fail("attribute 'eps' is missing");
  std::string epsText = "eps = " + floatText(*eps);
  std::string types = " : " + type + ", " + vectorType;
  auto add = [&](const char *output, const std::string &operation, const std::string &clause,
                 const std::string &attributes) {
    addOutput(reader, settings, result, output,
              operation + " " + operands + clause + " {" + epsText + attributes + "}" + types,
              type);
  };
  add("rms", "attn.rms_norm", "", "");
  add("rms_plus_one", "attn.rms_norm", "", ", plus_one");
  add("layer", "attn.layer_norm", biasClause, "");
  add("layer_no_bias", "attn.layer_norm", "", "");
}

void readActivation(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  const TensorView *gate = reader.optionalInput("gate"), *up = reader.optionalInput("up");
  std::vector<int64_t> shape = rowsShape(*gate);
  std::string type = tensorType(shape, settings.type);
  std::string gateValue = result.addInput("gate", convert(*gate, settings.type), shape);
  std::string upValue = result.addInput("up", convert(*up, settings.type), shape);
  std::string limit;
  if (std::optional<double> number = reader.number("limit"))
    limit = " {limit = " + floatText(*number) + "}";

  for (auto [output, kind] : {std::pair("silu", "silu"), std::pair("gelu_erf", "gelu"),
                              std::pair("gelu_tanh", "gelu_tanh"), std::pair("sigmoid", "sigmoid")})
    addOutput(reader, settings, result, output,
              std::string("attn.activation ") + kind + " " + gateValue + " : " + type, type);
  for (auto [output, kind] :
       {std::pair("swiglu", "swiglu"), std::pair("geglu_erf", "geglu"),
        std::pair("geglu_tanh", "geglu_tanh"), std::pair("gpt_oss_glu", "gpt_oss")})
    addOutput(reader, settings, result, output,
              std::string("attn.glu ") + kind + " " + gateValue + ", " + upValue +
                  (std::string(kind) == "gpt_oss" ? limit : "") + " : " + type,
              type);
}

} // namespace heddle::goldens
