//===- RopeFrequenciesTest.cpp - published rotary frequency vectors -------===//
//
// The literal values are f32 values computed by the reference implementations.
// Their f32 chain may be 7 ulp off the exact number, hence the tolerance.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/RopeFrequencies.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

namespace {

/// About 7 ulp of f32.
constexpr double kRelative = 5e-7;

void expectEntries(const std::vector<double> &frequencies,
                   const std::vector<std::pair<size_t, double>> &entries) {
  for (const auto &[index, value] : entries) {
    ASSERT_LT(index, frequencies.size());
    EXPECT_NEAR(frequencies[index], value, value * kRelative) << "pair " << index;
  }
}

TEST(RopeFrequencies, DefaultIsAGeometricSeries) {
  EXPECT_THAT(
      ropeDefaultInvFreq(1e4, 8),
      ElementsAre(1.0, DoubleNear(0.1, 1e-15), DoubleNear(0.01, 1e-16), DoubleNear(0.001, 1e-17)));
}

TEST(RopeFrequencies, LinearDividesEveryPair) {
  EXPECT_THAT(ropeLinearInvFreq(1e4, 4, 8), ElementsAre(DoubleEq(0.125), DoubleEq(0.00125)));
}

TEST(RopeFrequencies, DynamicKeepsTheBaseUpToMaxPosition) {
  EXPECT_EQ(ropeDynamicInvFreq(1e4, 16, 4, 512, 512), ropeDefaultInvFreq(1e4, 16));
  EXPECT_EQ(ropeDynamicInvFreq(1e4, 16, 4, 512, 0), ropeDefaultInvFreq(1e4, 16));
}

TEST(RopeFrequencies, DynamicStretchesTheBase) {
  // Length 2048 of 512 and factor 4: the base grows by 13^(8/6).
  double theta = 1e4 * std::pow(13.0, 8.0 / 6.0);
  EXPECT_THAT(ropeDynamicInvFreq(1e4, 8, 4, 512, 2048),
              Pointwise(DoubleEq(), ropeDefaultInvFreq(theta, 8)));
}

TEST(RopeFrequencies, DynamicWithOnePairHasNoExponent) {
  EXPECT_THAT(ropeDynamicInvFreq(1e4, 2, 4, 512, 2048), ElementsAre(1.0));
}

TEST(RopeFrequencies, Llama32With1B) {
  expectEntries(ropeLlama3InvFreq(5e5, 64, {32, 1, 4, 8192}), {{0, 1},
                                                               {1, 0.663601238},
                                                               {15, 0.00129054793},
                                                               {16, 0.000429556797},
                                                               {17, 9.7082878e-05},
                                                               {31, 9.41830673e-08}});
}

TEST(RopeFrequencies, Llama31With8B) {
  expectEntries(ropeLlama3InvFreq(5e5, 128, {8, 1, 4, 8192}), {{29, 0.00216657076},
                                                               {30, 0.00137189357},
                                                               {31, 0.000856751413},
                                                               {32, 0.000524846161},
                                                               {33, 0.00031269375},
                                                               {34, 0.000178507813},
                                                               {63, 3.06892599e-07}});
}

/// How much of pair i is divided by `factor`: 0 none, 1 all of it.
double yarnRamp(double theta, int64_t rotaryDim, const RopeYarnParams &params, size_t i) {
  double ratio =
      ropeYarnInvFreq(theta, rotaryDim, params)[i] / ropeDefaultInvFreq(theta, rotaryDim)[i];
  return (1 - ratio) / (1 - 1 / params.factor);
}

TEST(RopeFrequencies, YarnWithRoundedRamp) {
  // DeepSeek-V3: the ramp runs from pair 10 to pair 23.
  RopeYarnParams params{40, 4096};
  params.mscale = params.mscaleAllDim = 1;
  EXPECT_DOUBLE_EQ(yarnRamp(1e4, 64, params, 10), 0);
  EXPECT_NEAR(yarnRamp(1e4, 64, params, 11), 1.0 / 13, 1e-12);
  EXPECT_NEAR(yarnRamp(1e4, 64, params, 22), 12.0 / 13, 1e-12);
  EXPECT_NEAR(yarnRamp(1e4, 64, params, 23), 1, 1e-12);
  EXPECT_DOUBLE_EQ(ropeYarnAttentionFactor(params), 1);
}

TEST(RopeFrequencies, YarnWithoutRounding) {
  // gpt-oss: the ramp runs from 8.0928 to 17.3980.
  RopeYarnParams params{32, 4096};
  params.truncate = false;
  EXPECT_DOUBLE_EQ(yarnRamp(1.5e5, 64, params, 8), 0);
  EXPECT_NEAR(yarnRamp(1.5e5, 64, params, 9), (9 - 8.0928) / (17.3980 - 8.0928), 1e-4);
  EXPECT_NEAR(yarnRamp(1.5e5, 64, params, 17), (17 - 8.0928) / (17.3980 - 8.0928), 1e-4);
  EXPECT_NEAR(yarnRamp(1.5e5, 64, params, 18), 1, 1e-12);
  EXPECT_NEAR(ropeYarnAttentionFactor(params), 1.3465736, 1e-7);
}

TEST(RopeFrequencies, YarnAttentionFactorOrder) {
  RopeYarnParams params{32, 4096};
  params.mscale = 0.707;
  EXPECT_NEAR(ropeYarnAttentionFactor(params), 1.3465736, 1e-7) << "one mscale alone is ignored";
  params.mscaleAllDim = 0.0;
  EXPECT_NEAR(ropeYarnAttentionFactor(params), 1.3465736, 1e-7) << "0 counts as not given";
  params.mscaleAllDim = 1.0;
  EXPECT_DOUBLE_EQ(ropeYarnAttentionFactor(params),
                   (0.0707 * std::log(32.0) + 1) / (0.1 * std::log(32.0) + 1));
  params.attentionFactor = 0.5;
  EXPECT_DOUBLE_EQ(ropeYarnAttentionFactor(params), 0.5);
  EXPECT_DOUBLE_EQ(ropeYarnAttentionFactor({1, 4096}), 1);
}

TEST(RopeFrequencies, LongPicksTheListByLength) {
  RopeLongParams params{{1, 2}, {4, 5}, 32, 4096, std::nullopt};
  EXPECT_THAT(ropeLongInvFreq(1e4, 4, params, 4096), ElementsAre(DoubleEq(1), DoubleEq(0.005)));
  EXPECT_THAT(ropeLongInvFreq(1e4, 4, params, 4097), ElementsAre(DoubleEq(0.25), DoubleEq(0.002)));
}

TEST(RopeFrequencies, LongAttentionFactor) {
  // ln 32 / ln 4096 = 5 / 12.
  RopeLongParams params{{}, {}, 32, 4096, std::nullopt};
  EXPECT_DOUBLE_EQ(ropeLongAttentionFactor(params), std::sqrt(17.0 / 12));
  params.factor = 1;
  EXPECT_DOUBLE_EQ(ropeLongAttentionFactor(params), 1);
  params.attentionFactor = 1.25;
  EXPECT_DOUBLE_EQ(ropeLongAttentionFactor(params), 1.25);
}

TEST(RopeFrequencies, ProportionalStopsAtTheFraction) {
  EXPECT_THAT(ropeProportionalInvFreq(1e4, 8, 2, 0.5),
              ElementsAre(DoubleEq(0.5), DoubleEq(0.05), 0, 0));
  EXPECT_THAT(ropeProportionalInvFreq(1e4, 8, 1, 0), ElementsAre(0, 0, 0, 0));
}

TEST(RopeFrequencies, NoPairs) {
  EXPECT_TRUE(ropeDefaultInvFreq(1e4, 0).empty());
  EXPECT_TRUE(ropeYarnInvFreq(1e4, 0, {40, 4096}).empty());
}

} // namespace
