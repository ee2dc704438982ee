//===- EmptyInputsTest.cpp - rows and tensors without anything to see -----===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
AttentionSpec withDims(int64_t heads, int64_t keyHeads, int64_t dim) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.keyHeads = keyHeads;
  spec.keyDim = spec.valueDim = dim;
  spec.block = {32, 32};
  return spec;
}

bool isEmptyRow(const AttentionOutputs &outputs, int64_t row) {
  bool empty = outputs.lse.get({0, 0, row}) == -INFINITY;
  for (int64_t d = 0; d < outputs.output.shape()[3]; ++d)
    empty &= outputs.output.get({0, row, 0, d}) == 0;
  return empty;
}

class EmptyInputs : public EachWay<EmptyInputs> {
public:
  static void addEntries(Program &program) {
    causal = withDims(1, 1, 64);
    causal.rule.causal = true;
    masked = withDims(1, 1, 64);
    masked.mask = {true, true, true, true};
    half = masked;
    half.type = DType::F16;
    dense = withDims(4, 2, 16);
    full = withDims(4, 2, 16);
    full.rule.causal = true;
    full.rule.left = 3;
    full.rule.right = 0;
    full.bias = {true, false, true, true};
    full.mask = {false, false, false, true};
    full.sinks = full.lengths = true;
    full.slopesRank = 2;
    wide = withDims(1, 1, 128);
    wide.rule.causal = true;
    single = withDims(1, 1, 1);
    single.mask = {false, false, false, true};
    program.add(causal.entry("causal"));
    program.add(masked.entry("masked"));
    program.add(half.entry("half"));
    program.add(dense.entry("dense"));
    program.add(full.entry("full"));
    program.add(wide.entry("wide"));
    program.add(single.entry("single"));
  }

  static inline AttentionSpec causal, masked, half, dense, full, wide, single;
};
} // namespace

HEDDLE_TEST_EACH_WAY(EmptyInputs, kernelWays);

TEST_P(EmptyInputs, RowsBeforeTheFirstKeyAreZero) {
  Random random(1);
  AttentionInputs inputs = AttentionInputs::random(causal, {1, 5, 2}, random);
  AttentionOutputs outputs = checkAttention(*program, "causal", causal, inputs);
  for (int64_t row = 0; row < 5; ++row)
    EXPECT_EQ(isEmptyRow(outputs, row), row < 3) << row;
}

TEST_P(EmptyInputs, MaskedOutRowsAreZero) {
  Random random(2);
  AttentionInputs inputs = AttentionInputs::random(masked, {1, 5, 7}, random);
  inputs.mask =
      Array::filled(DType::Bool, {1, 1, 5, 7}, [](const auto &index) { return index[2] == 2; });
  AttentionOutputs outputs = checkAttention(*program, "masked", masked, inputs);
  for (int64_t row = 0; row < 5; ++row)
    EXPECT_EQ(isEmptyRow(outputs, row), row != 2) << row;
}

// Below the range of f32 a score is -inf, also where no mask is applied. (Three products of tf32 for one of f32 give NaN there.)
TEST(OverflowedScores, GiveZeros) {
  for (Way way : kernelWays()) {
    way.f32Products = tile::DotPrecision::IEEE;
    AttentionSpec causal = withDims(1, 1, 64);
    causal.rule.causal = true;
    Program program;
    program.add(causal.entry("causal"));
    ASSERT_TRUE(program.compile(way));
    Random random(9);
    AttentionInputs inputs = AttentionInputs::random(causal, {1, 130, 130}, random);
    inputs.query = Array::constant(DType::F32, {1, 130, 1, 64}, 1e30);
    inputs.key = Array::constant(DType::F32, {1, 130, 1, 64}, -1e30);
    AttentionOutputs outputs = callAttention(program, "causal", causal, inputs);
    for (int64_t row = 0; row < 130; ++row)
      EXPECT_TRUE(isEmptyRow(outputs, row)) << way.text() << " " << row;
  }
}

TEST_P(EmptyInputs, NoKeysGiveZeros) {
  Random random(3);
  for (auto [name, spec] : {std::pair("dense", &dense), std::pair("full", &full)}) {
    AttentionInputs inputs = AttentionInputs::random(*spec, {2, 3, 0}, random);
    AttentionOutputs outputs = checkAttention(*program, name, *spec, inputs);
    EXPECT_TRUE(isEmptyRow(outputs, 0)) << name;
  }
}

TEST_P(EmptyInputs, NoSequencesAndNoQueriesAreFine) {
  Random random(4);
  for (auto [name, spec] : {std::pair("dense", &dense), std::pair("full", &full)})
    for (AttentionExtents extents : {AttentionExtents{0, 3, 5}, AttentionExtents{2, 0, 5},
                                     AttentionExtents{0, 0, 0}, AttentionExtents{2, 0, 0}}) {
      AttentionInputs inputs = AttentionInputs::random(*spec, extents, random);
      checkAttention(*program, name, *spec, inputs);
    }
}

TEST_P(EmptyInputs, LengthZeroIsAnEmptyRow) {
  Random random(5);
  AttentionInputs inputs = AttentionInputs::random(full, {3, 4, 6}, random);
  inputs.lengths = Array::constant(DType::I32, {3}, 0);
  inputs.key = Array(DType::F32, inputs.key.shape());
  inputs.value = Array(DType::F32, inputs.value.shape());
  AttentionOutputs outputs = checkAttention(*program, "full", full, inputs);
  EXPECT_TRUE(isEmptyRow(outputs, 3));
}

// Every raw score is near -2.45e5: a finite stand-in for -inf would win over them.
TEST_P(EmptyInputs, VeryNegativeScoresAreOrdinary) {
  AttentionInputs inputs;
  inputs.query = Array::constant(DType::F32, {1, 9, 1, 128}, -43.75);
  inputs.key = Array::filled(DType::F32, {1, 9, 1, 128}, [](const auto &index) {
    return 43.75 + (index[3] == 0 ? 0.25 * double(index[1] % 3) : 0);
  });
  Random random(6);
  inputs.value = Array::uniform(DType::F32, {1, 9, 1, 128}, random);
  AttentionOutputs outputs = callAttention(*program, "wide", wide, inputs);
  AttentionResult expected = evaluateAttention(inputs.operands(wide), wide.rule);
  // A scaled score of -2.2e4 carries 1e-3 in f32.
  EXPECT_LE(relativeError(outputs.output, expected.output), 5e-3);
  EXPECT_LE(relativeError(outputs.lse, expected.lse), 1e-6);
}

TEST_P(EmptyInputs, OneVisibleKeyTakesAll) {
  AttentionInputs inputs;
  inputs.query = Array::constant(DType::F32, {1, 1, 1, 1}, -20000);
  inputs.key = Array::filled(DType::F32, {1, 2, 1, 1}, [](const auto &i) { return i[1] == 0; });
  inputs.value =
      Array::filled(DType::F32, {1, 2, 1, 1}, [](const auto &i) { return i[1] ? 100 : 1; });
  inputs.mask = Array::filled(DType::Bool, {1, 1, 1, 2}, [](const auto &i) { return i[3] == 0; });
  AttentionOutputs outputs = callAttention(*program, "single", single, inputs);
  EXPECT_EQ(outputs.output[0], 1);
  EXPECT_EQ(outputs.lse[0], -20000);
}

// Blocks of keys of which a row sees none do not change it: as without them, bit for bit.
TEST_P(EmptyInputs, HiddenBlocksWeighNothing) {
  Random random(10);
  constexpr int64_t kHidden = 192, kKeys = 256;
  for (auto [name, spec] : {std::pair("masked", &masked), std::pair("half", &half)}) {
    AttentionInputs inputs = AttentionInputs::random(*spec, {1, 5, kKeys}, random);
    inputs.mask = Array::filled(DType::Bool, inputs.mask.shape(),
                                [](const auto &i) { return i[3] >= kHidden && i[2] != 4; });
    AttentionOutputs whole = checkAttention(*program, name, *spec, inputs);
    for (Array *rows : {&inputs.key, &inputs.value})
      *rows = rows->slice(1, kHidden, kKeys - kHidden).copy();
    inputs.mask = inputs.mask.slice(3, kHidden, kKeys - kHidden).copy();
    AttentionOutputs rest = callAttention(*program, name, *spec, inputs);
    EXPECT_TRUE(whole.output.sameBits(rest.output)) << name;
    EXPECT_TRUE(whole.lse.sameBits(rest.lse)) << name;
    EXPECT_TRUE(isEmptyRow(whole, 4)) << name;
  }
}
