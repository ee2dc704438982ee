//===- SinksTest.cpp - learned sinks --------------------------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr double kSinks[] = {-INFINITY, -30, 0, 5, 30, INFINITY, -1, 1, 2, 3};

namespace {
class Sinks : public EachWay<Sinks> {
public:
  static AttentionSpec spec(DType type, bool sinks) {
    AttentionSpec spec;
    spec.type = type;
    spec.heads = 10;
    spec.keyHeads = 2;
    spec.keyDim = spec.valueDim = 64;
    spec.rule.causal = true;
    spec.rule.left = 127;
    spec.rule.right = 0;
    spec.sinks = sinks;
    spec.block = {64, 32};
    return spec;
  }
  static std::string entry(DType type, bool sinks) {
    return (sinks ? "with_" : "without_") + std::string(dtypeName(type));
  }
  static void addEntries(Program &program) {
    for (DType type : {DType::F32, DType::BF16})
      for (bool sinks : {false, true})
        program.add(spec(type, sinks).entry(entry(type, sinks)));
  }
};
} // namespace

HEDDLE_TEST_EACH_WAY(Sinks, kernelWays);

TEST_P(Sinks, CountOnceInPrefillAndDecode) {
  for (DType type : {DType::F32, DType::BF16}) {
    AttentionSpec with = spec(type, true), without = spec(type, false);
    Random random(8);
    AttentionInputs inputs = AttentionInputs::random(with, {1, 129, 129}, random);
    inputs.sinks = Array::filled(DType::F32, {10}, [](const auto &i) { return kSinks[i[0]]; });
    AttentionOutputs prefill = checkAttention(*program, entry(type, true), with, inputs);
    AttentionOutputs plain = callAttention(*program, entry(type, false), without, inputs);
    EXPECT_TRUE(prefill.lse.sameBits(plain.lse)) << "the sink stays out of the lse";
    for (int64_t i = 0; i < 129; ++i)
      for (int64_t d = 0; d < 64; ++d) {
        EXPECT_EQ(prefill.output.get(0, i, 0, d), plain.output.get(0, i, 0, d)) << "sink -inf";
        EXPECT_EQ(prefill.output.get(0, i, 5, d), 0) << "sink +inf";
      }

    AttentionInputs last = inputs;
    last.query = inputs.query.slice(1, 128, 1);
    AttentionOutputs decode = checkAttention(*program, entry(type, true), with, last);
    // The keys are in other blocks than those of prefill.
    EXPECT_LE(relativeError(decode.output, prefill.output.slice(1, 128, 1).values()),
              type == DType::F32 ? 1e-6 : 4e-3);
  }
}
