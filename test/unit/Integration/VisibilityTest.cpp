//===- VisibilityTest.cpp - exactly which keys a query sees ---------------===//
//
// Two structured inputs on which one wrong key changes an output by O(1):
//
// * Queries of zero weigh all visible keys alike, and value j is the unit vector
//   e_j: output channel j is 1 / (number of visible keys) if key j is visible,
//   else 0.
// * Key j is e_j and query i a large multiple of e_t(i): if key t(i) is visible
//   the output is its value, j + 1.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int kKeys = 24;

/// Every mask, window and length feature, alone and with others.
static std::vector<AttentionSpec> visibilitySpecs(DType type) {
  std::vector<AttentionSpec> specs;
  for (bool causal : {false, true})
    for (auto [left, right] : {std::pair(-1, -1), std::pair(3, 0), std::pair(0, 0),
                               std::pair(4, -1), std::pair(-1, 2), std::pair(3, 2)})
      for (bool lengths : {false, true}) {
        AttentionSpec spec;
        spec.type = type;
        spec.heads = 2;
        spec.keyDim = spec.valueDim = kKeys;
        spec.rule.causal = causal;
        spec.rule.left = left;
        spec.rule.right = right;
        spec.lengths = lengths;
        specs.push_back(spec);
      }
  for (std::array<bool, 4> shape :
       {std::array{true, true, true, true}, std::array{false, false, true, true},
        std::array{true, false, false, true}, std::array{false, true, true, false}}) {
    AttentionSpec spec = specs[size_t(shape[0]) * 12];
    spec.lengths = shape[1];
    spec.mask = shape;
    specs.push_back(spec);
  }
  return specs;
}

static void makeUniform(AttentionInputs &inputs) {
  inputs.query = Array::constant(inputs.query.type(), inputs.query.shape(), 0);
  for (int64_t i = 0; i < inputs.value.count(); ++i) {
    Array::Index index = inputs.value.indexOf(i);
    if (inputs.value.get(index) == inputs.value.get(index)) // not NaN
      inputs.value.set(index, index[1] == index[3]);
  }
}

static void makeSelecting(AttentionInputs &inputs, Random &random) {
  int64_t keys = inputs.key.shape()[1];
  Array::Index target(size_t(inputs.query.shape()[1]));
  for (int64_t &each : target)
    each = keys ? random.integer(0, keys - 1) : 0;
  inputs.query = Array::filled(inputs.query.type(), inputs.query.shape(), [&](const auto &i) {
    return target[size_t(i[1])] == i[3] ? 200 : 0;
  });
  for (int64_t i = 0; i < inputs.key.count(); ++i) {
    Array::Index index = inputs.key.indexOf(i);
    if (inputs.key.get(index) != inputs.key.get(index))
      continue;
    inputs.key.set(index, index[1] == index[3]);
    inputs.value.set(index, double(index[1] + 1));
  }
}

static void checkStructured(const Program &program, const std::string &entry,
                            const AttentionSpec &spec, AttentionInputs &inputs, double limit) {
  AttentionOutputs outputs = callAttention(program, entry, spec, inputs);
  AttentionResult expected = evaluateAttention(inputs.operands(spec), spec.rule);
  EXPECT_LE(largestError(outputs.output, expected.output), limit) << spec.text();
}

class Visibility : public testing::TestWithParam<std::string> {};

TEST_P(Visibility, StructuredInputs) {
  Program program;
  std::vector<AttentionSpec> specs = visibilitySpecs(DType::F32);
  for (const AttentionSpec &spec : visibilitySpecs(DType::BF16))
    if (spec.mask || spec.lengths)
      specs.push_back(spec);
  for (size_t i = 0; i < specs.size(); ++i)
    program.add(specs[i].entry("spec" + std::to_string(i)));
  ASSERT_TRUE(program.compile(GetParam()));
  for (size_t i = 0; i < specs.size(); ++i)
    for (auto [queries, keys] :
         {std::pair(9, 9), std::pair(1, 13), std::pair(4, kKeys), std::pair(11, 5)}) {
      Random random(int64_t(i * 100 + size_t(keys)));
      std::string entry = "spec" + std::to_string(i);
      double unit = specs[i].type == DType::F32 ? 1e-6 : 1e-2;
      AttentionInputs inputs = AttentionInputs::random(specs[i], {3, queries, keys}, random);
      makeUniform(inputs);
      checkStructured(program, entry, specs[i], inputs, unit);
      makeSelecting(inputs, random);
      checkStructured(program, entry, specs[i], inputs, 20 * unit);
    }
}

INSTANTIATE_TEST_SUITE_P(Variants, Visibility, testing::ValuesIn(hostVariants()),
                         [](const auto &info) { return info.param; });

// A window of 4 keys including the query's own over 9 tokens: one prefill, and 9 decode steps on a
// cache that is longer than the sequence.
TEST(Window, DecodeStepsSeeWhatPrefillSees) {
  AttentionSpec spec;
  spec.keyDim = spec.valueDim = 16;
  spec.rule.causal = true;
  spec.rule.left = 3;
  spec.rule.right = 0;
  AttentionSpec cached = spec;
  cached.lengths = true;
  Program program;
  program.add(spec.entry("prefill"));
  program.add(cached.entry("decode"));
  ASSERT_TRUE(program.compile());

  Random random(7);
  AttentionInputs inputs = AttentionInputs::random(spec, {1, 9, 9}, random);
  makeUniform(inputs);
  AttentionOutputs prefill = checkAttention(program, "prefill", spec, inputs);
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      bool visible = j <= i && j >= i - 3;
      EXPECT_EQ(prefill.output.get(0, i, 0, j) != 0, visible) << i << " " << j;
    }
  for (int64_t step = 0; step < 9; ++step) {
    AttentionInputs one;
    one.query = inputs.query.slice(1, step, 1);
    one.key = Array(DType::F32, {1, 12, 1, 16});
    one.value = Array(DType::F32, {1, 12, 1, 16});
    for (int64_t j = 0; j <= step; ++j)
      for (int64_t d = 0; d < 16; ++d) {
        one.key.set({0, j, 0, d}, inputs.key.get(0, j, 0, d));
        one.value.set({0, j, 0, d}, inputs.value.get(0, j, 0, d));
      }
    one.lengths = Array::constant(DType::I32, {1}, double(step + 1));
    AttentionOutputs decode = checkAttention(program, "decode", cached, one);
    for (int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(decode.output.get(0, 0, 0, d), prefill.output.get(0, step, 0, d)) << step;
  }
}
