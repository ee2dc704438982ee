//===- SharedMemoryTest.cpp - less shared memory for a CTA ----------------===//
//
// Kernels for GPUs take smaller blocks where shared memory is less, and give the
// same; or they are refused with what they need and what there is.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::MatchesRegex;

static constexpr int64_t kBudgets[] = {48, 64, 99, 163, 227};

static AttentionSpec sharedMemorySpec(DType type, int64_t dim) {
  AttentionSpec spec;
  spec.type = type;
  spec.heads = 2;
  spec.keyDim = spec.valueDim = dim;
  spec.rule.causal = true;
  return spec;
}

static Way withBudget(int64_t kilobytes) {
  Way way("sim-sm_80");
  way.sharedBytes = kilobytes * 1024;
  return way;
}

/// Shared memory of a CTA in the last call.
static int64_t sharedBytes(const Program &program) {
  nlohmann::json kernels = program.takeReport();
  return kernels.size() == 1 ? kernels[0]["shared_bytes"].get<int64_t>() : -1;
}

TEST(SharedMemory, SmallerBlocksGiveTheSame) {
  struct Case {
    DType type;
    int64_t dim;
  };
  for (auto [type, dim] :
       {Case{DType::F16, 64}, {DType::F16, 128}, {DType::BF16, 256}, {DType::F32, 64}}) {
    AttentionSpec spec = sharedMemorySpec(type, dim);
    Random random(31);
    AttentionInputs inputs = AttentionInputs::random(spec, {1, 150, 200}, random);
    AttentionExpectation expected(spec, inputs);
    int64_t before = 0;
    for (int64_t kilobytes : kBudgets) {
      Program program;
      program.add(spec.entry("attention"));
      ASSERT_TRUE(program.compile(withBudget(kilobytes)));
      AttentionOutputs outputs = callAttention(program, "attention", spec, inputs);
      std::string context = std::to_string(kilobytes) + " KB";
      compareAttention(outputs, expected, spec, context);
      int64_t bytes = sharedBytes(program);
      EXPECT_LE(bytes, kilobytes * 1024) << spec.text() << " " << context;
      EXPECT_GE(bytes, before) << spec.text() << " " << context;
      before = bytes;
    }
  }
}

// In f32, 16 queries and keys of the largest head dimensions take more than sm_86 and sm_89 have: there blocks have 8 keys.
TEST(SharedMemory, LargeHeadsHaveBlocksOfFewKeys) {
  AttentionSpec spec = sharedMemorySpec(DType::F32, 576);
  spec.valueDim = 512;
  Random random(40);
  AttentionInputs inputs = AttentionInputs::random(spec, {1, 37, 61}, random);
  AttentionExpectation expected(spec, inputs);
  for (int64_t kilobytes : {99, 163}) {
    Program program;
    program.add(spec.entry("attention"));
    ASSERT_TRUE(program.compile(withBudget(kilobytes)));
    AttentionOutputs outputs = callAttention(program, "attention", spec, inputs);
    compareAttention(outputs, expected, spec, std::to_string(kilobytes) + " KB");
    EXPECT_LE(sharedBytes(program), kilobytes * 1024);
  }
}

TEST(SharedMemory, TooLittleIsAnErrorWithBothNumbers) {
  Program program;
  program.add(sharedMemorySpec(DType::F32, 512).entry("attention"));
  EXPECT_THAT(
      program.tryCompile(withBudget(48)),
      MatchesRegex("kernel 'attention_0' needs [0-9]+ bytes of shared memory, the budget is "
                   "49152.*"));
  // A hint is taken as it is.
  AttentionSpec hinted = sharedMemorySpec(DType::F16, 128);
  hinted.block = {128, 128};
  Program large;
  large.add(hinted.entry("attention"));
  EXPECT_THAT(
      large.tryCompile(withBudget(64)),
      MatchesRegex("kernel 'attention_0' needs [0-9]+ bytes of shared memory, the budget is "
                   "65536.*a smaller block than \\[128, 128\\].*"));
}
