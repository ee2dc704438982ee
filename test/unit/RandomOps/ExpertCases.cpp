//===- ExpertCases.cpp - random routers and experts -----------------------===//

#include "OpCase.h"

#include "../Integration/RouterFormula.h"

#include <algorithm>
#include <cmath>
#include <set>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

namespace {
struct RandomRouter : RouterSpec {
  DType type, correctionType;
  bool coarse;
};
} // namespace

static OpCall routerCall(const RandomRouter &spec, const RandomShape &rows, Random &random) {
  Array z = Array::filled(spec.type, rows.extents(random), [&](const auto &) {
    return spec.coarse ? double(random.integer(-3, 3)) : random.real(-6, 6);
  });
  Array correction = Array::uniform(spec.correctionType, {spec.experts}, random, -0.5, 0.5);
  std::vector<double> indices, weights, scales;
  for (int64_t first = 0; first < z.count(); first += spec.experts) {
    std::vector<double> logits;
    for (int64_t e = 0; e < spec.experts; ++e)
      logits.push_back(z[first + e]);
    Route expected = route(spec, logits, correction);
    indices.insert(indices.end(), expected.experts.begin(), expected.experts.end());
    for (double weight : expected.weights) {
      weights.push_back(weight);
      scales.push_back(std::abs(weight) * 16);
    }
  }
  OpCall call;
  Array::Index shape = z.shape();
  shape.back() = spec.topK;
  call.add(z);
  if (spec.correction)
    call.add(correction);
  call.results.push_back({call.add(Array(DType::I32, shape)), indices, {}});
  call.expect(DType::F32, shape, weights, scales);
  return call;
}

static OpCase router(const std::string &symbol, Random &random) {
  RandomRouter spec;
  spec.type = randomNarrowFloat(random);
  spec.correctionType = randomNarrowFloat(random);
  spec.isSigmoid = random.chance(0.5);
  spec.correction = random.chance(0.4);
  spec.renormalize = random.chance(0.6);
  spec.coarse = random.chance(0.4);
  std::vector<std::string> attributes;
  auto number = [&](const std::string &name, int64_t value) {
    attributes.push_back(name + " = " + std::to_string(value) + " : i64");
  };
  if (random.chance(0.4)) {
    spec.groups = random.integer(1, 5);
    int64_t size = random.integer(1, 6);
    spec.experts = spec.groups * size;
    spec.topGroups = random.integer(1, spec.groups);
    spec.topK = random.integer(1, spec.topGroups * size);
    spec.groupTop = size < 2 || random.chance(0.5) ? random.integer(1, size) : 2;
    number("groups", spec.groups);
    number("top_groups", spec.topGroups);
    number("group_top", spec.groupTop);
  } else {
    spec.experts = random.integer(1, 40);
    spec.topK = random.integer(1, std::min<int64_t>(spec.experts, 10));
  }
  number("top_k", spec.topK);
  if (spec.renormalize)
    attributes.push_back("renormalize");
  if (random.chance(0.4)) {
    spec.scale = random.real(0.5, 3);
    attributes.push_back("scale = " + floatText(spec.scale));
  }
  RandomShape rows = randomRows(random, 1, 5, spec.experts, false);
  std::vector<int64_t> shape = rows.type;
  shape.back() = spec.topK;
  EntryText entry(symbol);
  std::string logits = tensorType(rows.type, spec.type), indices = tensorType(shape, DType::I32),
              weights = tensorType(shape, DType::F32),
              correction = tensorType({spec.experts}, spec.correctionType);
  std::string text =
      std::string(spec.isSigmoid ? "sigmoid " : "softmax ") + entry.argument("z", logits);
  if (spec.correction)
    text += " correction(" + entry.argument("correction", correction) + " : " + correction + ")";
  text += attributeText(attributes) + " : " + logits + " -> " + indices + ", " + weights;
  entry.line("%i, %w = attn.router " + text);
  entry.result("%i", indices, "i");
  entry.result("%w", weights, "w");
  return {entry.text(), text, [=](Random &random) { return routerCall(spec, rows, random); }};
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {
struct ExpertsSpec {
  std::string kind;
  DType type, weightType, biasType, outputType;
  int64_t experts, hidden, dim, slots;
  bool perExpert, hasUp, transposed, interleaved, gateBias, downBias;

  int64_t gateOutputs() const { return hasUp ? hidden : 2 * hidden; }
};

/// Matrices of all experts, [E, out, in] whatever the memory is.
struct ExpertMatrices {
  Array all;

  ExpertMatrices(const ExpertsSpec &spec, int64_t outputs, int64_t inputs, Random &random)
      : all(Array::uniform(spec.weightType, {spec.experts, outputs, inputs}, random, -0.7, 0.7)) {}

  /// As arguments: one or one for each expert, perhaps with exchanged dimensions.
  std::vector<Array> arguments(const ExpertsSpec &spec) const {
    Array memory = all;
    if (spec.transposed)
      memory = Array::filled(all.type(), {all.shape()[0], all.shape()[2], all.shape()[1]},
                             [&](const auto &at) { return all.get({at[0], at[2], at[1]}); });
    std::vector<Array> list;
    for (int64_t e = 0; spec.perExpert && e < spec.experts; ++e)
      list.push_back(Array::filled(all.type(), {memory.shape()[1], memory.shape()[2]},
                                   [&](const auto &at) { return memory.get({e, at[0], at[1]}); }));
    if (!spec.perExpert)
      list.push_back(memory);
    return list;
  }
};
} // namespace

static double roundedTo(DType type, double value) {
  Array one = Array::constant(type, {1}, value);
  return one[0];
}

static double gluOf(const std::string &kind, double g, double u) {
  if (kind == "gpt_oss") {
    g = std::min(g, 7.0);
    return g * sigmoid(1.702 * g) * (std::clamp(u, -7.0, 7.0) + 1);
  }
  if (kind == "swiglu")
    return g * sigmoid(g) * u;
  if (kind == "geglu")
    return 0.5 * g * std::erfc(-g / std::sqrt(2.0)) * u;
  return sigmoid(g) * u;
}

static OpCall expertsCall(const ExpertsSpec &spec, const RandomShape &tokens, Random &random) {
  Array::Index shape = tokens.extents(random), slotShape = shape;
  slotShape.back() = spec.slots;
  Array x = Array::uniform(spec.type, shape, random);
  Array indices = Array::filled(DType::I32, slotShape, [&](const auto &) {
    return random.chance(0.1) ? double(random.chance(0.5) ? -1 : spec.experts)
                              : double(random.integer(0, spec.experts - 1));
  });
  Array weights = Array::uniform(DType::F32, slotShape, random);
  ExpertMatrices gate(spec, spec.gateOutputs(), spec.dim, random),
      up(spec, spec.hidden, spec.dim, random), down(spec, spec.dim, spec.hidden, random);
  auto bias = [&](int64_t outputs) {
    return Array::uniform(spec.biasType, {spec.experts, outputs}, random);
  };
  Array gateBias = bias(spec.gateOutputs()), upBias = bias(spec.hidden), downBias = bias(spec.dim);
  std::vector<double> y, scales;
  for (int64_t token = 0; token * spec.dim < x.count(); ++token) {
    std::vector<double> sum(size_t(spec.dim)), size(size_t(spec.dim));
    for (int64_t slot = 0; slot < spec.slots; ++slot) {
      int64_t e = int64_t(indices[token * spec.slots + slot]);
      if (e < 0 || e >= spec.experts)
        continue;
      double weight = weights[token * spec.slots + slot];
      auto product = [&](const ExpertMatrices &matrix, int64_t row) {
        double total = 0;
        for (int64_t d = 0; d < spec.dim; ++d)
          total += matrix.all.get({e, row, d}) * x[token * spec.dim + d];
        return total;
      };
      std::vector<double> a;
      for (int64_t f = 0; f < spec.hidden; ++f) {
        int64_t gateRow = f, upRow = f;
        if (!spec.hasUp) {
          gateRow = spec.interleaved ? 2 * f : f;
          upRow = spec.interleaved ? 2 * f + 1 : spec.hidden + f;
        }
        double g = product(gate, gateRow), u = product(spec.hasUp ? up : gate, upRow);
        if (spec.gateBias) {
          g += gateBias.get({e, gateRow});
          u += (spec.hasUp ? upBias : gateBias).get({e, upRow});
        }
        a.push_back(roundedTo(spec.type, gluOf(spec.kind, g, u)));
      }
      for (int64_t d = 0; d < spec.dim; ++d) {
        double own = spec.downBias ? downBias.get({e, d}) : 0, terms = std::abs(own);
        for (int64_t f = 0; f < spec.hidden; ++f) {
          own += down.all.get({e, d, f}) * a[size_t(f)];
          // gpt_oss' gate and its products are around 1, whatever comes out.
          terms += std::abs(down.all.get({e, d, f})) * (std::abs(a[size_t(f)]) + 0.1);
        }
        sum[size_t(d)] += weight * own;
        size[size_t(d)] += std::abs(weight) * terms;
      }
    }
    y.insert(y.end(), sum.begin(), sum.end());
    scales.insert(scales.end(), size.begin(), size.end());
  }
  OpCall call;
  call.add(x);
  call.add(indices);
  call.add(weights);
  auto addAll = [&](const std::vector<Array> &list) {
    for (const Array &array : list)
      call.add(array);
  };
  auto addBias = [&](bool present, const Array &all) {
    if (!present)
      return;
    for (int64_t e = 0; spec.perExpert && e < spec.experts; ++e)
      call.add(Array::filled(all.type(), {all.shape()[1]},
                             [&](const auto &at) { return all.get({e, at[0]}); }));
    if (!spec.perExpert)
      call.add(all);
  };
  addAll(gate.arguments(spec));
  addBias(spec.gateBias, gateBias);
  if (spec.hasUp) {
    addAll(up.arguments(spec));
    addBias(spec.gateBias, upBias);
  }
  addAll(down.arguments(spec));
  addBias(spec.downBias, downBias);
  call.expect(spec.outputType, shape, y, scales);
  // What is rounded between the products may be rounded the other way.
  call.results.back().arithmetic = 1e-5 + 2 * unitOf(spec.type);
  return call;
}

static OpCase experts(const std::string &symbol, Random &random) {
  static const char *kinds[] = {"swiglu", "geglu", "sigmoid", "gpt_oss"};
  ExpertsSpec spec;
  spec.kind = pick(random, kinds);
  spec.type = randomNarrowFloat(random);
  spec.weightType = random.chance(0.6) ? spec.type : randomNarrowFloat(random);
  spec.biasType = randomNarrowFloat(random);
  spec.outputType = random.chance(0.6) ? spec.type : randomNarrowFloat(random);
  spec.experts = random.integer(1, 5);
  spec.hidden = random.integer(1, 12);
  spec.dim = random.integer(1, 16);
  spec.slots = random.integer(1, 4);
  spec.perExpert = random.chance(0.4);
  spec.hasUp = random.chance(0.6);
  spec.transposed = random.chance(0.4);
  spec.interleaved = !spec.hasUp && random.chance(0.5);
  spec.gateBias = random.chance(0.4);
  spec.downBias = random.chance(0.4);
  RandomShape tokens = randomRows(random, 1, 4, spec.dim, false);
  std::vector<int64_t> slots = tokens.type;
  slots.back() = spec.slots;
  EntryText entry(symbol);
  std::string x = tensorType(tokens.type, spec.type), i = tensorType(slots, DType::I32),
              w = tensorType(slots, DType::F32), y = tensorType(tokens.type, spec.outputType);
  std::string text = spec.kind + " " + entry.argument("x", x) + ", " + entry.argument("i", i) +
                     ", " + entry.argument("w", w);
  auto clause = [&](const std::string &name, std::vector<int64_t> shape, DType type) {
    if (!spec.perExpert)
      shape.insert(shape.begin(), spec.experts);
    std::string values, types;
    for (int64_t e = 0; e < (spec.perExpert ? spec.experts : 1); ++e) {
      values += (e ? ", " : "") + entry.argument(name + std::to_string(e), tensorType(shape, type));
      types += (e ? ", " : "") + tensorType(shape, type);
    }
    text += " " + name + "(" + values + " : " + types + ")";
  };
  auto matrix = [&](const std::string &name, int64_t outputs, int64_t inputs) {
    clause(name,
           spec.transposed ? std::vector<int64_t>{inputs, outputs}
                           : std::vector<int64_t>{outputs, inputs},
           spec.weightType);
  };
  matrix("gate", spec.gateOutputs(), spec.dim);
  if (spec.gateBias)
    clause("gate_bias", {spec.gateOutputs()}, spec.biasType);
  if (spec.hasUp) {
    matrix("up", spec.hidden, spec.dim);
    if (spec.gateBias)
      clause("up_bias", {spec.hidden}, spec.biasType);
  }
  matrix("down", spec.dim, spec.hidden);
  if (spec.downBias)
    clause("down_bias", {spec.dim}, spec.biasType);
  std::vector<std::string> attributes;
  if (spec.transposed)
    attributes.push_back("transposed");
  if (spec.interleaved)
    attributes.push_back("interleaved");
  text += attributeText(attributes) + " : (" + x + ", " + i + ", " + w + ") -> " + y;
  entry.line("%y = attn.experts " + text);
  entry.result("%y", y, "y");
  return {entry.text(), text, [=](Random &random) { return expertsCall(spec, tokens, random); }};
}

const std::vector<OpKind> &expertKinds() {
  static const std::vector<OpKind> kinds = {{"router", router, 70}, {"experts", experts, 60}};
  return kinds;
}

} // namespace heddle::test
