//===- DeterminismTest.cpp - same bits whatever the threads ---------------===//

#include "AttentionSpec.h"
#include "Decoder.h"
#include "ProductText.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Attention in f32 and bf16 on every variant: one thread and each of `threads` give the same bits.
void expectSameBits(const AttentionSpec &spec, const std::vector<AttentionExtents> &sizes,
                    int64_t seed, const std::vector<int32_t> &threads) {
  AttentionSpec half = spec;
  half.type = DType::BF16;
  for (const std::string &variant : testedVariants()) {
    Program program;
    program.add(spec.entry("f32"));
    program.add(half.entry("bf16"));
    ASSERT_TRUE(program.compile(variant));
    for (auto [name, each] : {std::pair("f32", &spec), std::pair("bf16", &std::as_const(half))})
      for (const AttentionExtents &size : sizes) {
        Random random(seed);
        AttentionInputs inputs = AttentionInputs::random(*each, size, random);
        AttentionOutputs first = callAttention(program, name, *each, inputs, 1);
        for (int32_t count : threads) {
          AttentionOutputs again = callAttention(program, name, *each, inputs, count);
          EXPECT_TRUE(first.output.sameBits(again.output)) << variant << " " << count;
          EXPECT_TRUE(first.lse.sameBits(again.lse)) << variant << " " << count;
        }
      }
  }
}

} // namespace

TEST(Determinism, AttentionWithAnyNumberOfThreads) {
  AttentionSpec spec;
  spec.heads = 6;
  spec.keyHeads = 2;
  spec.keyDim = 40;
  spec.valueDim = 24;
  spec.rule.causal = true;
  spec.rule.softcap = 5;
  spec.sinks = spec.lengths = true;
  expectSameBits(spec, {{3, 67, 131}}, 16, {1, 2, 4, 2, 4, 0});
}

// Heads that share the keys of a program, and a window, whose programs differ in cost; fewer tasks than threads.
TEST(Determinism, SharedHeadsWithAnyNumberOfThreads) {
  AttentionSpec spec;
  spec.heads = 8;
  spec.keyHeads = 2;
  spec.keyDim = spec.valueDim = 64;
  spec.rule.causal = true;
  spec.rule.left = 90;
  expectSameBits(spec, {{1, 20, 20}, {1, 301, 301}}, 17, {2, 4, 2, 4, 0});
}

// One query a sequence over a cache that is long enough to be split, also where the sequences differ in length.
TEST(Determinism, DecodingWithAnyNumberOfThreads) {
  AttentionSpec spec;
  spec.heads = 8;
  spec.keyHeads = 2;
  spec.keyDim = spec.valueDim = 64;
  spec.rule.causal = true;
  spec.lengths = true;
  expectSameBits(spec, {{1, 1, 3001}, {3, 1, 3001}}, 27, {2, 4, 3, 0});
}

// From one row to many, and neither extent a multiple of a register tile.
TEST(Determinism, ProjectionsWithAnyNumberOfThreads) {
  constexpr int64_t outputs = 331, inputs = 517;
  for (const std::string &variant : testedVariants()) {
    Program program;
    program.add(productText("project_f32", DType::F32, outputs, inputs));
    program.add(productText("project_bf16", DType::BF16, outputs, inputs));
    ASSERT_TRUE(program.compile(variant));
    for (auto [type, name] : {std::pair(DType::F32, "project_f32"), {DType::BF16, "project_bf16"}})
      for (int64_t rows : {1, 8, 31, 130}) {
        Random random(28);
        Array x = Array::uniform(type, {rows, inputs}, random);
        Array w = Array::uniform(type, {outputs, inputs}, random);
        Array first(DType::F32, {rows, outputs});
        program.call(name, {&x, &w, &first}, 1);
        for (int32_t threads : {2, 4, 3, 0}) {
          Array again(DType::F32, {rows, outputs});
          program.call(name, {&x, &w, &again}, threads);
          EXPECT_TRUE(first.sameBits(again))
              << variant << " " << name << " " << rows << " rows, " << threads << " threads";
        }
      }
  }
}

// Several callers use one module at once, each with a context of its own.
TEST(Determinism, ConcurrentCallers) {
  AttentionSpec spec;
  spec.heads = 4;
  spec.rule.causal = true;
  Program program;
  program.add(spec.entry("attention"));
  ASSERT_TRUE(program.compile());
  Random random(26);
  const AttentionInputs inputs = AttentionInputs::random(spec, {2, 33, 33}, random);
  AttentionInputs own = inputs;
  AttentionOutputs expected = callAttention(program, "attention", spec, own);
  std::atomic<int> different{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      AttentionInputs mine = inputs;
      for (int call = 0; call < 50; ++call) {
        AttentionOutputs outputs = callAttention(program, "attention", spec, mine, 2);
        different += !outputs.output.sameBits(expected.output);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(different, 0);
}

// A whole decoder: its blocks with several tasks for each kernel, then one more token after them.
TEST(Determinism, DecoderWithAnyNumberOfThreads) {
  Decoder *decoder = Decoder::shared();
  ASSERT_TRUE(decoder);
  std::optional<Decoder::Call> first, firstStep;
  for (int32_t threads : {1, 2, 4, 1, 4}) {
    Decoder::Call call = decoder->makeCall(2, 133, 140);
    Random random(17);
    auto drawTokens = [&](Decoder::Call &call) {
      for (int64_t i = 0; i < call.tokens.count(); ++i)
        call.tokens.set(call.tokens.indexOf(i),
                        double(random.integer(0, decoder->vocabulary() - 1)));
    };
    auto expectSame = [&](Decoder::Call &call, std::optional<Decoder::Call> &expected) {
      if (!expected)
        expected = call;
      EXPECT_TRUE(call.logits.sameBits(expected->logits)) << threads;
      for (size_t i = 0; i < call.caches.size(); ++i)
        EXPECT_TRUE(call.caches[i].sameBits(expected->caches[i])) << threads << " cache " << i;
    };
    drawTokens(call);
    Outcome outcome = decoder->tryCall("prefill", call, threads);
    ASSERT_EQ(outcome.status, HEDDLE_OK) << outcome.message;
    expectSame(call, first);

    Decoder::Call step = decoder->makeCall(2, 1, 140);
    step.start = Array::constant(DType::I32, {2}, 133);
    for (size_t i = 0; i < step.caches.size(); ++i)
      step.caches[i] = call.caches[i].copy();
    drawTokens(step);
    outcome = decoder->tryCall("decode", step, threads);
    ASSERT_EQ(outcome.status, HEDDLE_OK) << outcome.message;
    expectSame(step, firstStep);
  }
}
