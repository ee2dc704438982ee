//===- HeadsTest.cpp - head dims and numbers of heads ---------------------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
/// One way and type.
struct HeadsCase {
  Way way;
  DType type;
};

class Heads : public testing::TestWithParam<HeadsCase> {
protected:
  /// Compiles the specs as entries "0", "1", ...
  void compile(const std::vector<AttentionSpec> &specs) {
    for (auto [i, spec] : llvm::enumerate(specs))
      program.add(spec.entry("heads" + std::to_string(i)));
    ASSERT_TRUE(program.compile(GetParam().way));
  }
  AttentionOutputs check(size_t i, const AttentionSpec &spec, AttentionInputs &inputs) {
    return checkAttention(program, "heads" + std::to_string(i), spec, inputs);
  }
  AttentionOutputs call(size_t i, const AttentionSpec &spec, AttentionInputs &inputs) {
    return callAttention(program, "heads" + std::to_string(i), spec, inputs);
  }

  Program program;
};
} // namespace

static std::vector<HeadsCase> headsCases() {
  std::vector<HeadsCase> cases{{Way(), DType::F32}, {Way(), DType::F16}};
  for (DType type : {DType::F16, DType::BF16, DType::F32})
    cases.push_back({"sim-sm_80", type});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ways, Heads, testing::ValuesIn(headsCases()), [](const auto &info) {
  return info.param.way.text() + "_" + std::string(dtypeName(info.param.type));
});

TEST_P(Heads, AllHeadDims) {
  const std::pair<int64_t, int64_t> dims[] = {
      {8, 8},     {16, 16},   {36, 36},   {40, 40},   {56, 56},   {64, 64},
      {72, 72},   {80, 80},   {96, 96},   {112, 112}, {128, 128}, {160, 160},
      {192, 192}, {224, 224}, {256, 256}, {512, 512}, {192, 128}, {576, 512}};
  std::vector<AttentionSpec> specs;
  for (auto [keyDim, valueDim] : dims) {
    AttentionSpec spec;
    spec.type = GetParam().type;
    spec.keyDim = keyDim;
    spec.valueDim = valueDim;
    spec.rule.causal = true;
    specs.push_back(spec);
  }
  compile(specs);
  if (HasFatalFailure())
    return;
  for (auto [i, spec] : llvm::enumerate(specs))
    for (int64_t length : {1, 17, 257}) {
      Random random(length);
      AttentionInputs inputs = AttentionInputs::random(spec, {1, length, length}, random);
      AttentionOutputs first = check(i, spec, inputs), second = call(i, spec, inputs);
      EXPECT_TRUE(first.output.sameBits(second.output)) << spec.text();
      EXPECT_TRUE(first.lse.sameBits(second.lse)) << spec.text();
    }
}

// Query head h reads key head floor(h / (Hq / Hk)): the same as with every key head repeated.
TEST_P(Heads, GroupedHeadsEqualRepeatedHeads) {
  const std::pair<int64_t, int64_t> ratios[] = {{20, 4}, {24, 4}, {28, 4}, {40, 4},
                                                {64, 4}, {71, 1}, {6, 2}};
  std::vector<AttentionSpec> specs; // grouped, repeated, grouped, ...
  for (auto [heads, keyHeads] : ratios) {
    AttentionSpec grouped;
    grouped.type = GetParam().type;
    grouped.heads = heads;
    grouped.keyHeads = keyHeads;
    grouped.rule.causal = true;
    AttentionSpec repeated = grouped;
    repeated.keyHeads = heads;
    specs.insert(specs.end(), {grouped, repeated});
  }
  compile(specs);
  if (HasFatalFailure())
    return;
  for (size_t i = 0; i < specs.size(); i += 2)
    for (int64_t length : {1, 3}) {
      const AttentionSpec &grouped = specs[i];
      Random random(int64_t(100 + i));
      AttentionInputs inputs = AttentionInputs::random(grouped, {2, length, 19}, random);
      AttentionOutputs one = check(i, grouped, inputs);
      int64_t ratio = grouped.heads / grouped.keyHeads;
      for (Array *rows : {&inputs.key, &inputs.value}) {
        Array source = *rows;
        Array::Index shape = source.shape();
        shape[2] = grouped.heads;
        *rows = Array::filled(grouped.type, shape, [&](const auto &index) {
          return source.get(index[0], index[1], index[2] / ratio, index[3]);
        });
      }
      AttentionOutputs other = call(i + 1, specs[i + 1], inputs);
      EXPECT_LE(relativeError(one.output, other.output.values()), 1e-6) << grouped.text();
      EXPECT_LE(relativeError(one.lse, other.lse.values()), 1e-6) << grouped.text();
    }
}
