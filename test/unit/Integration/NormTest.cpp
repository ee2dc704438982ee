//===- NormTest.cpp - normalisations --------------------------------------===//

#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

static constexpr double kEps = 1e-6;

static EntryText normEntry(const std::string &symbol, DType type, int64_t width, bool layer) {
  EntryText entry(symbol);
  std::string rowType = tensorType({-1, width}, type);
  std::string vectorType = tensorType({width}, DType::F32);
  std::string x = entry.argument("x", rowType), w = entry.argument("w", vectorType);
  if (layer)
    entry.line("%y = attn.layer_norm " + x + ", " + w + " bias(" + entry.argument("b", vectorType) +
               " : " + vectorType + ") {eps = " + goldens::floatText(kEps) + "} : " + rowType +
               ", " + vectorType);
  else
    entry.line("%y = attn.rms_norm " + x + ", " + w + " {eps = " + goldens::floatText(kEps) +
               ", plus_one} : " + rowType + ", " + vectorType);
  entry.result("%y", rowType, "y");
  return entry;
}

static std::vector<double> normalised(const Array &x, const Array &weight, const Array *bias) {
  std::vector<double> y;
  int64_t width = x.shape()[1];
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; bias && i < width; ++i)
      mean += x.get({row, i}) / double(width);
    for (int64_t i = 0; i < width; ++i)
      squares += (x.get({row, i}) - mean) * (x.get({row, i}) - mean) / double(width);
    for (int64_t i = 0; i < width; ++i) {
      double unit = (x.get({row, i}) - mean) / std::sqrt(squares + kEps);
      y.push_back(bias ? unit * weight[i] + (*bias)[i] : unit * (1 + weight[i]));
    }
  }
  return y;
}

class Norm : public EachWay<Norm> {
public:
  static void addEntries(Program &program) {
    for (DType type : {DType::F32, DType::F16})
      for (int64_t width : {96, 100}) {
        program.add(normEntry(name("rms", type, width), type, width, false));
        program.add(normEntry(name("layer", type, width), type, width, true));
      }
  }

  static std::string name(const char *norm, DType type, int64_t width) {
    return norm + std::string(dtypeName(type)) + std::to_string(width);
  }

  void check(const Array &values, const std::string &context) {
    int64_t width = values.shape()[1];
    Random random(10);
    Array x = values, y(x.type(), x.shape());
    Array weight = Array::uniform(DType::F32, {width}, random),
          bias = Array::uniform(DType::F32, {width}, random);
    program->call(name("rms", x.type(), width), {&x, &weight, &y});
    EXPECT_LE(relativeError(y, normalised(x, weight, nullptr)), errorLimit(x.type()))
        << "rms " << context;
    program->call(name("layer", x.type(), width), {&x, &weight, &bias, &y});
    EXPECT_LE(relativeError(y, normalised(x, weight, &bias)), errorLimit(x.type()))
        << "layer " << context;
  }
};

HEDDLE_TEST_EACH_WAY(Norm, graphWays);

TEST_P(Norm, WidthsAndMagnitudes) {
  Random random(11);
  for (DType type : {DType::F32, DType::F16})
    for (int64_t width : {96, 100}) {
      check(Array::uniform(type, {7, width}, random), "ordinary");
      // The sum of squares is past the range of f16.
      check(Array::filled(type, {3, width},
                          [&](const auto &) { return random.chance(0.5) ? 300 : -300; }),
            "values of 300");
      check(Array::uniform(type, {3, width}, random, -1e-3, 1e-3), "tiny");
      check(Array(type, {0, width}), "no rows");
    }
}

TEST_P(Norm, ConstantRowsGiveTheBias) {
  Random random(12);
  Array x = Array::constant(DType::F32, {2, 96}, 0.3), y(DType::F32, {2, 96});
  Array weight = Array::uniform(DType::F32, {96}, random),
        bias = Array::uniform(DType::F32, {96}, random);
  program->call(name("layer", DType::F32, 96), {&x, &weight, &bias, &y});
  for (int64_t i = 0; i < 96; ++i)
    EXPECT_EQ(y.get({1, i}), bias[i]);
}
