//===- LawsTest.cpp - ways to compute one thing that must agree -----------===//

#include "AttentionSpec.h"
#include "CachedAttention.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
/// A prompt that is fed to the cached entry in calls of given lengths.
class CachedRun {
public:
  CachedRun(const Program &program, const Array &query, const Array &key, const Array &value)
      : program(program), query(query), key(key), value(value), output(DType::F32, query.shape()),
        keyCache(DType::F32, cacheShape(key)), valueCache(DType::F32, cacheShape(key)) {}

  void feed(const std::vector<int64_t> &calls) {
    int64_t batch = query.shape()[0], begin = 0;
    for (int64_t count : calls) {
      Array q = query.slice(1, begin, count), k = key.slice(1, begin, count),
            v = value.slice(1, begin, count), o(DType::F32, q.shape());
      Array start = Array::constant(DType::I32, {batch}, double(begin));
      Array lengths = Array::constant(DType::I32, {batch}, double(begin + count));
      program.call("step", {&q, &k, &v, &start, &lengths, &keyCache, &valueCache, &o});
      Array part = output.slice(1, begin, count);
      for (int64_t i = 0; i < o.count(); ++i)
        part.set(part.indexOf(i), o[i]);
      begin += count;
    }
  }

  static Array::Index cacheShape(const Array &key) {
    Array::Index shape = key.shape();
    shape[1] += 3; // the rows behind the sequence stay NaN
    return shape;
  }

  const Program &program;
  Array query, key, value, output, keyCache, valueCache;
};

class Laws : public EachWay<Laws> {
public:
  static void addEntries(Program &program) { program.add(cachedAttentionEntry("step")); }
};
} // namespace

HEDDLE_TEST_EACH_WAY(Laws, graphWays);

TEST_P(Laws, PrefillEqualsChunksAndSteps) {
  Random random(14);
  Array query = Array::uniform(DType::F32, {2, 20, 4, 16}, random, -2, 2),
        key = Array::uniform(DType::F32, {2, 20, 2, 16}, random, -2, 2),
        value = Array::uniform(DType::F32, {2, 20, 2, 16}, random);
  CachedRun prefill(*program, query, key, value), chunks(*program, query, key, value),
      steps(*program, query, key, value);
  prefill.feed({20});
  chunks.feed({7, 8, 0, 5});
  steps.feed(std::vector<int64_t>(20, 1));

  AttentionOperands operands;
  operands.query = &query;
  operands.key = &key;
  operands.value = &value;
  AttentionRule rule;
  rule.causal = true;
  rule.left = 5;
  rule.right = 0;
  EXPECT_LE(relativeError(prefill.output, evaluateAttention(operands, rule).output), 1e-5);
  for (const CachedRun *run : {&chunks, &steps}) {
    EXPECT_LE(relativeError(run->output, prefill.output.values()), 1e-6);
    EXPECT_TRUE(run->keyCache.sameBits(prefill.keyCache));
    EXPECT_TRUE(run->valueCache.sameBits(prefill.valueCache));
  }
  EXPECT_TRUE(prefill.keyCache.slice(1, 0, 20).sameBits(key));
  EXPECT_TRUE(prefill.keyCache.slice(1, 20, 3).untouched());
}

// Sequences of one batch do not see each other, also when they are of different length.
TEST_P(Laws, OneSequenceAloneEqualsItAmongOthers) {
  Random random(15);
  Array query = Array::uniform(DType::F32, {8, 2, 4, 16}, random, -2, 2),
        key = Array::uniform(DType::F32, {8, 2, 2, 16}, random, -2, 2),
        value = Array::uniform(DType::F32, {8, 2, 2, 16}, random);
  Array keyCache = Array::uniform(DType::F32, {8, 12, 2, 16}, random),
        valueCache = Array::uniform(DType::F32, {8, 12, 2, 16}, random);
  Array start = Array::filled(DType::I32, {8}, [](const auto &i) { return i[0]; });
  Array lengths = Array::filled(DType::I32, {8}, [](const auto &i) { return i[0] + 2; });
  Array aloneKeys = keyCache.slice(0, 5, 1).copy(), aloneValues = valueCache.slice(0, 5, 1).copy();

  Array together(DType::F32, query.shape()), alone(DType::F32, {1, 2, 4, 16});
  program->call("step",
                {&query, &key, &value, &start, &lengths, &keyCache, &valueCache, &together});
  Array q = query.slice(0, 5, 1), k = key.slice(0, 5, 1), v = value.slice(0, 5, 1),
        s = start.slice(0, 5, 1), n = lengths.slice(0, 5, 1);
  program->call("step", {&q, &k, &v, &s, &n, &aloneKeys, &aloneValues, &alone});
  EXPECT_TRUE(alone.sameBits(together.slice(0, 5, 1)));
  EXPECT_TRUE(aloneKeys.sameBits(keyCache.slice(0, 5, 1)));
}

// One module, many shapes, with no compilation in between.
TEST_P(Laws, OneModuleServesAllShapes) {
  for (auto [batch, length] : {std::pair(1, 1), std::pair(7, 1), std::pair(1, 17), std::pair(7, 17),
                               std::pair(1, 1000), std::pair(1, 4097)}) {
    Random random(int64_t(batch * 10000 + length));
    Array query = Array::uniform(DType::F32, {batch, length, 4, 16}, random, -2, 2),
          key = Array::uniform(DType::F32, {batch, length, 2, 16}, random, -2, 2),
          value = Array::uniform(DType::F32, {batch, length, 2, 16}, random);
    CachedRun run(*program, query, key, value);
    run.feed({length});
    AttentionOperands operands;
    operands.query = &query;
    operands.key = &key;
    operands.value = &value;
    AttentionRule rule;
    rule.causal = true;
    rule.left = 5;
    EXPECT_LE(relativeError(run.output, evaluateAttention(operands, rule).output), 1e-5)
        << batch << " x " << length;
  }
}
