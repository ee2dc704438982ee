//===- LayoutTest.cpp - tensors that are views ----------------------------===//

#include "AttentionSpec.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {
class Layout : public EachWay<Layout> {
public:
  static constexpr int64_t kBatch = 2, kLength = 9, kDim = 24;

  static void addEntries(Program &program) {
    spec.heads = 4;
    spec.keyHeads = 2;
    spec.keyDim = spec.valueDim = kDim;
    spec.rule.causal = true;
    half = spec;
    half.type = DType::F16;
    odd = half;
    odd.keyDim = odd.valueDim = 5;
    program.add(spec.entry("f32"));
    program.add(half.entry("f16"));
    program.add(odd.entry("odd"));
  }

  void SetUp() override {
    EachWay::SetUp();
    if (HasFatalFailure())
      return;
    Random random(13);
    inputs = AttentionInputs::random(spec, {kBatch, kLength, kLength}, random);
    expected = callAttention(*program, "f32", spec, inputs);
  }

  void expectSame(AttentionInputs &views) {
    AttentionOutputs outputs = callAttention(*program, "f32", spec, views);
    EXPECT_TRUE(outputs.output.sameBits(expected.output));
    EXPECT_TRUE(outputs.lse.sameBits(expected.lse));
  }

  /// The outcome of a call with these inputs; the outputs must stay as they are.
  Outcome refused(const std::string &entry, DType type, AttentionInputs &views) {
    Array output(type, {kBatch, kLength, 4, kDim}), lse(DType::F32, {kBatch, 4, kLength});
    Outcome outcome =
        program->tryCall(entry, {&views.query, &views.key, &views.value, &output, &lse});
    EXPECT_EQ(outcome.status, HEDDLE_INVALID_ARGUMENT);
    EXPECT_TRUE(output.untouched() && lse.untouched());
    return outcome;
  }

  static inline AttentionSpec spec, half, odd;
  AttentionInputs inputs;
  AttentionOutputs expected;
};
} // namespace

HEDDLE_TEST_EACH_WAY(Layout, graphWays);

TEST_P(Layout, SlicesOfOneFusedProjection) {
  AttentionInputs views = inputs;
  views.moveTo(AttentionMemory::Fused);
  expectSame(views);
}

// [B, H, L, d], seen as [B, L, H, d].
TEST_P(Layout, HeadsBeforeRows) {
  AttentionInputs views = inputs;
  views.moveTo(AttentionMemory::HeadsFirst);
  expectSame(views);
}

TEST_P(Layout, OneKeyHeadWithStrideZero) {
  AttentionInputs views = inputs;
  views.moveTo(AttentionMemory::SharedKeyHead);
  AttentionInputs repeated = views;
  repeated.key = views.key.copy();
  repeated.value = views.value.copy();
  expected = callAttention(*program, "f32", spec, repeated);
  expectSame(views);
}

// Kernels for GPUs move 16 bytes at a time where rows allow it, and then want them aligned to that.
TEST_P(Layout, BaseAlignedToAnElementOnly) {
  for (auto [name, each] : {std::pair("f16", &half), std::pair("odd", &odd)}) {
    Random random(14);
    AttentionInputs narrow = AttentionInputs::random(*each, {kBatch, kLength, kLength}, random);
    AttentionOutputs aligned = callAttention(*program, name, *each, narrow);
    for (Array *array : {&narrow.query, &narrow.key, &narrow.value})
      *array = array->shiftedCopy(2);
    if (GetParam().isSimulated() && each == &half) {
      Outcome outcome = refused(name, DType::F16, narrow);
      EXPECT_THAT(outcome.message,
                  HasSubstr("'q': data address is 2 bytes past a multiple of 16, expected one "
                            "aligned to 16 bytes"));
      continue;
    }
    AttentionOutputs shifted = callAttention(*program, name, *each, narrow);
    EXPECT_TRUE(aligned.output.sameBits(shifted.output)) << name;
    EXPECT_TRUE(aligned.lse.sameBits(shifted.lse)) << name;
  }
}

TEST_P(Layout, RowsAlignedToAnElementOnly) {
  Random random(15);
  AttentionInputs views = AttentionInputs::random(half, {kBatch, kLength, kLength}, random);
  AttentionOutputs dense = callAttention(*program, "f16", half, views);
  // A gap of one element behind each row of keys.
  constexpr int64_t kRow = 2 * kDim + 1;
  Array key = Array(DType::F16, {kBatch, kLength, kRow})
                  .withStrides({kBatch, kLength, 2, kDim}, {kLength * kRow, kRow, kDim, 1});
  for (int64_t i = 0; i < key.count(); ++i)
    key.set(key.indexOf(i), views.key[i]);
  views.key = key;
  if (GetParam().isSimulated()) {
    EXPECT_THAT(refused("f16", DType::F16, views).message,
                HasSubstr("'k': stride of dimension 0 is 441 elements (882 bytes), expected a "
                          "multiple of 8 elements (16 bytes), such as 448"));
    return;
  }
  AttentionOutputs moved = callAttention(*program, "f16", half, views);
  EXPECT_TRUE(dense.output.sameBits(moved.output));
}

TEST_P(Layout, BaseNotAlignedToAnElement) {
  AttentionInputs views = inputs;
  views.key = inputs.key.shiftedCopy(2);
  Outcome outcome = refused("f32", DType::F32, views);
  EXPECT_THAT(outcome.message, HasSubstr("argument 1 'k'"));
  EXPECT_THAT(outcome.message, HasSubstr("align"));
}

TEST_P(Layout, LastDimensionNotContiguous) {
  AttentionInputs views = inputs;
  Array wide(DType::F32, {kBatch, kLength, 2, 2 * kDim});
  views.value =
      wide.withStrides({kBatch, kLength, 2, kDim}, {kLength * 4 * kDim, 4 * kDim, 2 * kDim, 2});
  Outcome outcome = refused("f32", DType::F32, views);
  EXPECT_THAT(outcome.message, HasSubstr("argument 2 'v'"));
  EXPECT_THAT(outcome.message, HasSubstr("stride"));
  EXPECT_THAT(outcome.message, HasSubstr("2"));
}

// What is written has to be dense.
TEST_P(Layout, OutputInsideALargerTensorIsRefused) {
  Array whole(DType::F32, {kBatch, kLength, 6, kDim}), lse(DType::F32, {kBatch, 4, kLength});
  Array output = whole.slice(2, 1, 4);
  Outcome outcome =
      program->tryCall("f32", {&inputs.query, &inputs.key, &inputs.value, &output, &lse});
  EXPECT_EQ(outcome.status, HEDDLE_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("argument 3 'o': stride of dimension 1 is 144"));
  EXPECT_TRUE(whole.untouched());
}

TEST_P(Layout, OutputThatOverlapsIsRefused) {
  Array lse(DType::F32, {kBatch, 4, kLength});
  Array output = Array(DType::F32, {kBatch, kLength, 1, kDim})
                     .withStrides({kBatch, kLength, 4, kDim}, {kLength * kDim, kDim, 0, 1});
  Outcome itself =
      program->tryCall("f32", {&inputs.query, &inputs.key, &inputs.value, &output, &lse});
  EXPECT_EQ(itself.status, HEDDLE_INVALID_ARGUMENT);
  EXPECT_THAT(itself.message, HasSubstr("'o'"));
  EXPECT_TRUE(output.untouched());

  Array query = inputs.query.copy();
  Outcome input = program->tryCall("f32", {&query, &inputs.key, &inputs.value, &query, &lse});
  EXPECT_EQ(input.status, HEDDLE_INVALID_ARGUMENT);
  EXPECT_THAT(input.message, HasSubstr("overlap"));
  EXPECT_TRUE(query.sameBits(inputs.query));
}
