//===- AttentionMutationTest.cpp - mistakes in attention are found --------===//
//
// The attention kernels that heddle-compile makes for sm_80, with one mistake
// each: a barrier, wait, commit, copy or guard left out, a bound of a mask moved by
// one, two registers of a matrix instruction swapped, a warp's vote ignored. The
// simulator's checks, the comparison with the formula or the count of bytes must find each of them on some of
// a few inputs.
//
//===----------------------------------------------------------------------===//

#include "../Integration/AttentionSpec.h"
#include "MutantSearch.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
/// One kernel.
struct MutationCase {
  const char *name;
  AttentionSpec spec;
};

void PrintTo(const MutationCase &each, std::ostream *os) { *os << each.name; }

class Mutation : public testing::TestWithParam<MutationCase> {};
} // namespace

static std::vector<MutationCase> mutationCases() {
  AttentionSpec base;
  base.type = DType::F16;
  // With this window there are blocks at both of its ends and between them, and each of them can be the last one of the keys.
  MutationCase small{"f16_64_window", base}, large{"f16_128_causal", base};
  small.spec.keyDim = small.spec.valueDim = 64;
  small.spec.rule.left = 0;
  small.spec.rule.right = 300;
  large.spec.keyDim = large.spec.valueDim = 128;
  large.spec.rule.causal = true;
  return {small, large};
}

INSTANTIATE_TEST_SUITE_P(Kernels, Mutation, testing::ValuesIn(mutationCases()),
                         [](const auto &info) { return info.param.name; });

static Probe probeOf(const AttentionSpec &spec, AttentionInputs &inputs, const std::string &name,
                     double lseLimit) {
  AttentionExpectation expected(spec, inputs);
  const Array::Index &query = inputs.query.shape();
  Probe probe{name, {inputs.query, inputs.key, inputs.value}, {}};
  probe.arguments.push_back(Array(spec.type, {query[0], query[1], query[2], spec.valueDim}));
  probe.arguments.push_back(Array(DType::F32, {query[0], query[2], query[1]}));
  probe.expected = {{"output", 3, expected.exact.output, 0.02},
                    {"lse", 4, expected.exact.lse, lseLimit}};
  return probe;
}

static std::string nameOf(const char *kind, AttentionExtents extents) {
  return std::string(kind) + " " + std::to_string(extents.queries) + "x" +
         std::to_string(extents.keys);
}

/// Random values: nearly every mistake in the data's way.
static Probe randomProbe(const AttentionSpec &spec, AttentionExtents extents) {
  Random random(40);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  return probeOf(spec, inputs, nameOf("random", extents), 0.02);
}

/// Queries of zero: the lse is the logarithm of the number of keys that a row sees.
static Probe countingProbe(const AttentionSpec &spec, AttentionExtents extents) {
  Random random(40);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  inputs.query = Array::constant(spec.type, inputs.query.shape(), 0);
  return probeOf(spec, inputs, nameOf("counting", extents), 1e-4);
}

/// Maxima that rise late, in some rows of a warp only.
static Probe risingProbe(const AttentionSpec &spec, AttentionExtents extents) {
  Random random(40);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  // Column 0 gives the product of the row's factor and the key's height.
  for (int64_t row = 0; row < extents.queries; ++row)
    for (int64_t head = 0; head < spec.heads; ++head)
      inputs.query.set({0, row, head, 0}, row % 4 == 0 ? 20 : 0);
  for (int64_t row = 0; row < extents.keys; ++row)
    for (int64_t head = 0; head < spec.keyHeads; ++head)
      inputs.key.set({0, row, head, 0}, double(row / 64) * 5);
  return probeOf(spec, inputs, nameOf("rising", extents), 0.02);
}

/// Sequences that bring every bound of every mask to every register: see the comments of each.
static std::vector<Probe> makeProbes(const AttentionSpec &spec) {
  std::vector<Probe> probes;
  // Rows that are not there: in the first block of a loop, in the second, and nearly all.
  for (int64_t rows : {66, 131, 322, 1})
    probes.push_back(randomProbe(spec, {1, rows, rows}));
  // All ranges of keys, several trips through each loop.
  int64_t rows = spec.rule.causal ? 300 : 450;
  probes.push_back(randomProbe(spec, {1, rows, rows}));
  probes.push_back(risingProbe(spec, {1, rows, rows}));
  // Blocks of rows that see no key.
  probes.push_back(randomProbe(spec, {1, spec.rule.causal ? 300 : 560, 100}));
  // A warp has 32 rows, a register every 8th of them: the ends of windows meet other registers at each of these distances.
  for (int64_t shift : {0, 8, 16, 24})
    probes.push_back(countingProbe(spec, spec.rule.causal ? AttentionExtents{1, 128, 128 + shift}
                                                          : AttentionExtents{1, 440 + shift, 440}));
  // A block of keys that only some lanes of a warp see, in the last 8 of its rows, or the first ones at the left end of a window.
  if (spec.rule.causal)
    probes.push_back(randomProbe(spec, {1, 128, 132}));
  // The same for each of a block's parts of 16 keys.
  for (int64_t shift : {4, 12, 20, 28})
    if (spec.rule.left >= 0)
      probes.push_back(randomProbe(spec, {1, 440 + shift, 440}));
  // Registers have two columns of each 8: the last key is in another one at each of these lengths.
  for (int64_t column = 0; column < 64 && !spec.rule.causal; column += 8)
    for (int64_t count : {3, 4})
      probes.push_back(countingProbe(spec, {1, 128 + column + count, 128 + column + count}));
  // Each thread copies a row of every 8 or 16: the last one is another copy's at each of these lengths.
  for (int64_t length = 5; length < 128; length += 8)
    probes.push_back(randomProbe(spec, {1, length, length}));
  return probes;
}

TEST_P(Mutation, EachIsFound) {
  const AttentionSpec &spec = GetParam().spec;
  findAllMutants(GetParam().name, spec.entry("entry"), makeProbes(spec));
}
