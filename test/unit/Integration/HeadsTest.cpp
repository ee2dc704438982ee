//===- HeadsTest.cpp - head dims and numbers of heads ---------------------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

TEST(Heads, AllHeadDims) {
  const std::pair<int64_t, int64_t> dims[] = {
      {8, 8},     {16, 16},   {36, 36},   {40, 40},   {56, 56},   {64, 64},
      {72, 72},   {80, 80},   {96, 96},   {112, 112}, {128, 128}, {160, 160},
      {192, 192}, {224, 224}, {256, 256}, {512, 512}, {192, 128}, {576, 512}};
  Program program;
  std::vector<AttentionSpec> specs;
  for (auto [keyDim, valueDim] : dims) {
    AttentionSpec spec;
    spec.keyDim = keyDim;
    spec.valueDim = valueDim;
    spec.rule.causal = true;
    program.add(spec.entry("dims" + std::to_string(specs.size())));
    specs.push_back(spec);
  }
  ASSERT_TRUE(program.compile());
  for (size_t i = 0; i < specs.size(); ++i)
    for (int64_t length : {1, 17, 257}) {
      Random random(length);
      AttentionInputs inputs = AttentionInputs::random(specs[i], {1, length, length}, random);
      std::string entry = "dims" + std::to_string(i);
      AttentionOutputs first = checkAttention(program, entry, specs[i], inputs);
      AttentionOutputs second = callAttention(program, entry, specs[i], inputs);
      EXPECT_TRUE(first.output.sameBits(second.output)) << specs[i].text();
      EXPECT_TRUE(first.lse.sameBits(second.lse)) << specs[i].text();
    }
}

// Query head h reads key head floor(h / (Hq / Hk)): the same as with every key head repeated.
TEST(Heads, GroupedHeadsEqualRepeatedHeads) {
  const std::pair<int64_t, int64_t> ratios[] = {{20, 4}, {24, 4}, {28, 4}, {40, 4},
                                                {64, 4}, {71, 1}, {6, 2}};
  Program program;
  std::vector<std::pair<AttentionSpec, AttentionSpec>> specs;
  for (auto [heads, keyHeads] : ratios) {
    AttentionSpec grouped;
    grouped.heads = heads;
    grouped.keyHeads = keyHeads;
    grouped.rule.causal = true;
    AttentionSpec repeated = grouped;
    repeated.keyHeads = heads;
    program.add(grouped.entry("grouped" + std::to_string(specs.size())));
    program.add(repeated.entry("repeated" + std::to_string(specs.size())));
    specs.push_back({grouped, repeated});
  }
  ASSERT_TRUE(program.compile());
  for (size_t i = 0; i < specs.size(); ++i)
    for (int64_t length : {1, 3}) {
      const auto &[grouped, repeated] = specs[i];
      Random random(int64_t(100 + i));
      AttentionInputs inputs = AttentionInputs::random(grouped, {2, length, 19}, random);
      AttentionOutputs one =
          checkAttention(program, "grouped" + std::to_string(i), grouped, inputs);
      int64_t ratio = grouped.heads / grouped.keyHeads;
      for (Array *rows : {&inputs.key, &inputs.value}) {
        Array source = *rows;
        Array::Index shape = source.shape();
        shape[2] = grouped.heads;
        *rows = Array::filled(grouped.type, shape, [&](const auto &index) {
          return source.get(index[0], index[1], index[2] / ratio, index[3]);
        });
      }
      AttentionOutputs other =
          callAttention(program, "repeated" + std::to_string(i), repeated, inputs);
      EXPECT_LE(relativeError(one.output, other.output.values()), 1e-6) << grouped.text();
      EXPECT_LE(relativeError(one.lse, other.lse.values()), 1e-6) << grouped.text();
    }
}
