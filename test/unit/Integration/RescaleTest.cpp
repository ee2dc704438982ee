//===- RescaleTest.cpp - accumulators that are rescaled only where a maximum rose
//
// On GPUs the running maximum of a row moves only if a block's exceeds it by more
// than a margin, and a warp without such a row leaves its accumulator alone. The
// inputs here have rows of one warp whose maxima rise in each block, in some, never,
// or fall.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static AttentionSpec rescaleSpec(DType type, bool causal, bool sinks) {
  AttentionSpec spec;
  spec.type = type;
  spec.heads = 2;
  spec.keyHeads = 1;
  spec.keyDim = spec.valueDim = 64;
  spec.rule.causal = causal;
  spec.rule.scale = 1;
  spec.sinks = sinks;
  spec.block = {64, 32};
  return spec;
}

/// How much the score of a row rises from one block of keys to the next: each, some or no block exceeds 8 in base 2.
static constexpr double kSlopes[] = {6.5, 0, 1.5, -6.5, 5, 0.25};

/// Key `row` is `height`(row) high; the scores of query i are slope(i) * height, and something random.
template <typename Height>
static AttentionInputs slopedInputs(const AttentionSpec &spec, const AttentionExtents &extents,
                                    const Height &height) {
  Random random(51);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  for (int64_t i = 0; i < extents.queries; ++i)
    for (int64_t head = 0; head < spec.heads; ++head) {
      for (int64_t d = 1; d < spec.keyDim; ++d)
        inputs.query.set({0, i, head, d}, inputs.query.get(0, i, head, d) / 8);
      inputs.query.set({0, i, head, 0}, kSlopes[i % 6]);
    }
  for (int64_t j = 0; j < extents.keys; ++j)
    inputs.key.set({0, j, 0, 0}, height(j));
  return inputs;
}

namespace {
class Rescale : public testing::TestWithParam<Way> {};
} // namespace

static std::vector<Way> rescaleWays() {
  std::vector<Way> ways{"sim-sm_80", "sim-sm_80", {hostVariants().back(), KernelSource::TileAll}};
  ways[1].rescaleMargin = 0;
  return ways;
}

HEDDLE_TEST_EACH_WAY(Rescale, rescaleWays);

TEST_P(Rescale, RowsRiseFallAndStay) {
  for (DType type : {DType::F16, DType::BF16, DType::F32})
    for (bool causal : {false, true}) {
      AttentionSpec spec = rescaleSpec(type, causal, /*sinks=*/true);
      Program program;
      program.add(spec.entry("attention"));
      ASSERT_TRUE(program.compile(GetParam()));
      // Products of f32 that are larger err by more.
      const AttentionExtents extents[] = {{1, 70, 200}, {1, 70, 33}};
      for (const AttentionExtents &each : extents) {
        auto stairs = [](int64_t j) { return double(j / 32); };
        auto peaks = [](int64_t j) { return double(j / 32 % 3 * 2); };
        AttentionInputs rising = slopedInputs(spec, each, stairs),
                        mixed = slopedInputs(spec, each, peaks);
        checkAttention(program, "attention", spec, rising, "rising");
        checkAttention(program, "attention", spec, mixed, "mixed");
      }
    }
}

// What its neighbours in the warp do changes no bit of a row.
TEST_P(Rescale, RowsDependOnThemselves) {
  AttentionSpec spec = rescaleSpec(DType::F16, false, false);
  Program program;
  program.add(spec.entry("attention"));
  ASSERT_TRUE(program.compile(GetParam()));
  auto stairs = [](int64_t j) { return double(j / 32); };
  AttentionInputs inputs = slopedInputs(spec, {1, 64, 300}, stairs), alone = inputs;
  constexpr int64_t kRow = 2;
  alone.query = Array::filled(DType::F16, inputs.query.shape(), [&](const auto &i) {
    return i[1] == kRow ? inputs.query.get(0, kRow, i[2], i[3]) : 0;
  });
  AttentionOutputs among = callAttention(program, "attention", spec, inputs),
                   single = callAttention(program, "attention", spec, alone);
  EXPECT_TRUE(
      among.output.slice(1, kRow, 1).copy().sameBits(single.output.slice(1, kRow, 1).copy()));
  EXPECT_EQ(among.lse[kRow], single.lse[kRow]);
}

// Scores are integers, so that the largest one is known to the last bit.
TEST_P(Rescale, TheMaximumThatIsAResultIsExact) {
  const char *text = R"mlir(
func.func @attention(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>)
    -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>) {
  %o, %max = attn.attention %q, %k, %k {scale = 1.0 : f64, return_max, tile.config = #tile.config<block = [64, 32]>}
      : (tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>) -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o, %max : tensor<?x?x1x64xf16>, tensor<?x1x?xf32>
}
func.func @plain(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o = attn.attention %q, %k, %k {scale = 1.0 : f64, tile.config = #tile.config<block = [64, 32]>}
      : (tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16>
  return %o : tensor<?x?x1x64xf16>
}
)mlir";
  Program program;
  program.add(text);
  ASSERT_TRUE(program.compile(GetParam()));
  Array query = Array::filled(DType::F16, {1, 70, 1, 64},
                              [](const auto &i) { return i[3] == 0 ? i[1] % 3 : 0; }),
        key = Array::filled(DType::F16, {1, 300, 1, 64},
                            [](const auto &i) { return i[3] == 0 ? i[1] / 32 : 0; });
  Array output(DType::F16, {1, 70, 1, 64}), maximum(DType::F32, {1, 1, 70});
  program.call("attention", {&query, &key, &output, &maximum});
  for (int64_t row = 0; row < 70; ++row)
    EXPECT_NEAR(maximum[row], double(row % 3 * (299 / 32)), 2e-6);

  // Asking for it changes no bit of the output, also where maxima rise by less than a margin.
  Random random(3);
  query = Array::uniform(DType::F16, {1, 70, 1, 64}, random);
  key = Array::uniform(DType::F16, {1, 300, 1, 64}, random);
  Array plain(DType::F16, {1, 70, 1, 64});
  program.call("attention", {&query, &key, &output, &maximum});
  program.call("plain", {&query, &key, &plain});
  EXPECT_TRUE(plain.sameBits(output));
}

// The rows' maxima cross lanes in the branch only: flat scores rise once, when a row's first key comes.
TEST(RescaleCounts, FlatScoresAreRescaledOnce) {
  AttentionSpec spec = rescaleSpec(DType::F16, false, false);
  auto shuffles = [&](double margin, double slope) {
    Way way("sim-sm_80");
    way.rescaleMargin = margin;
    Program program;
    program.add(spec.entry("attention"));
    EXPECT_TRUE(program.compile(way));
    auto stairs = [&](int64_t j) { return slope * double(j / 32); };
    AttentionInputs inputs = slopedInputs(spec, {1, 64, 320}, stairs);
    callAttention(program, "attention", spec, inputs);
    double count = 0;
    nlohmann::json kernels = program.takeReport();
    for (const nlohmann::json &op : kernels.at(0).at("ops"))
      if (op.at("class") == "shuffle")
        count += op.at("warp_instructions").get<double>();
    return count;
  };
  double flat = shuffles(8, 0), rising = shuffles(8, 1), always = shuffles(0, 0);
  EXPECT_LT(flat, rising);
  EXPECT_EQ(rising, always) << "a row of each warp rises in each block";
  // 10 blocks; 2 rows a lane and 2 steps of a butterfly for maximum and sum, and the branch in the first block only.
  EXPECT_EQ(always - flat, 2 * 4 * 9 * 4.0);
}
