//===- ActivationTest.cpp - activations and gated units -------------------===//

#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

namespace {
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x == -INFINITY ? 0 : x * sigmoid(x); }
double gelu(double x) { return x == -INFINITY ? 0 : x / 2 * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) {
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x == -INFINITY ? 0 : x / 2 * (1 + std::tanh(inner));
}
double eluPlusOne(double x) { return x > 0 ? x + 1 : std::exp(x); }
double relu(double x) { return x < 0 ? 0 : x; }
/// Beyond the largest number of f32 it is infinite.
double squaredRelu(double x) { return relu(x) > 0x1p64 ? INFINITY : relu(x) * relu(x); }
double gptOss(double gate, double up) {
  double g = std::min(gate, 7.0), u = std::min(std::max(up, -7.0), 7.0);
  return g == -INFINITY ? 0 : g * sigmoid(1.702 * g) * (u + 1);
}

struct Activation {
  const char *name;
  double (*value)(double);
};
const Activation activations[] = {{"silu", silu},
                                  {"sigmoid", sigmoid},
                                  {"gelu", gelu},
                                  {"gelu_tanh", geluTanh},
                                  {"elu_plus_one", eluPlusOne},
                                  {"relu", relu},
                                  {"squared_relu", squaredRelu}};
struct GatedUnit {
  const char *name;
  double (*value)(double, double);
};
const GatedUnit gatedUnits[] = {{"swiglu", [](double g, double u) { return silu(g) * u; }},
                                {"geglu", [](double g, double u) { return gelu(g) * u; }},
                                {"geglu_tanh", [](double g, double u) { return geluTanh(g) * u; }},
                                {"gpt_oss", gptOss},
                                {"sigmoid", [](double g, double u) { return sigmoid(g) * u; }}};

/// An activation may have the same name.
std::string gatedName(const GatedUnit &unit, DType type) {
  return "glu_" + (unit.name + std::string(dtypeName(type)));
}

class Activations : public EachWay<Activations> {
public:
  /// An entry for each function and type, over tensors of rank 3.
  static void addEntries(Program &program) {
    for (DType type : {DType::F32, DType::F16, DType::BF16}) {
      std::string rows = tensorType({-1, 3, -1}, type);
      for (const Activation &each : activations) {
        EntryText entry(each.name + std::string(dtypeName(type)));
        entry.line("%y = attn.activation " + std::string(each.name) + " " +
                   entry.argument("x", rows) + " : " + rows);
        entry.result("%y", rows, "y");
        program.add(entry);
      }
      for (const GatedUnit &each : gatedUnits) {
        EntryText entry(gatedName(each, type));
        std::string gate = entry.argument("gate", rows), up = entry.argument("up", rows);
        entry.line("%y = attn.glu " + std::string(each.name) + " " + gate + ", " + up + " : " +
                   rows);
        entry.result("%y", rows, "y");
        program.add(entry);
      }
    }
  }
};
} // namespace

TEST_P(Activations, AgreeWithTheirFormulas) {
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    for (double range : {1.0, 12.0, 200.0})
      for (int64_t width : {1, 17, 130}) {
        Random random(width);
        Array x = Array::uniform(type, {2, 3, width}, random, -range, range),
              up = Array::uniform(type, {2, 3, width}, random, -range, range), y(type, x.shape());
        // What is below the smallest normal number of f16 or f32 counts as 0.
        auto check = [&](const char *name, const std::function<double(int64_t)> &value) {
          double error = 0, norm = 0;
          for (int64_t i = 0; i < x.count(); ++i) {
            EXPECT_TRUE(std::isfinite(y[i]) || std::abs(value(i)) > 65504) << name << " " << x[i];
            if (std::isfinite(y[i])) {
              error += (y[i] - value(i)) * (y[i] - value(i));
              norm += value(i) * value(i);
            }
          }
          EXPECT_LE(std::sqrt(error), errorLimit(type) * std::sqrt(norm) + 1e-7)
              << name << " " << dtypeName(type) << " up to " << range << " width " << width;
        };
        for (const Activation &each : activations) {
          program->call(each.name + std::string(dtypeName(type)), {&x, &y});
          check(each.name, [&](int64_t i) { return each.value(x[i]); });
        }
        for (const GatedUnit &each : gatedUnits) {
          program->call(gatedName(each, type), {&x, &up, &y});
          check(each.name, [&](int64_t i) { return each.value(x[i], up[i]); });
        }
      }
}

TEST_P(Activations, ExtremeValues) {
  const double values[] = {0,    -0.0,  1e30, -1e30, INFINITY, NAN,
                           88.8, -88.8, 104,  -104,  1e-40,    -700};
  for (const Activation &each : activations) {
    Array x = Array::filled(DType::F32, {1, 3, 4},
                            [&](const auto &i) { return values[i[1] * 4 + i[2]]; });
    Array y(DType::F32, x.shape());
    program->call(each.name + std::string("f32"), {&x, &y});
    for (int64_t i = 0; i < x.count(); ++i) {
      double wanted = each.value(x[i]);
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(y[i])) << each.name << " " << x[i];
      else if (std::isinf(wanted))
        EXPECT_EQ(y[i], wanted) << each.name << " " << x[i];
      else
        EXPECT_NEAR(y[i], wanted, 1e-6 * std::abs(wanted) + 1e-36) << each.name << " " << x[i];
    }
  }
}

HEDDLE_TEST_EACH_WAY(Activations, graphWays);
