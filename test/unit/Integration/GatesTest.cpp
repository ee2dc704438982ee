//===- GatesTest.cpp - gates, gated norms and feature maps ----------------===//

#include "LinearSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

static constexpr double kEps = 1e-6, kBound = -5;
static constexpr int64_t kHeads = 3, kDim = 5;

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

class GateOps : public EachWay<GateOps> {
public:
  static void addEntries(Program &program) {
    for (DType type : {DType::F32, DType::F16, DType::BF16})
      addEntries(program, type);
  }

protected:
  static void addEntries(Program &program, DType type) {
    std::string suffix = std::string(dtypeName(type)), vector = tensorType({kHeads}, DType::F32);
    for (bool perChannel : {false, true})
      for (bool bounded : {false, true}) {
        std::vector<int64_t> shape = {-1, -1, kHeads}, biasShape = {kHeads};
        if (perChannel) {
          shape.push_back(kDim);
          biasShape.push_back(kDim);
        }
        EntryText entry(gateName(perChannel, bounded) + suffix);
        std::string rows = tensorType(shape, type), bias = tensorType(biasShape, DType::F32);
        std::string result = tensorType(shape, DType::F32), x = entry.argument("x", rows);
        std::string rate = entry.argument("a_log", vector), add = entry.argument("dt_bias", bias);
        entry.line("%g = attn.decay_gate " + x + ", " + rate + ", " + add +
                   (bounded ? " {lower_bound = " + floatText(kBound) + "}" : "") + " : " + rows +
                   ", " + vector + ", " + bias + " -> " + result);
        entry.result("%g", result, "g");
        program.add(entry);
      }
    std::string rows = tensorType({-1, kHeads, kDim}, type);
    for (const char *kind : {"silu", "sigmoid"}) {
      EntryText entry(std::string("norm_") + kind + suffix);
      std::string x = entry.argument("x", rows), gate = entry.argument("gate", rows);
      std::string weightType = tensorType({kDim}, DType::F32);
      entry.line(std::string("%y = attn.gated_rms_norm ") + kind + " " + x + ", " + gate + ", " +
                 entry.argument("w", weightType) + " {eps = " + floatText(kEps) + "} : " + rows +
                 ", " + weightType);
      entry.result("%y", rows, "y");
      program.add(entry);
    }
    EntryText unit("l2" + suffix);
    unit.line("%y = attn.l2_norm " + unit.argument("x", rows) + " {eps = " + floatText(kEps) +
              "} : " + rows);
    unit.result("%y", rows, "y");
    program.add(unit);
    EntryText features("features" + suffix);
    std::string wide = tensorType({-1, kHeads, 2 * kDim}, type);
    features.line("%y = attn.softmax_features " + features.argument("x", rows) + " : " + rows +
                  " -> " + wide);
    features.result("%y", wide, "y");
    program.add(features);
  }

  static std::string gateName(bool perChannel, bool bounded) {
    return std::string("gate_") + (perChannel ? "channel_" : "head_") + (bounded ? "bound_" : "");
  }
};

HEDDLE_TEST_EACH_WAY(GateOps, cpuWays);

TEST_P(GateOps, DecayGates) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (double range : {1.0, 40.0})
      for (bool perChannel : {false, true})
        for (bool bounded : {false, true}) {
          Random random{int64_t(range)};
          Array::Index shape = {2, 7, kHeads}, biasShape = {kHeads};
          if (perChannel) {
            shape.push_back(kDim);
            biasShape.push_back(kDim);
          }
          Array x = Array::uniform(type, shape, random, -range, range);
          Array rate = Array::uniform(DType::F32, {kHeads}, random, -2, 2);
          Array bias = Array::uniform(DType::F32, biasShape, random);
          Array g(DType::F32, shape);
          program->call(gateName(perChannel, bounded) + std::string(dtypeName(type)),
                        {&x, &rate, &bias, &g});
          for (int64_t place = 0; place < x.count(); ++place) {
            Array::Index at = x.indexOf(place);
            Array::Index channel(at.begin() + 2, at.end());
            double sum = x[place] + bias.get(channel), a = std::exp(rate[at[2]]);
            double wanted = bounded ? kBound * sigmoid(a * sum) : -a * softplus(sum);
            // f32 arithmetic: the sum and the exponentials are rounded. Small gates are right in relative terms.
            EXPECT_NEAR(g[place], wanted, 5e-5 * std::abs(wanted) + 1e-37)
                << sum << " " << a << (bounded ? " bounded" : "");
          }
        }
}

TEST_P(GateOps, GatedNorms) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (const char *kind : {"silu", "sigmoid"})
      for (int64_t rows : {0, 1, 9}) {
        Random random(rows + 1);
        Array x = Array::uniform(type, {rows, kHeads, kDim}, random, -3, 3), y(type, x.shape());
        Array gate = Array::uniform(type, x.shape(), random, -4, 4);
        Array w = Array::uniform(DType::F32, {kDim}, random);
        program->call(std::string("norm_") + kind + std::string(dtypeName(type)),
                      {&x, &gate, &w, &y});
        std::vector<double> expected;
        for (int64_t first = 0; first < x.count(); first += kDim) {
          double squares = 0;
          for (int64_t i = first; i < first + kDim; ++i)
            squares += x[i] * x[i] / kDim;
          for (int64_t i = first; i < first + kDim; ++i) {
            double act = sigmoid(gate[i]) * (std::string(kind) == "silu" ? gate[i] : 1);
            expected.push_back(x[i] / std::sqrt(squares + kEps) * w[i - first] * act);
          }
        }
        expectClose(y, expected, errorLimit(type), kind);
      }
}

TEST_P(GateOps, UnitRows) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (double range : {1e-3, 1.0, 300.0}) {
      Random random(4);
      Array x = Array::uniform(type, {6, kHeads, kDim}, random, -range, range), y(type, x.shape());
      program->call("l2" + std::string(dtypeName(type)), {&x, &y});
      std::vector<double> expected;
      for (int64_t first = 0; first < x.count(); first += kDim) {
        double squares = 0;
        for (int64_t i = first; i < first + kDim; ++i)
          squares += x[i] * x[i];
        for (int64_t i = first; i < first + kDim; ++i)
          expected.push_back(x[i] / std::sqrt(squares + kEps));
      }
      expectClose(y, expected, errorLimit(type), "range " + std::to_string(range));
    }
}

TEST_P(GateOps, SoftmaxFeatures) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (double range : {1.0, 80.0, 20000.0}) {
      Random random(5);
      Array x = Array::uniform(type, {6, kHeads, kDim}, random, -range, range);
      Array y(type, {6, kHeads, 2 * kDim});
      program->call("features" + std::string(dtypeName(type)), {&x, &y});
      std::vector<double> expected;
      for (int64_t first = 0; first < x.count(); first += kDim) {
        std::vector<double> logits;
        for (double sign : {2.0, -2.0})
          for (int64_t i = first; i < first + kDim; ++i)
            logits.push_back(sign * x[i]);
        double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
        for (double logit : logits)
          sum += std::exp(logit - largest);
        for (double logit : logits)
          expected.push_back(std::exp(logit - largest) / sum);
      }
      expectClose(y, expected, errorLimit(type), "range " + std::to_string(range));
    }
}
