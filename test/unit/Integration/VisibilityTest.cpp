//===- VisibilityTest.cpp - exactly which keys a query sees ---------------===//
//
// Two structured inputs on which one wrong key changes a result by O(1) of what
// it may differ by:
//
// * Queries of zero weigh all visible keys alike. So the lse is the logarithm of
//   their number, and the output the mean of their values: the binary digits of
//   the keys' places, as -1 and 1.
// * Key j holds these digits of j, and a query a large multiple of those of a
//   target t: if key t is visible, the output is its value, which is t, written
//   with two digits of base 16; else it is that of keys with similar digits.
//   Targets are the keys at both ends of what a query sees, and those next to them.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kDim = 16, kDigits = 9;

/// Every mask, window and length feature, alone and with others.
static std::vector<AttentionSpec> visibilitySpecs(DType type, std::vector<int64_t> block) {
  std::vector<AttentionSpec> specs;
  AttentionSpec base;
  base.type = type;
  base.block = block;
  base.heads = 2;
  base.keyDim = base.valueDim = kDim;
  for (bool causal : {false, true})
    for (auto [left, right] :
         {std::pair(-1, -1), std::pair(3, 0), std::pair(0, 0), std::pair(4, -1), std::pair(-1, 2),
          std::pair(3, 2), std::pair(63, 0), std::pair(64, 1), std::pair(100, 70)}) {
      AttentionSpec spec = base;
      spec.rule.causal = causal;
      spec.rule.left = left;
      spec.rule.right = right;
      // Each window without lengths or with them, once causal and once not.
      spec.lengths = specs.size() % 2;
      specs.push_back(spec);
    }
  for (auto [left, global] : {std::pair(3, 2), std::pair(20, 19), std::pair(5, 40)}) {
    AttentionSpec spec = base;
    spec.rule.causal = true;
    spec.rule.left = left;
    spec.rule.globalKeys = global;
    spec.lengths = global != 2;
    specs.push_back(spec);
  }
  for (std::array<bool, 4> shape :
       {std::array{true, true, true, true}, std::array{false, false, true, true},
        std::array{true, false, false, true}, std::array{false, true, true, false}}) {
    AttentionSpec spec = base;
    spec.rule.causal = shape[0];
    spec.lengths = shape[1];
    spec.mask = shape;
    specs.push_back(spec);
  }
  return specs;
}

static double digit(int64_t place, int64_t channel) {
  return channel >= kDigits ? 0 : (place >> channel) & 1 ? 1 : -1;
}

/// Sets the elements that are not NaN.
template <typename Function> static void fill(Array &array, Function value) {
  for (int64_t i = 0; i < array.count(); ++i)
    if (Array::Index index = array.indexOf(i); !std::isnan(array.get(index)))
      array.set(index, value(index));
}

static void makeUniform(AttentionInputs &inputs) {
  fill(inputs.query, [](const auto &) { return 0; });
  fill(inputs.value, [](const auto &i) { return digit(i[1], i[3]); });
}

/// A key at an end of what query i sees, or next to it.
static int64_t pickTarget(const AttentionSpec &spec, const AttentionInputs &inputs, int64_t batch,
                          int64_t i, Random &random) {
  int64_t keys = inputs.key.shape()[1], queries = inputs.query.shape()[1];
  int64_t valid = spec.lengths ? int64_t(inputs.lengths.get({batch})) : keys;
  int64_t position = i + valid - queries;
  const int64_t ends[] = {position, position - spec.rule.left, position + spec.rule.right, valid,
                          random.integer(0, std::max<int64_t>(keys - 1, 0))};
  int64_t target = ends[random.integer(0, 4)] + random.integer(-1, 1);
  return std::max<int64_t>(std::min(target, keys - 1), 0);
}

static void makeSelecting(const AttentionSpec &spec, AttentionInputs &inputs, Random &random) {
  int64_t heads = spec.heads, queries = inputs.query.shape()[1];
  std::vector<int64_t> targets;
  for (int64_t row = 0; row < inputs.query.shape()[0] * queries * heads; ++row)
    targets.push_back(
        pickTarget(spec, inputs, row / heads / queries, row / heads % queries, random));
  fill(inputs.query, [&](const auto &i) {
    return 200 * digit(targets[size_t((i[0] * queries + i[1]) * heads + i[2])], i[3]);
  });
  fill(inputs.key, [](const auto &i) { return digit(i[1], i[3]); });
  fill(inputs.value, [](const auto &i) { return double(i[3] % 2 ? i[1] / 16 : i[1] % 16); });
}

namespace {
class Visibility : public testing::TestWithParam<Way> {};
} // namespace

HEDDLE_TEST_EACH_WAY(Visibility, maskWays);

static void check(const Program &program, const std::string &entry, const AttentionSpec &spec,
                  AttentionInputs &inputs, double limit) {
  AttentionOutputs outputs = callAttention(program, entry, spec, inputs);
  AttentionResult expected = evaluateAttention(inputs.operands(spec), spec.rule);
  std::string context = spec.text() + " Lq=" + std::to_string(inputs.query.shape()[1]) +
                        " Lk=" + std::to_string(inputs.key.shape()[1]);
  EXPECT_LE(largestError(outputs.output, expected.output), limit) << context;
  EXPECT_LE(largestError(outputs.lse, expected.lse), 1e-4) << context;
}

/// Inputs on which one wrong key changes the output by much.
static void checkStructured(const Program &program, const std::string &entry,
                            const AttentionSpec &spec, const AttentionExtents &extents,
                            int64_t seed) {
  Random random(seed);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  makeUniform(inputs);
  check(program, entry, spec, inputs, 1.0 / 300);
  for (int64_t round = 0; round < 3; ++round) {
    makeSelecting(spec, inputs, random);
    check(program, entry, spec, inputs, 0.1);
  }
}

/// Matrix tiles are for one type alone, and slow where they are emulated.
static bool isEmulated(const Way &way) { return llvm::StringRef(way.target).contains("amx"); }

TEST_P(Visibility, StructuredInputs) {
  using Extents = std::vector<std::pair<int64_t, int64_t>>;
  // Whole blocks of all kinds, and their edges; the same with blocks so small that few rows do.
  const Extents large = {{257, 257}, {65, 257}, {1, 257}, {200, 64}};
  const Extents small = {{9, 9}, {17, 65}, {64, 64}, {1, 65}, {40, 17}};
  std::vector<AttentionSpec> specs = visibilitySpecs(DType::BF16, {16, 16});
  if (isEmulated(GetParam()))
    specs = visibilitySpecs(DType::BF16, {});
  else
    for (const AttentionSpec &spec :
         visibilitySpecs(GetParam().isSimulated() ? DType::F16 : DType::F32, {}))
      specs.push_back(spec);
  Program program;
  for (auto [i, spec] : llvm::enumerate(specs))
    program.add(spec.entry("spec" + std::to_string(i)));
  ASSERT_TRUE(program.compile(GetParam()));
  for (auto [i, spec] : llvm::enumerate(specs))
    for (auto [queries, keys] : !spec.block.empty() ? small : large)
      checkStructured(program, "spec" + std::to_string(i), spec, {2, queries, keys},
                      int64_t(i) * 1000 + queries + keys);
}

// The same for numbers of queries that the type says to be few. Chunks of 32 keys: one, several, and a part of one.
TEST_P(Visibility, FewQueries) {
  std::vector<AttentionSpec> specs;
  for (AttentionSpec spec :
       visibilitySpecs(GetParam().isSimulated() ? DType::F16 : DType::F32, {16, 16, 32})) {
    spec.queries = specs.size() % 3 == 0 ? 3 : 1;
    specs.push_back(spec);
  }
  Program program;
  for (auto [i, spec] : llvm::enumerate(specs))
    program.add(spec.entry("spec" + std::to_string(i)));
  ASSERT_TRUE(program.compile(GetParam()));
  for (auto [i, spec] : llvm::enumerate(specs))
    for (int64_t keys : {2, 9, 32, 65, 150})
      checkStructured(program, "spec" + std::to_string(i), spec, {2, spec.queries, keys},
                      int64_t(i) * 1000 + keys);
}

// A window of 4 keys including the query's own over 9 tokens: one prefill, and 9 decode steps on a
// cache that is longer than the sequence.
namespace {
class Window : public testing::TestWithParam<Way> {};
} // namespace

HEDDLE_TEST_EACH_WAY(Window, kernelWays);

TEST_P(Window, DecodeStepsSeeWhatPrefillSees) {
  AttentionSpec spec;
  spec.type = GetParam().isSimulated() ? DType::F16 : DType::F32;
  spec.keyDim = spec.valueDim = kDim;
  spec.rule.causal = true;
  spec.rule.left = 3;
  spec.rule.right = 0;
  AttentionSpec cached = spec;
  cached.lengths = true;
  Program program;
  program.add(spec.entry("prefill"));
  program.add(cached.entry("decode"));
  ASSERT_TRUE(program.compile(GetParam()));

  Random random(7);
  AttentionInputs inputs = AttentionInputs::random(spec, {1, 9, 9}, random);
  fill(inputs.query, [](const auto &) { return 0; });
  fill(inputs.value, [](const auto &i) { return i[1] == i[3]; });
  AttentionOutputs prefill = checkAttention(program, "prefill", spec, inputs);
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      bool visible = j <= i && j >= i - 3;
      EXPECT_EQ(prefill.output.get(0, i, 0, j) != 0, visible) << i << " " << j;
    }
  for (int64_t step = 0; step < 9; ++step) {
    AttentionInputs one;
    one.query = inputs.query.slice(1, step, 1);
    one.key = Array(spec.type, {1, 12, 1, kDim});
    one.value = Array(spec.type, {1, 12, 1, kDim});
    for (int64_t j = 0; j <= step; ++j)
      for (int64_t d = 0; d < kDim; ++d) {
        one.key.set({0, j, 0, d}, inputs.key.get(0, j, 0, d));
        one.value.set({0, j, 0, d}, inputs.value.get(0, j, 0, d));
      }
    one.lengths = Array::constant(DType::I32, {1}, double(step + 1));
    AttentionOutputs decode = checkAttention(program, "decode", cached, one);
    for (int64_t d = 0; d < kDim; ++d)
      EXPECT_EQ(decode.output.get(0, 0, 0, d), prefill.output.get(0, step, 0, d)) << step;
  }
}
