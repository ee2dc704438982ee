//===- LayoutTest.cpp - tensors that are views ----------------------------===//

#include "AttentionSpec.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {
class Layout : public testing::Test {
protected:
  static constexpr int64_t kBatch = 2, kLength = 9, kDim = 24;

  static void SetUpTestSuite() {
    spec.heads = 4;
    spec.keyHeads = 2;
    spec.keyDim = spec.valueDim = kDim;
    spec.rule.causal = true;
    half = spec;
    half.type = DType::F16;
    program = new Program;
    program->add(spec.entry("f32"));
    program->add(half.entry("f16"));
    ASSERT_TRUE(program->compile());
  }
  static void TearDownTestSuite() { delete program; }

  void SetUp() override {
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

  static inline AttentionSpec spec, half;
  static inline Program *program;
  AttentionInputs inputs;
  AttentionOutputs expected;
};
} // namespace

TEST_F(Layout, SlicesOfOneFusedProjection) {
  // [B, L, (4 + 2 + 2) * d]
  int64_t row = 8 * kDim;
  Array fused(DType::F32, {kBatch, kLength, row});
  auto part = [&](const Array &source, int64_t first) {
    int64_t heads = source.shape()[2];
    Array view = fused.withStrides({kBatch, kLength, heads, kDim}, {kLength * row, row, kDim, 1},
                                   first * kDim);
    for (int64_t i = 0; i < source.count(); ++i)
      view.set(source.indexOf(i), source[i]);
    return view;
  };
  AttentionInputs views;
  views.query = part(inputs.query, 0);
  views.key = part(inputs.key, 4);
  views.value = part(inputs.value, 6);
  expectSame(views);
}

TEST_F(Layout, HeadsBeforeRows) {
  // [B, H, L, d], seen as [B, L, H, d].
  auto transposed = [&](const Array &source) {
    int64_t heads = source.shape()[2];
    Array view =
        Array(DType::F32, {kBatch, heads, kLength, kDim})
            .withStrides(source.shape(), {heads * kLength * kDim, kDim, kLength * kDim, 1});
    for (int64_t i = 0; i < source.count(); ++i)
      view.set(source.indexOf(i), source[i]);
    return view;
  };
  AttentionInputs views;
  views.query = transposed(inputs.query);
  views.key = transposed(inputs.key);
  views.value = transposed(inputs.value);
  expectSame(views);
}

TEST_F(Layout, OneKeyHeadWithStrideZero) {
  AttentionInputs repeated = inputs, views = inputs;
  for (auto [dense, view] :
       {std::pair(&repeated.key, &views.key), {&repeated.value, &views.value}}) {
    Array first = dense->slice(2, 0, 1).copy();
    *dense = Array::filled(DType::F32, dense->shape(), [&](const auto &index) {
      return first.get(index[0], index[1], 0, index[3]);
    });
    *view = first.withStrides(view->shape(), {kLength * kDim, kDim, 0, 1});
  }
  expected = callAttention(*program, "f32", spec, repeated);
  expectSame(views);
}

TEST_F(Layout, BaseAlignedToAnElementOnly) {
  AttentionInputs narrow;
  narrow.query = inputs.query.copy(DType::F16);
  narrow.key = inputs.key.copy(DType::F16);
  narrow.value = inputs.value.copy(DType::F16);
  AttentionOutputs aligned = callAttention(*program, "f16", half, narrow);
  for (Array *array : {&narrow.query, &narrow.key, &narrow.value})
    *array = array->shiftedCopy(2);
  AttentionOutputs shifted = callAttention(*program, "f16", half, narrow);
  EXPECT_TRUE(aligned.output.sameBits(shifted.output));
  EXPECT_TRUE(aligned.lse.sameBits(shifted.lse));
}

TEST_F(Layout, BaseNotAlignedToAnElement) {
  AttentionInputs views = inputs;
  views.key = inputs.key.shiftedCopy(2);
  Outcome outcome = refused("f32", DType::F32, views);
  EXPECT_THAT(outcome.message, HasSubstr("argument 1 'k'"));
  EXPECT_THAT(outcome.message, HasSubstr("align"));
}

TEST_F(Layout, LastDimensionNotContiguous) {
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
TEST_F(Layout, OutputInsideALargerTensorIsRefused) {
  Array whole(DType::F32, {kBatch, kLength, 6, kDim}), lse(DType::F32, {kBatch, 4, kLength});
  Array output = whole.slice(2, 1, 4);
  Outcome outcome =
      program->tryCall("f32", {&inputs.query, &inputs.key, &inputs.value, &output, &lse});
  EXPECT_EQ(outcome.status, HEDDLE_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("argument 3 'o': stride of dimension 1 is 144"));
  EXPECT_TRUE(whole.untouched());
}

TEST_F(Layout, OutputThatOverlapsIsRefused) {
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
