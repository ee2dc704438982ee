//===- LinearCases.cpp - files of attn.linear_attention -------------------===//

#include "SingleCase.h"
#include "Tokens.h"

#include <cmath>

namespace heddle::goldens {
namespace {

/// What an entry fixes: the rule, what is done to key and query before it, and attributes.
struct Form {
  std::string rule;
  std::string featureMap = "identity";
  bool normalize = false, nonCausal = false;
  double eps = 0, scale = 0;
};

/// Tensors of one call. Empty ones are absent.
struct Operands {
  Tensor query, key, value, decay, beta, state, normalizer, cuSeqlens;
  Tensor hedgehogWeight, hedgehogBias;
};

} // namespace

/// "%name", as the feature map changes it, and its type.
static std::pair<std::string, std::string> addFeatures(OperationCase &call, const Form &form,
                                                       const std::string &name, Tensor rows) {
  std::vector<int64_t> shape = dynamicDims(rows.shape(), 2);
  DType type = rows.dtype();
  std::string rowType = tensorType(shape, type);
  std::string value = call.addInput(name, std::move(rows), shape), mapped = "%mapped_" + name;
  for (auto [map, kind] : {std::pair("elu1", "elu_plus_one"), std::pair("relu", "relu"),
                           std::pair("relu2", "squared_relu")})
    if (form.featureMap == map) {
      call.entry.line(mapped + " = attn.activation " + kind + " " + value + " : " + rowType);
      return {mapped, rowType};
    }
  if (form.featureMap != "hedgehog")
    return {value, rowType};
  // The learned map's products stay f32.
  std::string wide = tensorType(shape, DType::F32);
  std::string width = std::to_string(shape[3]);
  std::string weightType =
      "tensor<" + width + "x" + width + "x" + std::string(dtypeName(type)) + ">";
  for (auto [dim, number] : {std::pair("b", "0"), std::pair("t", "1")}) {
    std::string constant = "%" + name + "_" + dim + "_number";
    call.entry.line(constant + " = arith.constant " + number + " : index");
    call.entry.line("%" + name + "_" + dim + " = tensor.dim " + value + ", " + constant + " : " +
                    rowType);
  }
  std::string prefix = "%" + name;
  call.entry.line(prefix + "_empty = tensor.empty(" + prefix + "_b, " + prefix + "_t) : " + wide);
  call.entry.line(prefix + "_bias = linalg.broadcast ins(%bias : tensor<" + width + "xf32>) outs(" +
                  prefix + "_empty : " + wide + ") dimensions = [0, 1, 2]");
  call.entry.line(prefix +
                  "_learned = linalg.contract indexing_maps = ["
                  "affine_map<(b, t, h, i, j) -> (b, t, h, j)>, "
                  "affine_map<(b, t, h, i, j) -> (i, j)>, "
                  "affine_map<(b, t, h, i, j) -> (b, t, h, i)>] ins(" +
                  value + ", %weight : " + rowType + ", " + weightType + ") outs(" + prefix +
                  "_bias : " + wide + ") -> " + wide);
  shape[3] *= 2;
  std::string featureType = tensorType(shape, DType::F32);
  call.entry.line(mapped + " = attn.softmax_features " + prefix + "_learned : " + wide + " -> " +
                  featureType);
  return {mapped, featureType};
}

/// An entry of the form, to be called with `operands`. Its arguments are query, key, value, ..., state and normalizer (in and out), o.
static OperationCase linearCall(const std::string &name, const std::string &symbol,
                                const Form &form, Operands operands) {
  OperationCase call(name, symbol);
  if (operands.hedgehogWeight.count()) {
    std::vector<int64_t> weightShape = operands.hedgehogWeight.shape();
    std::vector<int64_t> biasShape = operands.hedgehogBias.shape();
    call.addInput("weight", std::move(operands.hedgehogWeight), weightShape);
    call.addInput("bias", std::move(operands.hedgehogBias), biasShape);
  }
  std::vector<int64_t> outputShape = operands.query.shape();
  outputShape[2] = std::max(outputShape[2], operands.value.shape()[2]);
  outputShape[3] = operands.value.shape()[3];
  auto [query, queryType] = addFeatures(call, form, "query", std::move(operands.query));
  auto [key, keyType] = addFeatures(call, form, "key", std::move(operands.key));
  std::vector<int64_t> valueShape = dynamicDims(operands.value.shape(), 2);
  std::string valueType = tensorType(valueShape, operands.value.dtype());
  std::string value = call.addInput("value", std::move(operands.value), valueShape);

  std::string clauses;
  auto add = [&](const char *operand, Tensor tensor, size_t dynamic) {
    if (tensor.shape().empty())
      return;
    std::vector<int64_t> shape = dynamicDims(tensor.shape(), dynamic);
    std::string type = tensorType(shape, tensor.dtype());
    clauses += std::string(" ") + operand + "(" + call.addInput(operand, std::move(tensor), shape) +
               " : " + type + ")";
  };
  size_t decayRank = operands.decay.shape().size();
  add("decay", std::move(operands.decay), decayRank == 1 ? 0 : 2);
  add("beta", std::move(operands.beta), 2);
  add("cu_seqlens", std::move(operands.cuSeqlens), 1);
  std::string outputType = tensorType(dynamicDims(outputShape, 2), DType::F32);
  bool isWide = llvm::StringRef(queryType).ends_with("xf32>");
  if (!isWide)
    outputType = tensorType(dynamicDims(outputShape, 2), call.inputs["query"].dtype());
  std::string resultTypes = outputType, results = "%o, %final_state";
  auto addState = [&](const char *operand, const char *argument, Tensor tensor) {
    std::string type = tensorType(dynamicDims(tensor.shape(), 1), DType::F32);
    clauses +=
        std::string(" ") + operand + "(" + call.entry.cache(argument, type) + " : " + type + ")";
    resultTypes += ", " + type;
    call.inputs[argument] = std::move(tensor);
    return type;
  };
  std::string stateType = addState("initial_state", "state", std::move(operands.state)), zType;
  if (form.normalize) {
    zType = addState("initial_normalizer", "normalizer", std::move(operands.normalizer));
    results += ", %final_normalizer";
  }
  std::string attributes;
  auto addAttribute = [&](const std::string &text) {
    attributes += (attributes.empty() ? " {" : ", ") + text;
  };
  if (form.normalize)
    addAttribute("normalize, eps = " + floatText(form.eps));
  if (form.nonCausal)
    addAttribute("non_causal");
  if (form.scale != 0)
    addAttribute("scale = " + floatText(form.scale));
  if (!attributes.empty())
    attributes += "}";
  call.entry.line(results + " = attn.linear_attention " + form.rule + " " + query + ", " + key +
                  ", " + value + clauses + attributes + " : (" + queryType + ", " + keyType + ", " +
                  valueType + ") -> (" + resultTypes + ")");
  call.entry.result("%o", outputType, "o");
  call.entry.result("%final_state", stateType, "state", /*updatesCache=*/true);
  if (form.normalize)
    call.entry.result("%final_normalizer", zType, "normalizer", /*updatesCache=*/true);
  return call;
}

static Tensor zeros(std::vector<int64_t> shape) {
  return std::move(*Tensor::zeros(DType::F32, std::move(shape)));
}

/// "gated_delta_channel" -> "gated_delta"
static std::string ruleOf(llvm::StringRef kind) {
  (void)(kind.consume_back("_scalar") || kind.consume_back("_channel"));
  return kind.str();
}

/// Each mode is run on its first T tokens, for each T that has a state.
void addDeltaOperation(SingleCase &file) {
  Form form{ruleOf(llvm::StringRef(file.name()).drop_front(std::string("delta_op_").size()))};
  std::vector<int64_t> lengths = file.integers("lengths");
  for (const std::string &output : file.namesWith("output.")) {
    llvm::StringRef rest(output);
    if (!rest.consume_back(".o"))
      continue;
    std::string mode = rest.str(), dims = rest.split('.').first.str();
    for (int64_t length : lengths) {
      auto head = [&](const std::string &tensor, DType type) {
        return sliceTokens(file.copy(tensor, type).view(), 0, length);
      };
      Operands operands;
      operands.query = head("input." + dims + ".q", file.type());
      operands.key = head("input." + dims + ".k", file.type());
      operands.value = head("input." + dims + ".v", file.type());
      if (file.has("input." + mode + ".g"))
        operands.decay = head("input." + mode + ".g", DType::F32);
      if (file.has("input." + mode + ".beta"))
        operands.beta = head("input." + mode + ".beta", DType::F32);
      operands.state = file.copy("input." + dims + ".initial_state", DType::F32);
      std::string symbol = mode, suffix = "T" + std::to_string(length);
      std::replace(symbol.begin(), symbol.end(), '.', '_');
      OperationCase call = linearCall(mode + " " + suffix, symbol, form, std::move(operands));
      expect(call, "o", sliceTokens(file.get("output." + output), 0, length), file.limit());
      call.expectations.push_back(
          {"state", file.get("output." + mode + ".state_" + suffix), file.stateLimit()});
      file.add(std::move(call));
    }
  }
}

void addDeltaRagged(SingleCase &file) {
  for (const std::string &output : file.namesWith("output.")) {
    llvm::StringRef rest(output);
    if (!rest.consume_back(".o"))
      continue;
    // Packed tokens are a batch of one.
    auto packed = [&](const std::string &tensor, DType type) {
      std::vector<int64_t> shape = file.get(tensor).shape;
      shape.insert(shape.begin(), 1);
      return file.copy(tensor, type, shape);
    };
    std::string kind = rest.str();
    Operands operands;
    operands.query = packed("input.q", file.type());
    operands.key = packed("input.k", file.type());
    operands.value = packed("input.v", file.type());
    if (file.has("input." + kind + ".g"))
      operands.decay = packed("input." + kind + ".g", DType::F32);
    if (file.has("input." + kind + ".beta"))
      operands.beta = packed("input." + kind + ".beta", DType::F32);
    operands.state = file.copy("input.initial_state", DType::F32);
    operands.cuSeqlens = file.copy("input.cu_seqlens", DType::I32);
    OperationCase call = linearCall(kind, kind, {ruleOf(kind)}, std::move(operands));
    expect(call, "o", packed("output." + output, DType::F32), file.limit());
    call.expectations.push_back(
        {"state", file.get("output." + kind + ".final_state"), file.stateLimit()});
    file.add(std::move(call));
  }
}

void addRetention(SingleCase &file) {
  Operands operands;
  operands.query = file.copy("input.q", file.type());
  operands.key = file.copy("input.k", file.type());
  operands.value = file.copy("input.v", file.type());
  operands.decay = file.copy("input.g", DType::F32);
  operands.state = zeros(file.get("output.state").shape);
  OperationCase call = linearCall("retention", "retention", {"gated"}, std::move(operands));
  call.expectations.push_back({"o", file.get("output.o"), file.limit()});
  call.expectations.push_back({"state", file.get("output.state"), file.stateLimit()});
  file.add(std::move(call));
}

/// Tokens begin .. end of the feature map file; states are those that the tokens before left.
static OperationCase featureCall(SingleCase &file, const std::string &name, const Form &form,
                                 int64_t begin, int64_t end) {
  auto part = [&](const std::string &tensor) {
    return sliceTokens(file.copy(tensor, file.type()).view(), begin, end - begin);
  };
  Operands operands;
  operands.query = part("input.q");
  operands.key = part("input.k");
  operands.value = part("input.v");
  std::string prefix = "output." + form.featureMap;
  if (form.featureMap == "hedgehog") {
    operands.hedgehogWeight = file.copy("weight.hedgehog.weight", file.type());
    operands.hedgehogBias = file.copy("weight.hedgehog.bias", DType::F32);
  }
  const TensorView &state = file.get(prefix + ".state_split");
  const TensorView &normalizer = file.get(prefix + ".z_split");
  operands.state = begin ? convert(state, DType::F32) : zeros(state.shape);
  operands.normalizer = begin ? convert(normalizer, DType::F32) : zeros(normalizer.shape);
  std::string symbol = form.featureMap + (form.nonCausal ? "_full" : "_causal") +
                       (form.normalize ? "_norm" : "_plain") + (form.eps < 1e-8 ? "_fla" : "");
  return linearCall(name, symbol, form, std::move(operands));
}

void addFeatureMaps(SingleCase &file) {
  const double scale = 1 / std::sqrt(double(file.integer("dk")));
  int64_t length = file.integer("length"), split = file.integer("split");
  for (const char *map : {"identity", "elu1", "relu", "relu2", "hedgehog"}) {
    std::string prefix = std::string("output.") + map;
    auto expectStates = [&](OperationCase &call, bool normalize, const std::string &suffix) {
      call.expectations.push_back(
          {"state", file.get(prefix + ".state" + suffix), file.stateLimit()});
      if (normalize)
        call.expectations.push_back(
            {"normalizer", file.get(prefix + ".z" + suffix), file.stateLimit()});
    };
    for (bool nonCausal : {false, true})
      for (auto [kind, eps, factor] :
           {std::tuple("plain", 0.0, scale), std::tuple("norm", 1e-6, 1.0),
            std::tuple("norm_fla", 1e-10, scale)}) {
        std::string name = std::string(map) + (nonCausal ? ".full." : ".causal.") + kind;
        if (!file.has("output." + name + ".o"))
          continue;
        Form form{"linear", map, eps > 0, nonCausal, eps, factor};
        OperationCase call = featureCall(file, name, form, 0, length);
        call.expectations.push_back({"o", file.get("output." + name + ".o"), file.limit()});
        expectStates(call, form.normalize, "");
        file.add(std::move(call));
      }
    // Two calls. There is no normalised output of the identity, but its states.
    Form form{"linear", map, true, false, 1e-6, 1.0};
    OperationCase first = featureCall(file, std::string(map) + ".first", form, 0, split);
    expectStates(first, true, "_split");
    OperationCase second = featureCall(file, std::string(map) + ".second", form, split, length);
    expectStates(second, true, "");
    std::string output = prefix + ".causal.norm.o";
    if (file.has(output)) {
      expect(first, "o", sliceTokens(file.get(output), 0, split), file.limit());
      expect(second, "o", sliceTokens(file.get(output), split, length - split), file.limit());
    }
    file.add(std::move(first));
    file.add(std::move(second));
  }
}

} // namespace heddle::goldens
