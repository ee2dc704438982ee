//===- StatisticsTest.cpp - results beside the output ---------------------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static AttentionSpec statisticsSpec(DType type) {
  AttentionSpec spec;
  spec.type = type;
  spec.heads = 4;
  spec.keyHeads = 2;
  spec.keyDim = spec.valueDim = 64;
  spec.rule.causal = true;
  spec.rule.left = 40;
  spec.rule.softcap = 3;
  spec.block = {64, 32};
  spec.sinks = spec.max = spec.sinkMass = spec.firstKeyMass = true;
  spec.sinksType = DType::F32;
  return spec;
}

namespace {
class Statistics : public EachWay<Statistics> {
public:
  static void addEntries(Program &program) {
    for (DType type : {DType::F16, DType::F32}) {
      std::string name(dtypeName(type));
      program.add(statisticsSpec(type).entry(name));
      program.add(withoutStatistics(name));
    }
  }

  /// The entry plain_<type>(q, k, v, sinks, o): the same attention without statistics.
  static std::string withoutStatistics(const std::string &type) {
    std::string query = "tensor<?x?x4x64x" + type + ">", key = "tensor<?x?x2x64x" + type + ">";
    return "func.func @plain_" + type + "(%q: " + query + ", %k: " + key + ", %v: " + key +
           ", %s: tensor<4xf32>) -> " + query +
           " {\n  %o = attn.attention %q, %k, %v sinks(%s : tensor<4xf32>) {causal, " +
           "window = array<i64: 40, -1>, softcap = 3.0, tile.config = #tile.config<block = [64, "
           "32]>} : (" +
           query + ", " + key + ", " + key + ") -> " + query + "\n  return %o : " + query + "\n}\n";
  }
};
} // namespace

HEDDLE_TEST_EACH_WAY(Statistics, kernelWays);

// Keys that are not visible are in none of them (lse, largest score, masses), and the output has the same bits without them.
TEST_P(Statistics, OutputIsTheSameWithoutThem) {
  for (DType type : {DType::F16, DType::F32}) {
    std::string name(dtypeName(type));
    Random random(30);
    AttentionInputs inputs = AttentionInputs::random(statisticsSpec(type), {2, 130, 130}, random);
    AttentionOutputs with = checkAttention(*program, name, statisticsSpec(type), inputs);
    Array plain(type, with.output.shape());
    program->call("plain_" + name,
                  {&inputs.query, &inputs.key, &inputs.value, &inputs.sinks, &plain});
    EXPECT_TRUE(plain.sameBits(with.output)) << name;
  }
}
