//===- SinksTest.cpp - learned sinks --------------------------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr double kSinks[] = {-INFINITY, -30, 0, 5, 30, INFINITY, -1, 1, 2, 3};

TEST(Sinks, CountOnceInPrefillAndDecode) {
  AttentionSpec spec;
  spec.heads = 10;
  spec.keyHeads = 2;
  spec.keyDim = spec.valueDim = 64;
  spec.rule.causal = true;
  spec.rule.left = 127;
  spec.rule.right = 0;
  spec.sinks = true;
  AttentionSpec without = spec;
  without.sinks = false;
  Program program;
  program.add(spec.entry("with"));
  program.add(without.entry("without"));
  ASSERT_TRUE(program.compile());

  Random random(8);
  AttentionInputs inputs = AttentionInputs::random(spec, {1, 129, 129}, random);
  inputs.sinks = Array::filled(DType::F32, {10}, [](const auto &i) { return kSinks[i[0]]; });
  AttentionOutputs prefill = checkAttention(program, "with", spec, inputs);
  AttentionOutputs plain = callAttention(program, "without", without, inputs);
  EXPECT_TRUE(prefill.lse.sameBits(plain.lse)) << "the sink stays out of the lse";
  for (int64_t i = 0; i < 129; ++i)
    for (int64_t d = 0; d < 64; ++d) {
      EXPECT_EQ(prefill.output.get(0, i, 0, d), plain.output.get(0, i, 0, d)) << "sink -inf";
      EXPECT_EQ(prefill.output.get(0, i, 5, d), 0) << "sink +inf";
    }

  AttentionInputs last = inputs;
  last.query = inputs.query.slice(1, 128, 1);
  AttentionOutputs decode = checkAttention(program, "with", spec, last);
  EXPECT_LE(relativeError(decode.output, prefill.output.slice(1, 128, 1).values()), 1e-6);
}
