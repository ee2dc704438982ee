//===- RuntimeErrorsTest.cpp - calls that are refused ---------------------===//
//
// A refused call has a status, a message that names what is wrong, and has
// written nothing.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"
#include "CachedAttention.h"
#include "Decoder.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {
/// Arguments of the entry of CachedAttention.h for 2 sequences, 3 new rows and caches of 8 rows.
struct CachedCall {
  Array query = zeros({2, 3, 4, 16}), key = zeros({2, 3, 2, 16}), value = zeros({2, 3, 2, 16});
  Array start = Array::constant(DType::I32, {2}, 0), lengths = Array::constant(DType::I32, {2}, 3);
  Array keyCache{DType::F32, {2, 8, 2, 16}}, valueCache{DType::F32, {2, 8, 2, 16}};
  Array output{DType::F32, {2, 3, 4, 16}};

  static Array zeros(Array::Index shape) { return Array::constant(DType::F32, shape, 0); }

  std::vector<Array *> arguments() {
    return {&query, &key, &value, &start, &lengths, &keyCache, &valueCache, &output};
  }
};

class RuntimeErrors : public testing::Test {
protected:
  static void SetUpTestSuite() {
    masked.mask = {true, false, true, true};
    masked.bias = {false, true, true, true};
    masked.slopesRank = 2;
    program = new Program;
    program->add(cachedAttentionEntry("step"));
    program->add(masked.entry("masked"));
    ASSERT_TRUE(program->compile());
  }
  static void TearDownTestSuite() { delete program; }

  Outcome refused(CachedCall &call, int32_t status) {
    Outcome outcome = program->tryCall("step", call.arguments());
    EXPECT_EQ(outcome.status, status) << outcome.message;
    EXPECT_TRUE(call.output.untouched() && call.keyCache.untouched() &&
                call.valueCache.untouched());
    return outcome;
  }

  static inline AttentionSpec masked;
  static inline Program *program;
};
} // namespace

TEST_F(RuntimeErrors, StartPastTheCapacity) {
  CachedCall call;
  call.start.set({1}, 6); // rows 6, 7, 8 of 8
  EXPECT_THAT(refused(call, HEDDLE_OUT_OF_RANGE).message,
              AllOf(HasSubstr("step: "), HasSubstr("start"), HasSubstr("6"), HasSubstr("5")));
}

TEST_F(RuntimeErrors, NegativeStart) {
  CachedCall call;
  call.start.set({0}, -1);
  EXPECT_THAT(refused(call, HEDDLE_OUT_OF_RANGE).message,
              AllOf(HasSubstr("start"), HasSubstr("-1")));
}

TEST_F(RuntimeErrors, MoreNewRowsThanTheCacheHolds) {
  CachedCall call;
  call.query = CachedCall::zeros({2, 9, 4, 16});
  call.key = call.value = CachedCall::zeros({2, 9, 2, 16});
  call.output = Array(DType::F32, {2, 9, 4, 16});
  EXPECT_NE(program->tryCall("step", call.arguments()).status, HEDDLE_OK);
  EXPECT_TRUE(call.output.untouched() && call.keyCache.untouched());
}

TEST_F(RuntimeErrors, LengthPastTheKeys) {
  CachedCall call;
  call.lengths.set({1}, 9);
  EXPECT_THAT(refused(call, HEDDLE_OUT_OF_RANGE).message,
              AllOf(HasSubstr("kv_len"), HasSubstr("9"), HasSubstr("8")));
  call.lengths.set({1}, -3);
  EXPECT_THAT(refused(call, HEDDLE_OUT_OF_RANGE).message,
              AllOf(HasSubstr("kv_len"), HasSubstr("-3")));
}

TEST_F(RuntimeErrors, ExtentsThatDisagree) {
  CachedCall call;
  call.value = CachedCall::zeros({2, 4, 2, 16});
  EXPECT_THAT(
      refused(call, HEDDLE_INVALID_ARGUMENT).message,
      AllOf(HasSubstr("argument 2 'v'"), HasSubstr("dimension 1"), HasSubstr("4"), HasSubstr("3")));
  call = CachedCall();
  call.start = Array::constant(DType::I32, {3}, 0);
  EXPECT_THAT(refused(call, HEDDLE_INVALID_ARGUMENT).message, HasSubstr("'start'"));
}

TEST_F(RuntimeErrors, WrongTypeAndRank) {
  CachedCall call;
  call.key = call.key.copy(DType::F16);
  EXPECT_THAT(refused(call, HEDDLE_INVALID_ARGUMENT).message,
              AllOf(HasSubstr("argument 1 'k'"), HasSubstr("f16"), HasSubstr("f32")));
  call = CachedCall();
  call.lengths = Array::constant(DType::I32, {2, 1}, 3);
  EXPECT_THAT(refused(call, HEDDLE_INVALID_ARGUMENT).message,
              AllOf(HasSubstr("'kv_len'"), HasSubstr("rank")));
}

TEST_F(RuntimeErrors, WorkspaceTooSmall) {
  // Formulas on whole tensors need one.
  Program formulas;
  formulas.add(cachedAttentionEntry("step"));
  ASSERT_TRUE(formulas.compile({hostVariants().back(), KernelSource::Reference}));
  CachedCall call;
  Outcome outcome = formulas.callWithLess("step", call.arguments(), 64);
  EXPECT_EQ(outcome.status, HEDDLE_WORKSPACE_TOO_SMALL) << outcome.message;
  EXPECT_TRUE(call.output.untouched() && call.keyCache.untouched());
}

// A dynamic dimension of bias or mask is the full extent: 1 in its place would be read past its end.
TEST_F(RuntimeErrors, MaskBiasAndSlopesOfOtherExtents) {
  Random random(18);
  const AttentionInputs right = AttentionInputs::random(masked, {2, 3, 5}, random);
  auto outcomeOf = [&](AttentionInputs inputs) {
    Array output(DType::F32, {2, 3, 1, 16}), lse(DType::F32, {2, 1, 3});
    Outcome outcome =
        program->tryCall("masked", {&inputs.query, &inputs.key, &inputs.value, &inputs.bias,
                                    &inputs.mask, &inputs.slopes, &output, &lse});
    EXPECT_EQ(output.untouched(), outcome.status != HEDDLE_OK);
    return outcome;
  };
  EXPECT_EQ(outcomeOf(right).status, HEDDLE_OK);
  AttentionInputs inputs = right;
  inputs.mask = inputs.mask.slice(0, 0, 1);
  Outcome mask = outcomeOf(inputs);
  EXPECT_EQ(mask.status, HEDDLE_INVALID_ARGUMENT) << mask.message;
  EXPECT_THAT(mask.message, HasSubstr("mask"));
  inputs = right;
  inputs.bias = inputs.bias.slice(3, 0, 1);
  Outcome bias = outcomeOf(inputs);
  EXPECT_EQ(bias.status, HEDDLE_INVALID_ARGUMENT) << bias.message;
  EXPECT_THAT(bias.message, HasSubstr("bias"));
  inputs = right;
  inputs.slopes = inputs.slopes.slice(0, 0, 1);
  Outcome slopes = outcomeOf(inputs);
  EXPECT_EQ(slopes.status, HEDDLE_INVALID_ARGUMENT) << slopes.message;
}

// Every extent that is not in the types is shared by two arguments, so that one tensor that is too
// short or too long can't be read past its end: for all broadcasts of bias and mask.
TEST(ExtentErrors, EveryExtentIsChecked) {
  Program program;
  std::vector<AttentionSpec> specs;
  for (int broadcast = 0; broadcast < 16; ++broadcast) {
    AttentionSpec spec;
    spec.heads = 2;
    spec.bias.emplace();
    spec.mask.emplace();
    for (int dim = 0; dim < 4; ++dim) {
      (*spec.bias)[size_t(dim)] = broadcast >> dim & 1;
      (*spec.mask)[size_t(dim)] = !(broadcast >> dim & 1);
    }
    spec.lengths = true;
    spec.slopesRank = 2;
    program.add(spec.entry("spec" + std::to_string(broadcast)));
    specs.push_back(spec);
  }
  ASSERT_TRUE(program.compile());
  for (size_t i = 0; i < specs.size(); ++i) {
    Random random(19);
    const Array::Index full{3, 2, 4, 5}; // [B, Hq, Lq, Lk]
    AttentionInputs inputs = AttentionInputs::random(specs[i], {full[0], full[2], full[3]}, random);
    Array output(DType::F32, {full[0], full[2], 2, 16}), lse(DType::F32, {full[0], 2, full[2]});
    std::vector<Array *> arguments{&inputs.query,  &inputs.key,  &inputs.value,
                                   &inputs.bias,   &inputs.mask, &inputs.lengths,
                                   &inputs.slopes, &output,      &lse};
    std::string entry = "spec" + std::to_string(i);
    for (Array *&argument : arguments)
      for (size_t dim = 0; dim < argument->shape().size(); ++dim)
        for (int64_t change : {-1, 1}) {
          Array::Index shape = argument->shape();
          if (shape[dim] == 1)
            continue;
          shape[dim] += change;
          Array other = Array::constant(argument->type(), shape, 0), *original = argument;
          argument = &other;
          Outcome outcome = program.tryCall(entry, arguments);
          argument = original;
          EXPECT_EQ(outcome.status, HEDDLE_INVALID_ARGUMENT)
              << specs[i].text() << ": argument " << &argument - arguments.data() << " of shape "
              << shapeText(shape);
          EXPECT_TRUE(output.untouched() && lse.untouched());
        }
    program.call(entry, arguments);
  }
}

TEST(DecoderErrors, TokenOutsideTheVocabulary) {
  Decoder *decoder = Decoder::shared();
  ASSERT_TRUE(decoder);
  for (int64_t token : {decoder->vocabulary(), int64_t(-1)}) {
    Decoder::Call call = decoder->makeCall(2, 3, 8);
    call.tokens.set({1, 2}, double(token));
    Outcome outcome = decoder->tryCall("prefill", call);
    EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("prefill: "), HasSubstr("tokens"),
                                       HasSubstr(std::to_string(token))));
    EXPECT_TRUE(call.logits.untouched() && call.caches.front().untouched());
  }
}

TEST(DecoderErrors, StepPastTheCapacity) {
  Decoder *decoder = Decoder::shared();
  ASSERT_TRUE(decoder);
  Decoder::Call call = decoder->makeCall(1, 1, 8);
  call.start.set({0}, 8);
  Outcome outcome = decoder->tryCall("decode", call);
  EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("decode: "), HasSubstr("start"), HasSubstr("8")));
  for (const Array &cache : call.caches)
    EXPECT_TRUE(cache.untouched());
}

TEST(DecoderErrors, NoTokensAndNoSequencesAreNoError) {
  Decoder *decoder = Decoder::shared();
  ASSERT_TRUE(decoder);
  for (auto [batch, length, capacity] :
       {std::tuple(2, 0, 8), std::tuple(0, 3, 8), std::tuple(0, 0, 0), std::tuple(2, 0, 0)}) {
    Decoder::Call call = decoder->makeCall(batch, length, capacity);
    Outcome outcome = decoder->tryCall("prefill", call);
    EXPECT_EQ(outcome.status, HEDDLE_OK) << outcome.message;
    for (const Array &cache : call.caches)
      EXPECT_TRUE(cache.untouched());
  }
}
