//===- NormCases.cpp - random normalisations ------------------------------===//

#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
/// What all of them have: rows, whose last dimension is normalised, and eps.
struct NormSpec {
  DType type, weightType, biasType;
  int64_t width;
  RandomShape rows;
  RandomShape vector; // of weights
  double eps, range;

  static NormSpec random(Random &random) {
    static const double epsilons[] = {1e-6, 1e-5, 1e-2, 1e-12};
    static const double ranges[] = {1, 1, 1e-2, 300};
    NormSpec spec;
    spec.type = randomFloat(random);
    spec.weightType = randomFloat(random);
    spec.biasType = randomFloat(random);
    spec.width = randomWidth(random);
    bool dynamicWidth = random.chance(0.25);
    spec.rows = randomRows(random, 1, 8, spec.width, dynamicWidth);
    spec.vector.type = {dynamicWidth && random.chance(0.5) ? -1 : spec.width};
    spec.eps = pick(random, epsilons);
    spec.range = pick(random, ranges);
    return spec;
  }

  std::string text() const {
    return std::string(dtypeName(type)) + " weight:" + std::string(dtypeName(weightType)) +
           " rows " + shapeText(rows.type) + " eps " + std::to_string(eps) + " range " +
           std::to_string(range);
  }

  std::string rowType() const { return tensorType(rows.type, type); }

  Array::Index extents(Random &random) const {
    Array::Index shape = rows.extents(random);
    shape.back() = width;
    return shape;
  }
};

/// Calls `each(first, index)` for each row of `x`.
void forRows(const Array &x, int64_t width, const std::function<void(int64_t)> &each) {
  for (int64_t first = 0; first < x.count(); first += width)
    each(first);
}

double sumOfSquares(const Array &x, int64_t first, int64_t width, double mean = 0) {
  double sum = 0;
  for (int64_t i = first; i < first + width; ++i)
    sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}
} // namespace

static OpCase rmsNorm(const std::string &symbol, Random &random) {
  NormSpec spec = NormSpec::random(random);
  bool plusOne = random.chance(0.4);
  EntryText entry(symbol);
  std::string weight = tensorType(spec.vector.type, spec.weightType);
  std::string x = entry.argument("x", spec.rowType()), w = entry.argument("w", weight);
  entry.line("%y = attn.rms_norm " + x + ", " + w + " {eps = " + floatText(spec.eps) +
             (plusOne ? ", plus_one" : "") + "} : " + spec.rowType() + ", " + weight);
  entry.result("%y", spec.rowType(), "y");
  return {entry.text(), spec.text() + (plusOne ? " plus_one" : ""), [=](Random &random) {
            Array x = randomRowsOf(spec.type, spec.extents(random), random, spec.range);
            Array w = Array::uniform(spec.weightType, {spec.width}, random, -2, 2);
            std::vector<double> y, scales;
            forRows(x, spec.width, [&](int64_t first) {
              double squares = sumOfSquares(x, first, spec.width) / double(spec.width);
              for (int64_t i = 0; i < spec.width; ++i) {
                double unit = x[first + i] / std::sqrt(squares + spec.eps);
                y.push_back(unit * (w[i] + plusOne));
                scales.push_back(std::abs(unit) * (std::abs(w[i]) + plusOne));
              }
            });
            OpCall call;
            call.add(x);
            call.add(w);
            call.expect(spec.type, x.shape(), y, scales);
            return call;
          }};
}

static OpCase layerNorm(const std::string &symbol, Random &random) {
  NormSpec spec = NormSpec::random(random);
  bool hasBias = random.chance(0.6);
  EntryText entry(symbol);
  std::string weight = tensorType(spec.vector.type, spec.weightType),
              biasType = tensorType(spec.vector.type, spec.biasType);
  std::string x = entry.argument("x", spec.rowType()), w = entry.argument("w", weight);
  std::string bias =
      hasBias ? " bias(" + entry.argument("b", biasType) + " : " + biasType + ")" : "";
  entry.line("%y = attn.layer_norm " + x + ", " + w + bias + " {eps = " + floatText(spec.eps) +
             "} : " + spec.rowType() + ", " + weight);
  entry.result("%y", spec.rowType(), "y");
  return {entry.text(), spec.text() + bias, [=](Random &random) {
            // Rows with a mean that is far from 0 against their deviation.
            Array x = randomRowsOf(spec.type, spec.extents(random), random, spec.range);
            Array w = Array::uniform(spec.weightType, {spec.width}, random, -2, 2);
            Array b = Array::uniform(spec.biasType, {spec.width}, random, -2, 2);
            std::vector<double> y, scales;
            forRows(x, spec.width, [&](int64_t first) {
              double mean = 0, sizes = 0;
              bool isConstant = true;
              for (int64_t i = first; i < first + spec.width; ++i) {
                mean += x[i] / double(spec.width);
                sizes = std::max(sizes, std::abs(x[i]));
                isConstant &= x[i] == x[first];
              }
              if (isConstant)
                mean = x[first];
              double variance = sumOfSquares(x, first, spec.width, mean) / double(spec.width);
              double deviation = std::sqrt(variance + spec.eps);
              for (int64_t i = 0; i < spec.width; ++i) {
                double unit = (x[first + i] - mean) / deviation, own = hasBias ? b[i] : 0;
                y.push_back(unit * w[i] + own);
                // The mean of f32 is a little off. A constant row is the bias exactly.
                double off = isConstant ? 0 : sizes / deviation * (1 + std::abs(unit));
                scales.push_back((std::abs(unit) + off) * std::abs(w[i]) + std::abs(own));
              }
            });
            OpCall call;
            call.add(x);
            call.add(w);
            if (hasBias)
              call.add(b);
            call.expect(spec.type, x.shape(), y, scales);
            return call;
          }};
}

static OpCase gatedRmsNorm(const std::string &symbol, Random &random) {
  NormSpec spec = NormSpec::random(random);
  bool isSilu = random.chance(0.5);
  std::string kind = isSilu ? "silu" : "sigmoid";
  EntryText entry(symbol);
  std::string weight = tensorType(spec.vector.type, spec.weightType);
  std::string x = entry.argument("x", spec.rowType()),
              gate = entry.argument("gate", spec.rowType());
  entry.line("%y = attn.gated_rms_norm " + kind + " " + x + ", " + gate + ", " +
             entry.argument("w", weight) + " {eps = " + floatText(spec.eps) +
             "} : " + spec.rowType() + ", " + weight);
  entry.result("%y", spec.rowType(), "y");
  return {entry.text(), kind + " " + spec.text(), [=](Random &random) {
            Array x = randomRowsOf(spec.type, spec.extents(random), random, spec.range);
            Array gate = Array::uniform(spec.type, x.shape(), random, -6, 6);
            Array w = Array::uniform(spec.weightType, {spec.width}, random, -2, 2);
            std::vector<double> y, scales;
            forRows(x, spec.width, [&](int64_t first) {
              double squares = sumOfSquares(x, first, spec.width) / double(spec.width);
              for (int64_t i = 0; i < spec.width; ++i) {
                double g = gate[first + i], act = sigmoid(g) * (isSilu ? g : 1);
                y.push_back(x[first + i] / std::sqrt(squares + spec.eps) * w[i] * act);
                scales.push_back(std::abs(y.back()));
              }
            });
            OpCall call;
            call.add(x);
            call.add(gate);
            call.add(w);
            call.expect(spec.type, x.shape(), y, scales);
            return call;
          }};
}

static OpCase l2Norm(const std::string &symbol, Random &random) {
  NormSpec spec = NormSpec::random(random);
  EntryText entry(symbol);
  entry.line("%y = attn.l2_norm " + entry.argument("x", spec.rowType()) +
             " {eps = " + floatText(spec.eps) + "} : " + spec.rowType());
  entry.result("%y", spec.rowType(), "y");
  return {entry.text(), spec.text(), [=](Random &random) {
            Array x = randomRowsOf(spec.type, spec.extents(random), random, spec.range);
            std::vector<double> y, scales;
            forRows(x, spec.width, [&](int64_t first) {
              double squares = sumOfSquares(x, first, spec.width);
              for (int64_t i = first; i < first + spec.width; ++i) {
                y.push_back(x[i] / std::sqrt(squares + spec.eps));
                scales.push_back(std::abs(y.back()));
              }
            });
            OpCall call;
            call.add(x);
            call.expect(spec.type, x.shape(), y, scales);
            return call;
          }};
}

const std::vector<OpKind> &normKinds() {
  static const std::vector<OpKind> kinds = {{"rms_norm", rmsNorm, 80},
                                            {"layer_norm", layerNorm, 80},
                                            {"gated_rms_norm", gatedRmsNorm, 60},
                                            {"l2_norm", l2Norm, 50}};
  return kinds;
}

} // namespace heddle::test
