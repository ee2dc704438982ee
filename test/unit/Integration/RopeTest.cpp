//===- RopeTest.cpp - rotary embedding ------------------------------------===//

#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kDim = 128, kRotated = 64;
static constexpr double kTheta = 1e4;

static goldens::EntryText ropeEntry(const std::string &symbol, DType type, bool interleaved) {
  goldens::EntryText entry(symbol);
  std::string rowType = goldens::tensorType({-1, -1, 2, kDim}, type);
  std::string positionType = goldens::tensorType({-1, -1}, DType::I32);
  std::string operands =
      entry.argument("x", rowType) + ", " + entry.argument("positions", positionType);
  entry.line("%y = attn.rope " + operands + " {theta = " + goldens::floatText(kTheta) +
             ", rotary_dim = " + std::to_string(kRotated) + " : i64" +
             (interleaved ? ", interleaved" : "") + "} : " + rowType + ", " + positionType);
  entry.result("%y", rowType, "y");
  return entry;
}

/// The rotation with an angle in f32, all else in f64.
static std::vector<double> rotated(const Array &x, const Array &positions, bool interleaved) {
  std::vector<double> y(size_t(x.count()));
  for (int64_t place = 0; place < x.count(); ++place) {
    Array::Index index = x.indexOf(place);
    int64_t channel = index[3];
    if (channel >= kRotated) {
      y[size_t(place)] = x[place];
      continue;
    }
    int64_t pair = interleaved ? channel / 2 : channel % (kRotated / 2);
    bool first = interleaved ? channel % 2 == 0 : channel < kRotated / 2;
    int64_t distance = interleaved ? 1 : kRotated / 2;
    Array::Index partner = index;
    partner[3] += first ? distance : -distance;
    float frequency = float(std::pow(kTheta, -2.0 * double(pair) / kRotated));
    double angle = float(positions.get({index[0], index[1]})) * frequency;
    double sine = std::sin(angle) * (first ? -1 : 1);
    y[size_t(place)] = x[place] * std::cos(angle) + x.get(partner) * sine;
  }
  return y;
}

class Rope : public testing::TestWithParam<Way> {};
HEDDLE_TEST_EACH_WAY(Rope, graphWays);

TEST_P(Rope, BothPairingsAtFarPositions) {
  Program program;
  for (DType type : {DType::F32, DType::BF16})
    for (bool interleaved : {false, true})
      program.add(ropeEntry(std::string(dtypeName(type)) + (interleaved ? "_pairs" : "_halves"),
                            type, interleaved));
  ASSERT_TRUE(program.compile(GetParam()));
  // Two sequences, the second one behind a cache of 15962 tokens.
  Array positions = Array::filled(DType::I32, {2, 5}, [](const auto &index) {
    return index[0] ? 15962 + index[1] : index[1] == 4 ? 131071 : index[1];
  });
  for (DType type : {DType::F32, DType::BF16})
    for (bool interleaved : {false, true}) {
      Random random(9);
      Array x = Array::uniform(type, {2, 5, 2, kDim}, random);
      Array y(type, x.shape());
      std::string entry = std::string(dtypeName(type)) + (interleaved ? "_pairs" : "_halves");
      program.call(entry, {&x, &positions, &y});
      EXPECT_LE(relativeError(y, rotated(x, positions, interleaved)), errorLimit(type)) << entry;
      EXPECT_TRUE(
          y.slice(3, kRotated, kDim - kRotated).sameBits(x.slice(3, kRotated, kDim - kRotated)))
          << entry << ": channels past the rotated part";
      EXPECT_TRUE(y.slice(0, 0, 1).slice(1, 0, 1).sameBits(x.slice(0, 0, 1).slice(1, 0, 1)))
          << entry << ": position 0 is the identity";
    }
}

TEST_P(Rope, NoTokens) {
  Program program;
  program.add(ropeEntry("rope", DType::F32, false));
  ASSERT_TRUE(program.compile(GetParam()));
  Array x(DType::F32, {2, 0, 2, kDim}), y(DType::F32, {2, 0, 2, kDim}),
      positions(DType::I32, {2, 0});
  program.call("rope", {&x, &positions, &y});
}
