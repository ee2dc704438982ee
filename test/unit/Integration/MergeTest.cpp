//===- MergeTest.cpp - attention over parts of the keys -------------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
constexpr int64_t heads = 10, dim = 16;

class Merge : public EachWay<Merge> {
public:
  static AttentionSpec partSpec() {
    AttentionSpec spec;
    spec.heads = heads;
    spec.keyHeads = 2;
    spec.lengths = true;
    return spec;
  }

  static void addEntries(Program &program) {
    program.add(partSpec().entry("part"));
    program.add(mergeEntry("merge", false, DType::F32));
    program.add(mergeEntry("merge_sinks", true, DType::F32));
    program.add(mergeEntry("merge_rounded", false, DType::BF16));
  }

  static std::string mergeEntry(const std::string &symbol, bool sinks, DType outputType) {
    goldens::EntryText text(symbol);
    std::string partial = goldens::tensorType({-1, -1, -1, heads, dim}, DType::F32),
                partialLse = goldens::tensorType({-1, -1, heads, -1}, DType::F32),
                sinksType = goldens::tensorType({heads}, DType::F32),
                output = goldens::tensorType({-1, -1, heads, dim}, outputType),
                lse = goldens::tensorType({-1, heads, -1}, DType::F32);
    std::string operands =
        text.argument("partial", partial) + ", " + text.argument("partial_lse", partialLse);
    if (sinks)
      operands += " sinks(" + text.argument("sinks", sinksType) + " : " + sinksType + ")";
    text.line("%o, %lse = attn.merge_partials " + operands + " : (" + partial + ", " + partialLse +
              ") -> (" + output + ", " + lse + ")");
    text.result("%o", output, "o");
    text.result("%lse", lse, "lse");
    return text.text();
  }
};

/// Parts [S, B, Lq, H, d] and [S, B, H, Lq].
struct Parts {
  Parts(int64_t count, int64_t batch, int64_t queries)
      : output(DType::F32, {count, batch, queries, heads, dim}),
        lse(DType::F32, {count, batch, heads, queries}) {}

  template <typename Function> static void copy(Array &into, int64_t part, Function value) {
    for (int64_t n = 0; n < into.count() / into.shape()[0]; ++n) {
      Array::Index index = into.indexOf(part * (into.count() / into.shape()[0]) + n);
      into.set(index, value(Array::Index(index.begin() + 1, index.end())));
    }
  }

  Array output, lse;
};

AttentionOutputs callMerge(const Program &program, const std::string &entry, Parts &parts,
                           Array *sinks = nullptr, DType type = DType::F32) {
  const Array::Index &shape = parts.output.shape();
  AttentionOutputs outputs{Array(type, {shape[1], shape[2], heads, dim}),
                           Array(DType::F32, {shape[1], heads, shape[2]}),
                           {},
                           {},
                           {}};
  std::vector<Array *> arguments{&parts.output, &parts.lse};
  if (sinks)
    arguments.push_back(sinks);
  arguments.push_back(&outputs.output);
  arguments.push_back(&outputs.lse);
  program.call(entry, arguments);
  return outputs;
}
} // namespace

HEDDLE_TEST_EACH_WAY(Merge, graphWays);

TEST_P(Merge, SplitAndMergeEqualsWhole) {
  AttentionSpec spec = Merge::partSpec();
  const std::vector<int64_t> lengths = {1, 500, 0, 130, 511};
  for (auto [queries, splits] : {std::pair(1, 1), {4, 3}, {5, 16}, {6, 32}, {1, 200}}) {
    Random random(splits);
    AttentionInputs inputs = AttentionInputs::random(spec, {5, queries, 511}, random);
    inputs.key = Array::uniform(DType::F32, inputs.key.shape(), random, -2, 2);
    inputs.value = Array::uniform(DType::F32, inputs.value.shape(), random);
    inputs.lengths = Array::filled(DType::I32, {5},
                                   [&](const auto &i) { return double(lengths[size_t(i[0])]); });
    Array sinks = Array::filled(DType::F32, {heads}, [](const auto &i) {
      const double some[] = {-INFINITY, -30, 0, 5, 30, INFINITY};
      return some[i[0] % 6];
    });
    AttentionOperands whole = inputs.operands(spec);
    AttentionResult expected = evaluateAttention(whole, spec.rule);
    whole.sinks = &sinks;
    AttentionResult withSinks = evaluateAttention(whole, spec.rule);

    Parts parts(splits, 5, queries);
    int64_t size = (511 + splits - 1) / splits;
    for (int64_t s = 0; s < splits; ++s) {
      int64_t begin = std::min<int64_t>(s * size, 511), count = std::min(size, 511 - begin);
      AttentionInputs part;
      part.query = inputs.query;
      part.key = inputs.key.slice(1, begin, count);
      part.value = inputs.value.slice(1, begin, count);
      part.lengths = Array::filled(DType::I32, {5}, [&](const auto &i) {
        return double(std::min(std::max<int64_t>(lengths[size_t(i[0])] - begin, 0), count));
      });
      AttentionOutputs outputs = callAttention(*program, "part", spec, part);
      Parts::copy(parts.output, s, [&](const auto &i) { return outputs.output.get(i); });
      Parts::copy(parts.lse, s, [&](const auto &i) { return outputs.lse.get(i); });
    }
    AttentionOutputs merged = callMerge(*program, "merge", parts);
    std::string context = std::to_string(splits) + " splits";
    EXPECT_LE(relativeError(merged.output, expected.output), 1e-5) << context;
    EXPECT_LE(relativeError(merged.lse, expected.lse), 1e-5) << context;
    AttentionOutputs once = callMerge(*program, "merge_sinks", parts, &sinks);
    EXPECT_LE(relativeError(once.output, withSinks.output), 1e-5) << context << " with sinks";
    EXPECT_LE(relativeError(once.lse, withSinks.lse), 1e-5) << context << " with sinks";
    AttentionOutputs rounded = callMerge(*program, "merge_rounded", parts, nullptr, DType::BF16);
    EXPECT_LE(relativeError(rounded.output, expected.output), errorLimit(DType::BF16)) << context;
  }
}

static std::string firstDifference(const Array &found, const Array &expected) {
  for (int64_t i = 0; i < found.count(); ++i)
    if (found[i] != expected[i] || std::signbit(found[i]) != std::signbit(expected[i]))
      return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
             std::to_string(expected[i]);
  return "none";
}

// Parts without keys change no bit of the one that has some, whatever they hold; parts without keys only give none.
TEST_P(Merge, PartsWithoutKeysWeighNothing) {
  Random random(5);
  for (int64_t splits : {1, 2, 3})
    for (int64_t full = 0; full < splits; ++full) {
      Parts parts(splits, 2, 3);
      Array output = Array::uniform(DType::F32, {2, 3, heads, dim}, random, -2, 2),
            lse = Array::uniform(DType::F32, {2, heads, 3}, random, -90, 90);
      output.set({0, 0, 0, 0}, -0.0);
      output.set({0, 0, 0, 1}, 0.0);
      // Nor has this row a key.
      lse.set({1, 4, 2}, -INFINITY);
      for (int64_t d = 0; d < dim; ++d)
        output.set({1, 2, 4, d}, 0);
      for (int64_t s = 0; s < splits; ++s) {
        Parts::copy(parts.output, s,
                    [&](const auto &i) { return s == full ? output.get(i) : NAN; });
        Parts::copy(parts.lse, s,
                    [&](const auto &i) { return s == full ? lse.get(i) : -INFINITY; });
      }
      AttentionOutputs merged = callMerge(*program, "merge", parts);
      EXPECT_TRUE(merged.output.sameBits(output))
          << full << " of " << splits << ": " << firstDifference(merged.output, output);
      EXPECT_TRUE(merged.lse.sameBits(lse)) << full << " of " << splits;
    }
}
