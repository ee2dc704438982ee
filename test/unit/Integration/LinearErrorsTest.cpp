//===- LinearErrorsTest.cpp - calls with wrong offsets and slots ----------===//

#include "LinearSpec.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {

class LinearErrors : public testing::Test {
protected:
  static void SetUpTestSuite() {
    LinearSpec spec;
    spec.ragged = true;
    spec.slots = true;
    for (int64_t chunk : {0, 16}) {
      spec.chunk = chunk;
      specs.push_back(spec);
    }
    LinearSpec batched;
    batched.initialState = true;
    specs.push_back(batched);
    program = new Program;
    isCompiled = compileLinear(*program, specs);
  }
  static void TearDownTestSuite() { delete program; }
  void SetUp() override { ASSERT_TRUE(isCompiled); }

  /// 3 sequences in 10 tokens, a pool of 6.
  LinearInputs inputs() {
    Random random(1);
    return LinearInputs::packed(specs[0], {2, 3, 5}, Gates::Mixed, random, {0, -1, 5}, 6);
  }

  void expectRefused(const LinearInputs &wrong, const std::string &message) {
    for (size_t i : {0, 1}) {
      std::string entry = "spec" + std::to_string(i);
      LinearOutputs outputs;
      Outcome outcome = tryCallLinear(*program, entry, specs[i], wrong, outputs);
      EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
      EXPECT_EQ(outcome.message, entry + ": " + message);
      EXPECT_TRUE(outputs.output.untouched());
      EXPECT_TRUE(outputs.state.sameBits(wrong.state));
    }
  }

  static inline std::vector<LinearSpec> specs;
  static inline Program *program;
  static inline bool isCompiled = false;
};

} // namespace

TEST_F(LinearErrors, OffsetsThatDecrease) {
  LinearInputs wrong = inputs();
  wrong.offsets.set({2}, 1);
  expectRefused(wrong, "linear_attention: cu_seqlens[2] is 1, expected at least 2, the value "
                       "before it");
}

TEST_F(LinearErrors, FirstOffset) {
  LinearInputs wrong = inputs();
  wrong.offsets.set({0}, -3);
  expectRefused(wrong, "linear_attention: cu_seqlens[0] is -3, expected 0");
}

TEST_F(LinearErrors, LastOffset) {
  for (double last : {9.0, 11.0}) {
    LinearInputs wrong = inputs();
    wrong.offsets.set({3}, last);
    expectRefused(wrong, "linear_attention: the last value of cu_seqlens is " +
                             std::to_string(int(last)) + ", expected 10, the number of tokens");
  }
}

TEST_F(LinearErrors, SlotsOutsideOfThePool) {
  LinearInputs wrong = inputs();
  wrong.slots.set({2}, 6);
  expectRefused(wrong, "slots[2] is 6, expected a value from -1 to 5");
  wrong.slots.set({0}, -2);
  expectRefused(wrong, "slots[0] is -2, expected a value from -1 to 5");
}

TEST_F(LinearErrors, NumbersOfSequences) {
  LinearInputs wrong = inputs();
  wrong.slots = Array::constant(DType::I32, {4}, 0);
  for (size_t i : {0, 1}) {
    LinearOutputs outputs;
    Outcome outcome = tryCallLinear(*program, "spec" + std::to_string(i), specs[i], wrong, outputs);
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.message.find("4, expected 3, one less than cu_seqlens has"),
              std::string::npos)
        << outcome.message;
    EXPECT_TRUE(outputs.output.untouched());
  }
  wrong = inputs();
  wrong.offsets = Array(DType::I32, {0});
  for (size_t i : {0, 1}) {
    LinearOutputs outputs;
    outputs.output = Array(DType::F32, {1, 10, 4, 8});
    LinearInputs copy = wrong;
    Array state = copy.state.copy();
    Outcome outcome = program->tryCall(
        "spec" + std::to_string(i), {&copy.query, &copy.key, &copy.value, &copy.decay, &copy.beta,
                                     &state, &copy.offsets, &copy.slots, &outputs.output});
    EXPECT_EQ(outcome.message,
              "spec" + std::to_string(i) + ": linear_attention: cu_seqlens has no elements");
  }
}

TEST_F(LinearErrors, ExtentsThatDiffer) {
  Random random(2);
  LinearInputs wrong = LinearInputs::random(specs[2], 2, 4, Gates::Mixed, random);
  wrong.key = Array::uniform(DType::F32, {2, 3, 2, 8}, random);
  LinearOutputs outputs;
  Outcome outcome = tryCallLinear(*program, "spec2", specs[2], wrong, outputs);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.message.find("'k'"), std::string::npos) << outcome.message;
  EXPECT_TRUE(outputs.output.untouched());
}
