//===- ActivationCases.cpp - random activations, gates and feature maps ---===//

#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
/// A value of a function, and what errors of f32 in it are relative to.
struct Valued {
  double value, scale;
};
} // namespace

static Valued activated(const std::string &kind, double x) {
  if (kind == "silu")
    return {x * sigmoid(x), std::abs(x * sigmoid(x)) * (1 + std::abs(x))};
  if (kind == "sigmoid")
    return {sigmoid(x), sigmoid(x) * (1 + std::abs(x))};
  // 1 + erf and 1 + tanh cancel for negative x.
  if (kind == "gelu")
    return {0.5 * x * std::erfc(-x / std::sqrt(2.0)), std::abs(x)};
  if (kind == "gelu_tanh") {
    double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return {0.5 * x * (1 + std::tanh(inner)), std::abs(x)};
  }
  if (kind == "elu_plus_one")
    return x > 0 ? Valued{x + 1, x + 1} : Valued{std::exp(x), std::exp(x) * (1 + std::abs(x))};
  double positive = std::max(x, 0.0);
  if (kind == "relu")
    return {positive, positive};
  return {positive * positive, positive * positive};
}

static OpCase activation(const std::string &symbol, Random &random) {
  static const char *kinds[] = {"silu",         "sigmoid", "gelu",        "gelu_tanh",
                                "elu_plus_one", "relu",    "squared_relu"};
  static const double ranges[] = {1, 6, 30, 120};
  std::string kind = pick(random, kinds);
  double range = pick(random, ranges);
  DType type = randomFloat(random);
  int64_t width = randomWidth(random);
  RandomShape rows = randomRows(random, 1, 8, width, random.chance(0.4));
  EntryText entry(symbol);
  std::string rowType = tensorType(rows.type, type);
  entry.line("%y = attn.activation " + kind + " " + entry.argument("x", rowType) + " : " + rowType);
  entry.result("%y", rowType, "y");
  std::string options =
      kind + " " + std::string(dtypeName(type)) + " range " + std::to_string(range) + " " + rowType;
  return {entry.text(), options, [=](Random &random) {
            Array x = randomRowsOf(type, rows.extents(random), random, range);
            std::vector<double> y, scales;
            for (int64_t i = 0; i < x.count(); ++i) {
              Valued own = activated(kind, x[i]);
              y.push_back(own.value);
              scales.push_back(own.scale);
            }
            OpCall call;
            call.add(x);
            call.expect(type, x.shape(), y, scales);
            return call;
          }};
}

static OpCase glu(const std::string &symbol, Random &random) {
  static const char *kinds[] = {"swiglu", "geglu", "geglu_tanh", "sigmoid", "gpt_oss", "gpt_oss"};
  std::string kind = pick(random, kinds);
  DType type = randomFloat(random);
  bool hasLimit = kind == "gpt_oss" && random.chance(0.6);
  double limit = hasLimit ? random.real(0.5, 9) : 7;
  RandomShape rows = randomRows(random, 1, 8, randomWidth(random), random.chance(0.4));
  EntryText entry(symbol);
  std::string rowType = tensorType(rows.type, type);
  std::string gate = entry.argument("gate", rowType), up = entry.argument("up", rowType);
  entry.line("%y = attn.glu " + kind + " " + gate + ", " + up +
             (hasLimit ? " {limit = " + floatText(limit) + "}" : "") + " : " + rowType);
  entry.result("%y", rowType, "y");
  return {entry.text(), kind + " " + std::to_string(limit) + " " + rowType, [=](Random &random) {
            Array gate = Array::uniform(type, rows.extents(random), random, -12, 12);
            Array up = Array::uniform(type, gate.shape(), random, -12, 12);
            std::vector<double> y, scales;
            for (int64_t i = 0; i < gate.count(); ++i) {
              double g = gate[i], u = up[i];
              if (kind == "gpt_oss") {
                g = std::min(g, limit);
                u = std::clamp(u, -limit, limit);
                double act = g * sigmoid(1.702 * g);
                y.push_back(act * (u + 1));
                scales.push_back(std::abs(act) * (1 + std::abs(g)) * (1 + std::abs(u)));
                continue;
              }
              Valued act = activated(kind == "swiglu"       ? "silu"
                                     : kind == "geglu"      ? "gelu"
                                     : kind == "geglu_tanh" ? "gelu_tanh"
                                                            : "sigmoid",
                                     g);
              y.push_back(act.value * u);
              scales.push_back(act.scale * std::abs(u));
            }
            OpCall call;
            call.add(gate);
            call.add(up);
            call.expect(type, gate.shape(), y, scales);
            return call;
          }};
}

static OpCase softmaxFeatures(const std::string &symbol, Random &random) {
  static const double ranges[] = {1, 1, 5, 80, 20000};
  double range = pick(random, ranges);
  DType type = randomFloat(random);
  int64_t width = random.integer(1, 40);
  RandomShape rows = randomRows(random, 1, 7, width, false), wide = rows;
  wide.type.back() = 2 * width;
  EntryText entry(symbol);
  std::string rowType = tensorType(rows.type, type), wideType = tensorType(wide.type, type);
  entry.line("%y = attn.softmax_features " + entry.argument("x", rowType) + " : " + rowType +
             " -> " + wideType);
  entry.result("%y", wideType, "y");
  return {entry.text(), "range " + std::to_string(range) + " " + rowType, [=](Random &random) {
            Array x = randomRowsOf(type, rows.extents(random), random, range);
            std::vector<double> y, scales;
            for (int64_t first = 0; first < x.count(); first += width) {
              double largest = -INFINITY, sum = 0;
              std::vector<double> logits;
              for (int sign : {2, -2})
                for (int64_t i = first; i < first + width; ++i) {
                  logits.push_back(sign * x[i]);
                  largest = std::max(largest, logits.back());
                }
              for (double logit : logits)
                sum += std::exp(logit - largest);
              for (double logit : logits) {
                y.push_back(std::exp(logit - largest) / sum);
                scales.push_back(y.back() * (1 + largest - logit));
              }
            }
            OpCall call;
            call.add(x);
            Array::Index shape = x.shape();
            shape.back() = 2 * width;
            call.expect(type, shape, y, scales);
            return call;
          }};
}

static OpCase decayGate(const std::string &symbol, Random &random) {
  DType type = randomFloat(random), rateType = randomFloat(random), biasType = randomFloat(random);
  bool perChannel = random.chance(0.5), isBounded = random.chance(0.5);
  double bound = -random.real(0.5, 8), range = random.chance(0.5) ? 2 : 30;
  int64_t heads = random.integer(1, 9), dim = random.integer(1, 17);
  RandomShape rows = randomRows(random, 1, perChannel ? 6 : 7, heads, false);
  std::vector<int64_t> biasShape = {heads};
  if (perChannel) {
    rows.type.push_back(dim);
    biasShape.push_back(dim);
  }
  DType resultType = type == DType::F64 ? DType::F64 : DType::F32;
  EntryText entry(symbol);
  std::string rowType = tensorType(rows.type, type), rate = tensorType({heads}, rateType),
              bias = tensorType(biasShape, biasType), result = tensorType(rows.type, resultType);
  std::string operands = entry.argument("x", rowType) + ", " + entry.argument("a_log", rate) +
                         ", " + entry.argument("dt_bias", bias);
  entry.line("%g = attn.decay_gate " + operands +
             (isBounded ? " {lower_bound = " + floatText(bound) + "}" : "") + " : " + rowType +
             ", " + rate + ", " + bias + " -> " + result);
  entry.result("%g", result, "g");
  std::string options = rowType + " " + rate + " " + bias + (isBounded ? " bounded" : "");
  return {entry.text(), options, [=](Random &random) {
            Array x = Array::uniform(type, rows.extents(random), random, -range, range);
            Array rate = Array::uniform(rateType, {heads}, random, -2, 2);
            Array bias = Array::uniform(biasType, biasShape, random);
            std::vector<double> g, scales;
            for (int64_t i = 0; i < x.count(); ++i) {
              Array::Index at = x.indexOf(i);
              size_t head = at.size() - (perChannel ? 2 : 1);
              double own = bias.get(Array::Index(at.begin() + int64_t(head), at.end()));
              double a = std::exp(rate[at[head]]), sum = x[i] + own;
              double size = std::abs(x[i]) + std::abs(own);
              if (isBounded)
                g.push_back(bound * sigmoid(a * sum));
              else
                g.push_back(-a * (std::max(sum, 0.0) + std::log1p(std::exp(-std::abs(sum)))));
              scales.push_back(std::abs(g.back()) * (1 + size * (isBounded ? 2 * a : 1)));
            }
            OpCall call;
            call.add(x);
            call.add(rate);
            call.add(bias);
            call.expect(resultType, x.shape(), g, scales);
            return call;
          }};
}

const std::vector<OpKind> &activationKinds() {
  static const std::vector<OpKind> kinds = {{"activation", activation, 90},
                                            {"glu", glu, 70},
                                            {"softmax_features", softmaxFeatures, 50},
                                            {"decay_gate", decayGate, 60}};
  return kinds;
}

} // namespace heddle::test
