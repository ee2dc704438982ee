//===- DeterminismTest.cpp - same bits whatever the threads ---------------===//

#include "AttentionSpec.h"
#include "Decoder.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace heddle;
using namespace heddle::test;

TEST(Determinism, AttentionWithAnyNumberOfThreads) {
  AttentionSpec spec;
  spec.heads = 6;
  spec.keyHeads = 2;
  spec.keyDim = 40;
  spec.valueDim = 24;
  spec.rule.causal = true;
  spec.rule.softcap = 5;
  spec.sinks = spec.lengths = true;
  AttentionSpec half = spec;
  half.type = DType::BF16;
  for (const std::string &variant : hostVariants()) {
    Program program;
    program.add(spec.entry("f32"));
    program.add(half.entry("bf16"));
    ASSERT_TRUE(program.compile(variant));
    for (auto [name, each] : {std::pair("f32", &spec), std::pair("bf16", &half)}) {
      Random random(16);
      AttentionInputs inputs = AttentionInputs::random(*each, {3, 67, 131}, random);
      AttentionOutputs first = callAttention(program, name, *each, inputs, 1);
      for (int32_t threads : {1, 2, 4, 2, 4, 0}) {
        AttentionOutputs again = callAttention(program, name, *each, inputs, threads);
        EXPECT_TRUE(first.output.sameBits(again.output)) << variant << " " << threads;
        EXPECT_TRUE(first.lse.sameBits(again.lse)) << variant << " " << threads;
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

TEST(Determinism, DecoderWithAnyNumberOfThreads) {
  Decoder *decoder = Decoder::shared();
  ASSERT_TRUE(decoder);
  std::optional<Decoder::Call> first;
  for (int32_t threads : {1, 2, 4, 1, 4}) {
    Decoder::Call call = decoder->makeCall(2, 33, 40);
    Random random(17);
    for (int64_t i = 0; i < call.tokens.count(); ++i)
      call.tokens.set(call.tokens.indexOf(i), double(random.integer(0, decoder->vocabulary() - 1)));
    Outcome outcome = decoder->tryCall("prefill", call, threads);
    ASSERT_EQ(outcome.status, HEDDLE_OK) << outcome.message;
    if (!first)
      first = call;
    EXPECT_TRUE(call.logits.sameBits(first->logits)) << threads;
    for (size_t i = 0; i < call.caches.size(); ++i)
      EXPECT_TRUE(call.caches[i].sameBits(first->caches[i])) << threads << " cache " << i;
  }
}
