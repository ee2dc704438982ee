//===- CompanionCases.cpp - files of what surrounds linear attention ------===//

#include "SingleCase.h"
#include "Tokens.h"

namespace heddle::goldens {

//===----------------------------------------------------------------------===//
// Short convolutions
//===----------------------------------------------------------------------===//

namespace {
struct ConvForm {
  bool bias = false, silu = true, ragged = false;
};
} // namespace

static OperationCase convCall(SingleCase &file, const std::string &name, const std::string &symbol,
                              ConvForm form, Tensor input, Tensor state) {
  OperationCase call(name, symbol);
  DType type = file.type();
  std::vector<int64_t> shape = dynamicDims(input.shape(), 2);
  std::string inputType = tensorType(shape, type);
  std::string x = call.addInput("x", std::move(input), shape);
  Tensor weight = file.copy("weight.weight", type), bias = file.copy("weight.bias", type);
  std::string weightType = tensorType(weight.shape(), type);
  std::string biasType = tensorType(bias.shape(), type);
  std::vector<int64_t> weightShape = weight.shape(), biasShape = bias.shape();
  std::string w = call.addInput("weight", std::move(weight), weightShape), clauses;
  if (form.bias)
    clauses +=
        " bias(" + call.addInput("bias", std::move(bias), biasShape) + " : " + biasType + ")";
  std::string stateType = tensorType(dynamicDims(state.shape(), 1), type);
  clauses += " initial_state(" + call.entry.cache("state", stateType) + " : " + stateType + ")";
  call.inputs["state"] = std::move(state);
  if (form.ragged)
    clauses += " cu_seqlens(" +
               call.addInput("cu_seqlens", file.copy("input.ragged.cu_seqlens", DType::I32), {-1}) +
               " : tensor<?xi32>)";
  call.entry.line("%y, %final = attn.short_conv " + x + ", " + w + clauses +
                  (form.silu ? " {silu}" : "") + " : (" + inputType + ", " + weightType + ") -> (" +
                  inputType + ", " + stateType + ")");
  call.entry.result("%y", inputType, "y");
  call.entry.result("%final", stateType, "state", /*updatesCache=*/true);
  return call;
}

void addShortConv(SingleCase &file) {
  DType type = file.type();
  int64_t length = file.integer("length"), split = file.integer("split");
  Tensor x = file.copy("input.x", type);
  auto zeros = [&] {
    return std::move(*Tensor::zeros(type, file.get("input.initial_state").shape));
  };
  // States hold rows of the input as they came.
  auto add = [&](OperationCase call, Tensor output, const std::string &state) {
    expect(call, "y", std::move(output), file.limit());
    expect(call, "state", file.copy(state, DType::F32), 0, /*sameBits=*/true);
    file.add(std::move(call));
  };
  auto part = [&](const std::string &tensor, int64_t begin, int64_t count) {
    return sliceTokens(file.get(tensor), begin, count);
  };
  add(convCall(file, "plain", "plain", {}, sliceTokens(x.view(), 0, length), zeros()),
      file.copy("output.plain.y", DType::F32), "output.plain.state");
  add(convCall(file, "short2", "plain", {}, sliceTokens(x.view(), 0, 2), zeros()),
      file.copy("output.short2.y", DType::F32), "output.short2.state");
  add(convCall(file, "plain first", "plain", {}, sliceTokens(x.view(), 0, split), zeros()),
      part("output.plain.y", 0, split), "output.plain.state_split");
  add(convCall(file, "plain second", "plain", {}, sliceTokens(x.view(), split, length - split),
               file.copy("output.plain.state_split", type)),
      part("output.plain.y", split, length - split), "output.plain.state");
  add(convCall(file, "stateful", "stateful", {true}, sliceTokens(x.view(), 0, length),
               file.copy("input.initial_state", type)),
      file.copy("output.stateful.y", DType::F32), "output.stateful.state");
  add(convCall(file, "noact", "noact", {true, false}, sliceTokens(x.view(), 0, length),
               file.copy("input.initial_state", type)),
      file.copy("output.noact.y", DType::F32), "output.noact.state");
  std::vector<int64_t> packed = file.get("input.ragged.x").shape;
  packed.insert(packed.begin(), 1);
  add(convCall(file, "ragged", "ragged", {true, true, true},
               file.copy("input.ragged.x", type, packed),
               file.copy("input.ragged.initial_state", type)),
      file.copy("output.ragged.y", DType::F32, packed), "output.ragged.state");
}

//===----------------------------------------------------------------------===//
// Gates and norms
//===----------------------------------------------------------------------===//

void addDecayGates(SingleCase &file) {
  int64_t heads = file.integer("heads"), dim = file.integer("head_dim");
  DType type = file.type();
  auto addGate = [&](const std::string &name, const std::string &input, const std::string &bias,
                     std::vector<int64_t> biasShape, const std::string &attributes) {
    OperationCase call(name, name);
    Tensor x = file.copy(input, type);
    std::vector<int64_t> shape = dynamicDims(x.shape(), 2);
    std::string types = tensorType(shape, type) + ", " + tensorType({heads}, DType::F32) + ", " +
                        tensorType(biasShape, DType::F32);
    std::string operands = call.addInput("x", std::move(x), shape);
    operands += ", " + call.addInput("a_log", file.copy("weight.A_log", DType::F32), {heads});
    operands += ", " + call.addInput("dt_bias", file.copy(bias, DType::F32, biasShape), biasShape);
    std::string result = tensorType(shape, DType::F32);
    call.entry.line("%g = attn.decay_gate " + operands + attributes + " : " + types + " -> " +
                    result);
    call.entry.result("%g", result, "g");
    call.expectations.push_back({"g", file.get("output." + name), file.limit()});
    file.add(std::move(call));
  };
  addGate("gdn", "input.a", "weight.dt_bias_head", {heads}, "");
  addGate("kda", "input.f", "weight.dt_bias", {heads, dim}, "");
  double bound = file.number("config", "lower_bound");
  addGate("lower_bound", "input.f", "weight.dt_bias", {heads, dim},
          " {lower_bound = " + floatText(bound) + "}");

  OperationCase beta("beta", "beta");
  Tensor b = file.copy("input.b", type);
  std::vector<int64_t> shape = dynamicDims(b.shape(), 2);
  std::string betaType = tensorType(shape, type);
  std::string value = beta.addInput("b", std::move(b), shape);
  beta.entry.line("%beta = attn.activation sigmoid " + value + " : " + betaType);
  beta.entry.result("%beta", betaType, "beta");
  beta.expectations.push_back({"beta", file.get("output.beta"), file.limit()});
  file.add(std::move(beta));
}

void addNorms(SingleCase &file) {
  // Inputs are values of f16, which bf16 does not hold.
  DType type = file.type() == DType::BF16 ? DType::F32 : file.type();
  int64_t width = file.integer("width");
  auto add = [&](const std::string &name, const std::string &input, const std::string &operation,
                 const std::vector<std::pair<std::string, std::string>> &operands,
                 const std::string &eps, const std::string &attributes) {
    OperationCase call(input == "input.empty" ? name + "_empty" : name, name);
    std::string rows = tensorType({-1, width}, type), vector = tensorType({width}, DType::F32);
    std::string text = call.addInput("x", file.copy(input, type), {-1, width}), bias;
    std::string types = rows;
    for (const auto &[argument, tensor] : operands) {
      if (argument == "gate") {
        Tensor gate = input == "input.empty" ? file.copy(input, type) : file.copy(tensor, type);
        text += ", " + call.addInput("gate", std::move(gate), {-1, width});
        continue;
      }
      std::string value = call.addInput(argument, file.copy(tensor, DType::F32), {width});
      if (argument == "bias") {
        bias = " bias(" + value + " : " + vector + ")";
        continue;
      }
      text += ", " + value;
      types += ", " + vector;
    }
    call.entry.line("%y = " + operation + " " + text + bias +
                    " {eps = " + floatText(file.number("eps", eps)) + attributes + "} : " + types);
    call.entry.result("%y", rows, "y");
    call.expectations.push_back(
        {"y", file.get(input == "input.empty" ? "output.empty" : "output." + name), file.limit()});
    file.add(std::move(call));
  };
  const std::string weight = "weight.weight";
  file.get("input.x_f16"); // the same values as input.x
  for (const char *input : {"input.x", "input.empty"}) {
    add("rms_norm", input, "attn.rms_norm", {{"weight", weight}}, "rms_norm", "");
    add("rms_norm_plus_one", input, "attn.rms_norm", {{"weight", "weight.weight_plus_one"}},
        "rms_norm", ", plus_one");
    add("layer_norm", input, "attn.layer_norm", {{"weight", weight}, {"bias", "weight.bias"}},
        "layer_norm", "");
    add("l2norm", input, "attn.l2_norm", {}, "l2norm", "");
    for (const char *kind : {"silu", "sigmoid"})
      add(std::string("gated_rms_norm_") + kind, input, std::string("attn.gated_rms_norm ") + kind,
          {{"gate", "input.gate"}, {"weight", weight}}, "gated_rms_norm", "");
  }
}

} // namespace heddle::goldens
