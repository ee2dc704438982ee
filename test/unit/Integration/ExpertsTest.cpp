//===- ExpertsTest.cpp - routers and experts against their formulas -------===//

#include "Program.h"
#include "RouterFormula.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace {

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

struct NamedRouter : RouterSpec {
  std::string name;

  NamedRouter(const char *name, RouterSpec spec) : RouterSpec(spec), name(name) {}

  std::string entry() const {
    EntryText entry(name);
    std::string logits = tensorType({-1, -1, experts}, DType::F32);
    std::string text = std::string("%i, %w = attn.router ") +
                       (isSigmoid ? "sigmoid " : "softmax ") + entry.argument("logits", logits);
    std::string vector = tensorType({experts}, DType::F32);
    if (correction)
      text += " correction(" + entry.argument("correction", vector) + " : " + vector + ")";
    text += " {top_k = " + std::to_string(topK) + " : i64, scale = " + floatText(scale);
    if (groups)
      text += ", groups = " + std::to_string(groups) +
              " : i64, top_groups = " + std::to_string(topGroups) +
              " : i64, group_top = " + std::to_string(groupTop) + " : i64";
    std::string indices = tensorType({-1, -1, topK}, DType::I32);
    std::string weights = tensorType({-1, -1, topK}, DType::F32);
    entry.line(text + (renormalize ? ", renormalize" : "") + "} : " + logits + " -> " + indices +
               ", " + weights);
    entry.result("%i", indices, "indices");
    entry.result("%w", weights, "weights");
    return entry.text();
  }
};

const std::vector<NamedRouter> &routerSpecs() {
  static const std::vector<NamedRouter> specs = {
      {"mixtral", {8, 2, false, false, true}},
      {"softmax", {60, 4}},
      {"all", {5, 5, false, false, true}},
      {"one", {1, 1}},
      {"qwen3_next", {512, 10, false, false, true}},
      {"deepseek_v2", {32, 6, false, false, false, 8, 3, 1, 16.0}},
      {"deepseek_v3", {64, 8, true, true, true, 8, 4, 2, 2.5}},
      {"sigmoid", {16, 3, true}},
      {"corrected", {16, 3, false, true, true}},
  };
  return specs;
}

class Router : public EachWay<Router> {
public:
  static void addEntries(Program &program) {
    for (const NamedRouter &spec : routerSpecs())
      program.add(spec.entry());
  }

protected:
  void callRouter(const NamedRouter &spec, Array &logits, Array &correction, Array &indices,
                  Array &weights) {
    indices = Array(DType::I32, {logits.shape()[0], logits.shape()[1], spec.topK});
    weights = Array(DType::F32, indices.shape());
    std::vector<Array *> arguments = {&logits};
    if (spec.correction)
      arguments.push_back(&correction);
    arguments.insert(arguments.end(), {&indices, &weights});
    program->call(spec.name, arguments);
  }

  void check(const NamedRouter &spec, Array &logits, Array &correction) {
    Array indices, weights;
    callRouter(spec, logits, correction, indices, weights);
    std::vector<double> expected;
    for (int64_t t = 0; t < logits.count() / spec.experts; ++t) {
      std::vector<double> row;
      for (int64_t e = 0; e < spec.experts; ++e)
        row.push_back(logits[t * spec.experts + e]);
      auto [chosen, factors] = route(spec, row, correction);
      for (int64_t s = 0; s < spec.topK; ++s)
        ASSERT_EQ(indices[t * spec.topK + s], double(chosen[size_t(s)]))
            << spec.name << " token " << t << " choice " << s;
      expected.insert(expected.end(), factors.begin(), factors.end());
    }
    EXPECT_LT(relativeError(weights, expected), 1e-5) << spec.name;
  }
};

} // namespace

TEST_P(Router, AgreesWithSorting) {
  for (const NamedRouter &spec : routerSpecs()) {
    Random random(3);
    // Multiples of 1/64 in one order: apart from each other by more than roundings.
    Array logits = Array::filled(DType::F32, {3, 5, spec.experts}, [&](const Array::Index &) {
      return double(random.integer(-256, 256)) / 64;
    });
    if (spec.isSigmoid || spec.correction || spec.groups)
      logits = Array::uniform(DType::F32, {3, 5, spec.experts}, random, -2, 2);
    Array correction = Array::uniform(DType::F32, {spec.experts}, random, 0, 1);
    check(spec, logits, correction);
  }
}

TEST_P(Router, EqualLogitsInTheOrderOfExperts) {
  for (const NamedRouter &spec : routerSpecs()) {
    Array logits = Array::constant(DType::F32, {1, 2, spec.experts}, 1.5);
    Array correction = Array::constant(DType::F32, {spec.experts}, 0.25);
    check(spec, logits, correction);
  }
}

TEST_P(Router, FarApartLogitsKeepTheirOrder) {
  // All but one have a softmax of 0 in f32.
  const NamedRouter &spec = routerSpecs()[1];
  Array logits = Array::filled(DType::F32, {1, 1, spec.experts}, [&](const Array::Index &at) {
    return at[2] == 7 ? 1000.0 : double((at[2] * 37) % spec.experts);
  });
  Array none;
  check(spec, logits, none);
}

TEST_P(Router, NotANumberIsChosenLast) {
  const NamedRouter &spec = routerSpecs()[0];
  double nan = std::numeric_limits<double>::quiet_NaN();
  Array logits = Array::filled(DType::F32, {1, 2, 8}, [&](const Array::Index &at) {
    return at[1] == 1 || at[2] < 6 ? nan : double(at[2]);
  });
  Array none, indices, weights;
  callRouter(spec, logits, none, indices, weights);
  EXPECT_EQ(indices.values(), (std::vector<double>{7, 6, 0, 1}));
}

TEST_P(Router, NoTokens) {
  for (const NamedRouter &spec : routerSpecs()) {
    Array logits(DType::F32, {0, 3, spec.experts}), correction(DType::F32, {spec.experts});
    Array indices, weights;
    callRouter(spec, logits, correction, indices, weights);
  }
}

HEDDLE_TEST_EACH_WAY(Router, graphWays);

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

struct ExpertsSpec {
  std::string name, kind;
  int64_t experts, dim, hidden;
  bool perExpert = false, fused = false, transposed = false, interleaved = false, biases = false;
  DType type = DType::F32;
  int64_t chosen = 3;

  int64_t gateOutputs() const { return fused ? 2 * hidden : hidden; }

  /// Shape of gate, up or down for one expert.
  Array::Index matrix(int64_t outputs, int64_t inputs) const {
    return transposed ? Array::Index{inputs, outputs} : Array::Index{outputs, inputs};
  }

  /// Names of weights and shapes for one expert.
  std::vector<std::pair<std::string, Array::Index>> weights() const {
    std::vector<std::pair<std::string, Array::Index>> list = {{"gate", matrix(gateOutputs(), dim)},
                                                              {"down", matrix(dim, hidden)}};
    if (!fused)
      list.push_back({"up", matrix(hidden, dim)});
    if (biases) {
      list.push_back({"gate_bias", {gateOutputs()}});
      list.push_back({"down_bias", {dim}});
      if (!fused)
        list.push_back({"up_bias", {hidden}});
    }
    return list;
  }

  std::string entry() const {
    EntryText entry(name);
    std::string xType = tensorType({-1, -1, dim}, type);
    std::string iType = tensorType({-1, -1, chosen}, DType::I32);
    std::string wType = tensorType({-1, -1, chosen}, DType::F32);
    std::string text = "%y = attn.experts " + kind + " " + entry.argument("x", xType);
    text += ", " + entry.argument("indices", iType);
    text += ", " + entry.argument("weights", wType);
    for (auto [weight, shape] : weights()) {
      std::string values, types;
      if (!perExpert)
        shape.insert(shape.begin(), experts);
      for (int64_t e = 0; e < (perExpert ? experts : 1); ++e) {
        std::string tensor = tensorType(shape, type);
        values += (e ? ", " : "") + entry.argument(weight + std::to_string(e), tensor);
        types += (e ? ", " : "") + tensor;
      }
      text += " " + weight + "(" + values + " : " + types + ")";
    }
    std::string flags = transposed ? "transposed" : "";
    if (interleaved)
      flags += flags.empty() ? "interleaved" : ", interleaved";
    std::string yType = tensorType({-1, -1, dim}, DType::F32);
    entry.line(text + " {" + flags + "} : (" + xType + ", " + iType + ", " + wType + ") -> " +
               yType);
    entry.result("%y", yType, "y");
    return entry.text();
  }
};

const std::vector<ExpertsSpec> &expertsSpecs() {
  static const std::vector<ExpertsSpec> specs = [] {
    std::vector<ExpertsSpec> list;
    for (DType type : {DType::F32, DType::BF16, DType::F16}) {
      std::string suffix = "_" + std::string(dtypeName(type));
      list.push_back(
          {"stacked" + suffix, "swiglu", 6, 40, 24, false, false, false, false, false, type});
      list.push_back(
          {"each" + suffix, "geglu_tanh", 4, 40, 24, true, false, false, false, true, type});
      list.push_back(
          {"gpt_oss" + suffix, "gpt_oss", 5, 40, 24, false, true, true, true, true, type});
      list.push_back(
          {"halves" + suffix, "swiglu", 3, 17, 9, true, true, false, false, false, type});
    }
    return list;
  }();
  return specs;
}

double glu(const std::string &kind, double g, double u) {
  if (kind == "swiglu")
    return g / (1 + std::exp(-g)) * u;
  if (kind == "geglu_tanh")
    return 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * u;
  g = std::min(g, 7.0);
  u = std::clamp(u, -7.0, 7.0);
  return g / (1 + std::exp(-1.702 * g)) * (u + 1);
}

struct ExpertsCall {
  Array input, indices, weights;
  std::map<std::string, Array> tensors; ///< of all experts, [E, ...]

  double weight(const ExpertsSpec &spec, const std::string &name, int64_t e, int64_t out,
                int64_t in) const {
    return tensors.at(name).get(spec.transposed ? Array::Index{e, in, out}
                                                : Array::Index{e, out, in});
  }
  double bias(const std::string &name, int64_t e, int64_t out) const {
    auto found = tensors.find(name);
    return found == tensors.end() ? 0 : found->second.get({e, out});
  }
};

std::vector<double> evaluate(const ExpertsSpec &spec, const ExpertsCall &call) {
  std::vector<double> output(size_t(call.input.count()));
  int64_t tokens = call.input.count() / spec.dim;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t s = 0; s < spec.chosen; ++s) {
      auto e = int64_t(call.indices[t * spec.chosen + s]);
      if (e < 0 || e >= spec.experts)
        continue;
      auto product = [&](const std::string &name, int64_t out) {
        double sum = call.bias(name + "_bias", e, out);
        for (int64_t d = 0; d < spec.dim; ++d)
          sum += call.weight(spec, name, e, out, d) * call.input[t * spec.dim + d];
        return sum;
      };
      std::vector<double> hidden;
      for (int64_t f = 0; f < spec.hidden; ++f) {
        double g = product("gate", spec.interleaved ? 2 * f : f);
        double u = spec.fused ? product("gate", spec.interleaved ? 2 * f + 1 : spec.hidden + f)
                              : product("up", f);
        hidden.push_back(glu(spec.kind, g, u));
      }
      for (int64_t d = 0; d < spec.dim; ++d) {
        double sum = call.bias("down_bias", e, d);
        for (int64_t f = 0; f < spec.hidden; ++f)
          sum += call.weight(spec, "down", e, d, f) * hidden[size_t(f)];
        output[size_t(t * spec.dim + d)] += call.weights[t * spec.chosen + s] * sum;
      }
    }
  return output;
}

class Experts : public EachWay<Experts> {
public:
  static void addEntries(Program &program) {
    for (const ExpertsSpec &spec : expertsSpecs())
      program.add(spec.entry());
  }

protected:
  ExpertsCall random(const ExpertsSpec &spec, int64_t batch, int64_t length, int64_t seed,
                     int64_t low, int64_t high) {
    Random random(seed);
    ExpertsCall call;
    call.input = Array::uniform(spec.type, {batch, length, spec.dim}, random);
    call.weights = Array::uniform(DType::F32, {batch, length, spec.chosen}, random);
    call.indices =
        Array::filled(DType::I32, {batch, length, spec.chosen},
                      [&](const Array::Index &) { return double(random.integer(low, high)); });
    for (auto [name, shape] : spec.weights()) {
      shape.insert(shape.begin(), spec.experts);
      call.tensors[name] = Array::uniform(spec.type, shape, random);
    }
    return call;
  }

  Array run(const ExpertsSpec &spec, ExpertsCall &call, int32_t threads = 0) {
    Array output(DType::F32, call.input.shape());
    std::vector<Array> parts;
    for (auto &[name, shape] : spec.weights()) {
      Array &whole = call.tensors.at(name);
      if (!spec.perExpert)
        parts.push_back(whole);
      for (int64_t e = 0; spec.perExpert && e < spec.experts; ++e) {
        Array::Index steps(whole.strides().begin() + 1, whole.strides().end());
        parts.push_back(whole.slice(0, e, 1).withStrides(shape, steps));
      }
    }
    std::vector<Array *> arguments = {&call.input, &call.indices, &call.weights};
    for (Array &part : parts)
      arguments.push_back(&part);
    arguments.push_back(&output);
    program->call(spec.name, arguments, threads);
    return output;
  }
};

} // namespace

TEST_P(Experts, AgreeWithTheFormula) {
  for (const ExpertsSpec &spec : expertsSpecs())
    for (auto [batch, length] : {std::pair(1, 1), std::pair(2, 5), std::pair(1, 70)}) {
      ExpertsCall call = random(spec, batch, length, length, 0, spec.experts - 1);
      EXPECT_LT(relativeError(run(spec, call), evaluate(spec, call)), errorLimit(spec.type))
          << spec.name << " L=" << length;
    }
}

TEST_P(Experts, SlotsWithoutAnExpertAddNothing) {
  for (const ExpertsSpec &spec : expertsSpecs()) {
    ExpertsCall call = random(spec, 2, 9, 5, -1, spec.experts);
    // Whatever their weights are, and also where a token has none but such.
    for (int64_t slot = 0; slot < call.indices.count(); ++slot) {
      if (slot < spec.chosen)
        call.indices.set({0, 0, slot}, slot == 1 ? 2147483647 : -2147483648.0);
      if (call.indices[slot] < 0 || call.indices[slot] >= spec.experts)
        call.weights.set(call.weights.indexOf(slot), std::numeric_limits<double>::quiet_NaN());
    }
    Array output = run(spec, call);
    EXPECT_LT(relativeError(output, evaluate(spec, call)), errorLimit(spec.type)) << spec.name;
    for (int64_t d = 0; d < spec.dim; ++d)
      EXPECT_EQ(output[d], 0.0) << spec.name;
  }
}

TEST_P(Experts, AllTokensWithOneExpert) {
  for (const ExpertsSpec &spec : expertsSpecs()) {
    ExpertsCall call = random(spec, 1, 33, 8, spec.experts - 1, spec.experts - 1);
    EXPECT_LT(relativeError(run(spec, call), evaluate(spec, call)), errorLimit(spec.type))
        << spec.name;
  }
}

TEST_P(Experts, OneByOneIsTogether) {
  for (const ExpertsSpec &spec : expertsSpecs()) {
    ExpertsCall call = random(spec, 1, 12, 9, 0, spec.experts - 1);
    Array together = run(spec, call);
    for (int64_t t = 0; t < 12; ++t) {
      ExpertsCall one = call;
      one.input = call.input.slice(1, t, 1);
      one.indices = call.indices.slice(1, t, 1);
      one.weights = call.weights.slice(1, t, 1);
      EXPECT_LT(relativeError(run(spec, one), together.slice(1, t, 1).values()), 1e-6) << spec.name;
    }
  }
}

TEST_P(Experts, ThreadsAndNoTokens) {
  for (const ExpertsSpec &spec : expertsSpecs()) {
    ExpertsCall call = random(spec, 1, 40, 10, 0, spec.experts - 1);
    EXPECT_TRUE(run(spec, call, 1).sameBits(run(spec, call, 3))) << spec.name;
    ExpertsCall none = random(spec, 2, 0, 11, 0, 0);
    run(spec, none);
  }
}

HEDDLE_TEST_EACH_WAY(Experts, cpuWays);
