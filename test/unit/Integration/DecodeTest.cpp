//===- DecodeTest.cpp - few queries over long caches ----------------------===//
//
// Kernels for few queries split the keys into chunks and merge what these give.
// Each CPU variant runs them; other targets compute such calls as any other.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {
class Decode : public testing::TestWithParam<Way> {
protected:
  /// A call of attention on few queries, in chunks of so many keys; 0: as many as the compiler chooses.
  static AttentionSpec spec(int64_t queries, int64_t chunk, DType type = DType::F32) {
    AttentionSpec spec;
    spec.type = type;
    spec.heads = 4;
    spec.keyHeads = 2;
    spec.queries = queries;
    spec.rule.causal = true;
    if (chunk)
      spec.block = {queries, 16, chunk};
    return spec;
  }

  size_t add(const AttentionSpec &spec) {
    specs.push_back(spec);
    program.add(spec.entry("entry" + std::to_string(specs.size() - 1)));
    return specs.size() - 1;
  }
  void compile() { ASSERT_TRUE(program.compile(GetParam())); }
  AttentionOutputs call(size_t i, AttentionInputs &inputs, int32_t threads = 0) {
    return callAttention(program, "entry" + std::to_string(i), specs[i], inputs, threads);
  }
  AttentionOutputs check(size_t i, AttentionInputs &inputs, const std::string &context = "") {
    return checkAttention(program, "entry" + std::to_string(i), specs[i], inputs, context);
  }

  Program program;
  std::vector<AttentionSpec> specs;
};
} // namespace

HEDDLE_TEST_EACH_WAY(Decode, cpuWays);

TEST_P(Decode, AnyNumberOfChunksGivesTheSame) {
  constexpr int64_t lengths[] = {1, 4095, 0, 130, 4096}, chunks[] = {4096, 1376, 256, 128, 16};
  for (int64_t queries : {1, 4, 5, 6})
    for (int64_t chunk : chunks) {
      AttentionSpec each = spec(queries, chunk);
      each.lengths = true;
      add(each);
    }
  compile();
  Random random(1);
  AttentionInputs inputs = AttentionInputs::random(specs.back(), {5, 6, 4096}, random);
  inputs.key = Array::uniform(DType::F32, inputs.key.shape(), random, -2, 2);
  inputs.value = Array::uniform(DType::F32, inputs.value.shape(), random);
  inputs.lengths =
      Array::filled(DType::I32, {5}, [&](const auto &i) { return double(lengths[i[0]]); });
  std::optional<AttentionOutputs> whole;
  for (size_t entry = 0; entry < specs.size(); ++entry) {
    const AttentionSpec &each = specs[entry];
    AttentionInputs mine = inputs;
    mine.query = inputs.query.slice(1, 0, each.queries);
    if (each.block[2] == chunks[0]) {
      whole = check(entry, mine, each.text());
      continue;
    }
    AttentionOutputs outputs = call(entry, mine);
    EXPECT_LE(relativeError(outputs.output, whole->output.values()), 1e-6) << each.text();
    EXPECT_LE(relativeError(outputs.lse, whole->lse.values()), 1e-6) << each.text();
    // One chunk merged with nothing is what it was.
    for (int64_t b = 0; b < 5; ++b)
      if (lengths[b] <= each.block[2]) {
        std::string context = each.text() + " length " + std::to_string(lengths[b]);
        EXPECT_TRUE(outputs.output.slice(0, b, 1).sameBits(whole->output.slice(0, b, 1)))
            << context;
        EXPECT_TRUE(outputs.lse.slice(0, b, 1).sameBits(whole->lse.slice(0, b, 1))) << context;
      }
  }
}

TEST_P(Decode, OneChunkByTypeGivesTheSameBits) {
  for (DType type : {DType::F32, DType::BF16}) {
    AttentionSpec merged = spec(2, 64, type), alone = merged;
    merged.sinks = alone.sinks = true;
    alone.keys = 50;
    add(merged);
    add(alone);
  }
  compile();
  for (size_t entry : {0, 2}) {
    Random random(3);
    AttentionInputs inputs = AttentionInputs::random(specs[entry], {2, 2, 50}, random);
    AttentionOutputs merged = check(entry, inputs), alone = check(entry + 1, inputs);
    EXPECT_TRUE(merged.output.sameBits(alone.output));
    EXPECT_TRUE(merged.lse.sameBits(alone.lse));
  }
}

TEST_P(Decode, RowsThatSeeNoKeyAreZero) {
  AttentionSpec few = spec(5, 16), masked = spec(1, 16);
  masked.mask = {true, true, true, true};
  size_t causal = add(few), hidden = add(masked);
  compile();
  Random random(1);
  AttentionInputs inputs = AttentionInputs::random(few, {1, 5, 2}, random);
  AttentionOutputs outputs = check(causal, inputs);
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t head = 0; head < 4; ++head) {
      EXPECT_EQ(outputs.lse.get({0, head, row}) == -INFINITY, row < 3) << row;
      EXPECT_EQ(outputs.output.get(0, row, head, 0) == 0, row < 3) << row;
    }
  inputs = AttentionInputs::random(masked, {1, 1, 100}, random);
  inputs.mask = Array::constant(DType::Bool, {1, 4, 1, 100}, 0);
  outputs = check(hidden, inputs);
  EXPECT_EQ(outputs.lse.get({0, 3, 0}), -INFINITY);
  EXPECT_EQ(outputs.output.get(0, 0, 3, 15), 0);
}

TEST_P(Decode, HeadRatiosEqualRepeatedHeads) {
  // Query heads, key heads, queries.
  const std::array<int64_t, 3> cases[] = {{20, 4, 1}, {24, 4, 3}, {28, 4, 1}, {40, 4, 3},
                                          {64, 4, 1}, {64, 4, 3}, {71, 1, 1}, {71, 1, 3}};
  for (auto [heads, keyHeads, queries] : cases) {
    AttentionSpec grouped = spec(queries, 32);
    grouped.heads = heads;
    grouped.keyHeads = keyHeads;
    AttentionSpec repeated = grouped;
    repeated.keyHeads = heads;
    add(grouped);
    add(repeated);
  }
  compile();
  for (size_t entry = 0; entry < specs.size(); entry += 2) {
    const AttentionSpec &grouped = specs[entry];
    Random random(int64_t(entry) + 1);
    AttentionInputs inputs = AttentionInputs::random(grouped, {2, grouped.queries, 75}, random);
    AttentionOutputs outputs = check(entry, inputs, grouped.text());
    int64_t group = grouped.heads / grouped.keyHeads;
    AttentionInputs wide = inputs;
    for (Array *rows : {&wide.key, &wide.value}) {
      Array source = *rows;
      *rows = Array::filled(DType::F32, {2, 75, grouped.heads, 16}, [&](const auto &i) {
        return source.get(i[0], i[1], i[2] / group, i[3]);
      });
    }
    AttentionOutputs same = check(entry + 1, wide, grouped.text());
    EXPECT_LE(relativeError(outputs.output, same.output.values()), 1e-6) << grouped.text();
  }
}

TEST_P(Decode, AnyHeadDim) {
  const std::pair<int64_t, int64_t> dims[] = {{1, 1},     {8, 8},     {36, 36},   {80, 80},
                                              {112, 112}, {128, 128}, {160, 160}, {256, 256},
                                              {512, 512}, {192, 128}, {576, 512}, {33, 70}};
  // One type each, in turn, and bf16, whose products take pairs.
  for (auto [i, dim] : llvm::enumerate(dims))
    for (DType type : {i % 2 ? DType::F32 : DType::F16, DType::BF16}) {
      AttentionSpec each = spec(i % 3 ? 1 : 2, 32, type);
      std::tie(each.keyDim, each.valueDim) = dim;
      add(each);
    }
  compile();
  for (size_t entry = 0; entry < specs.size(); ++entry) {
    Random random(int64_t(entry) + 1);
    AttentionInputs inputs =
        AttentionInputs::random(specs[entry], {1, specs[entry].queries, 90}, random);
    check(entry, inputs, specs[entry].text());
  }
}

TEST_P(Decode, SinksCountOnce) {
  static constexpr double sinks[] = {-INFINITY, -30, 0, 5, 30, INFINITY, -1, 1, 2, 3};
  for (int64_t queries : {1, 7})
    for (int64_t chunk : {256, 32}) {
      AttentionSpec each = spec(queries, chunk);
      each.heads = 10;
      each.keyDim = each.valueDim = 64;
      each.rule.left = 127;
      each.sinks = true;
      add(each);
    }
  compile();
  AttentionSpec all = specs.front();
  all.queries = 129;
  Random random(8);
  AttentionInputs inputs = AttentionInputs::random(all, {1, 129, 250}, random);
  inputs.sinks = Array::filled(DType::F32, {10}, [](const auto &i) { return sinks[i[0]]; });
  AttentionResult prefill = evaluateAttention(inputs.operands(all), all.rule);
  for (size_t entry = 0; entry < specs.size(); ++entry) {
    AttentionInputs last = inputs;
    int64_t queries = specs[entry].queries;
    last.query = inputs.query.slice(1, 129 - queries, queries);
    AttentionOutputs outputs = check(entry, last, specs[entry].text());
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t h = 0; h < 10; ++h)
        for (int64_t d = 0; d < 64; ++d)
          EXPECT_NEAR(outputs.output.get(0, i, h, d),
                      prefill.output[size_t(((129 - queries + i) * 10 + h) * 64 + d)], 1e-5);
  }
}

// Pages of memory left of the window, and behind the last key, can't be read.
TEST_P(Decode, ReadsOnlyTheWindow) {
  AttentionSpec window = spec(1, 64);
  window.rule.left = 99;
  window.lengths = true;
  window.keyDim = window.valueDim = 128;
  size_t entry = add(window);
  compile();
  const int64_t rowBytes = 2 * 128 * 4, keys = 4096, length = 2000;
  const int64_t page = sysconf(_SC_PAGESIZE);
  Random random(12);
  AttentionInputs inputs = AttentionInputs::random(window, {1, 1, keys}, random);
  inputs.lengths = Array::constant(DType::I32, {1}, double(length));
  std::vector<void *> mappings;
  for (Array *rows : {&inputs.key, &inputs.value}) {
    Array whole = Array::uniform(DType::F32, {1, keys, 2, 128}, random);
    void *memory = mmap(nullptr, size_t(keys * rowBytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    mappings.push_back(memory);
    *rows = Array::over(DType::F32, memory, whole.shape(), whole.strides(), 0);
    for (int64_t i = 0; i < whole.count(); ++i)
      rows->set(whole.indexOf(i), whole[i]);
  }
  AttentionOutputs all = check(entry, inputs);
  // The first block with a key of the window begins at most 15 keys before it.
  int64_t begin = (length - 100 - 15) * rowBytes / page * page;
  int64_t end = (length * rowBytes + page - 1) / page * page;
  for (void *memory : mappings) {
    ASSERT_EQ(mprotect(memory, size_t(begin), PROT_NONE), 0);
    ASSERT_EQ(mprotect(static_cast<char *>(memory) + end, size_t(keys * rowBytes - end), PROT_NONE),
              0);
  }
  AttentionOutputs outputs = call(entry, inputs);
  EXPECT_TRUE(outputs.output.sameBits(all.output));
  for (void *memory : mappings)
    munmap(memory, size_t(keys * rowBytes));
}

TEST_P(Decode, AnyNumberOfThreads) {
  for (DType type : {DType::F32, DType::BF16}) {
    AttentionSpec each = spec(2, 32, type);
    each.sinks = each.lengths = true;
    each.rule.left = 150;
    each.rule.globalKeys = 20;
    add(each);
  }
  compile();
  for (size_t entry = 0; entry < specs.size(); ++entry) {
    Random random(16);
    AttentionInputs inputs = AttentionInputs::random(specs[entry], {3, 2, 400}, random);
    AttentionOutputs first = call(entry, inputs, 1);
    for (int32_t threads : {1, 2, 4, 2, 4, 0}) {
      AttentionOutputs again = call(entry, inputs, threads);
      EXPECT_TRUE(first.output.sameBits(again.output)) << threads;
      EXPECT_TRUE(first.lse.sameBits(again.lse)) << threads;
    }
    // A sequence does not depend on its neighbours.
    AttentionInputs alone = inputs;
    for (Array *array : {&alone.query, &alone.key, &alone.value, &alone.lengths})
      *array = array->slice(0, 1, 1);
    EXPECT_TRUE(call(entry, alone).output.sameBits(first.output.slice(0, 1, 1)));
  }
}

TEST_P(Decode, EmptyExtents) {
  size_t entry = add(spec(1, 32)), few = add(spec(3, 0));
  compile();
  Random random(1);
  for (size_t each : {entry, few}) {
    AttentionInputs none =
        AttentionInputs::random(specs[each], {0, specs[each].queries, 40}, random);
    check(each, none);
    AttentionInputs noKeys =
        AttentionInputs::random(specs[each], {2, specs[each].queries, 0}, random);
    AttentionOutputs outputs = check(each, noKeys);
    EXPECT_EQ(outputs.lse.get({1, 3, 0}), -INFINITY);
    EXPECT_EQ(outputs.output.get(1, 0, 3, 15), 0);
  }
}
