//===- MutationTest.cpp - mistakes in kernels are found -------------------===//
//
// The attention kernels that heddle-compile makes for sm_80, with one mistake
// each: a barrier, wait, commit, copy or guard left out, a bound of a mask moved by
// one, two registers of a matrix instruction swapped. The simulator's checks, the
// comparison with the formula or the count of bytes must find each of them on some of
// a few inputs.
//
// HEDDLE_ALL_MUTANTS=1 swaps all pairs of registers in place of one per
// instruction; HEDDLE_MUTANT=N runs that mutant alone and says how it was found.
//
//===----------------------------------------------------------------------===//

#include "MutantKernel.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace heddle;
using namespace heddle::test;

namespace {
/// An input, and what is right for it.
struct Probe {
  std::string name;
  AttentionInputs inputs;
  AttentionExpectation expected;
  double outputLimit, lseLimit; // absolute
  uint64_t bytes = 0;           // that the kernel itself asks for in global memory
};

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

/// Random values: nearly every mistake in the data's way.
static Probe randomProbe(const AttentionSpec &spec, AttentionExtents extents) {
  Random random(40);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  AttentionExpectation expected(spec, inputs);
  std::string name =
      "random " + std::to_string(extents.queries) + "x" + std::to_string(extents.keys);
  return {name, inputs, expected, 0.02, 0.02};
}

/// Queries of zero: the lse is the logarithm of the number of keys that a row sees.
static Probe countingProbe(const AttentionSpec &spec, AttentionExtents extents) {
  Probe probe = randomProbe(spec, extents);
  probe.name = "counting " + probe.name;
  probe.inputs.query = Array::constant(spec.type, probe.inputs.query.shape(), 0);
  probe.expected = AttentionExpectation(spec, probe.inputs);
  probe.lseLimit = 1e-4;
  return probe;
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
  // Blocks of rows that see no key.
  probes.push_back(randomProbe(spec, {1, spec.rule.causal ? 300 : 560, 100}));
  // A warp has 32 rows, a register every 8th of them: the ends of windows meet other registers at each of these distances.
  for (int64_t shift : {0, 8, 16, 24})
    probes.push_back(countingProbe(spec, spec.rule.causal ? AttentionExtents{1, 128, 128 + shift}
                                                          : AttentionExtents{1, 440 + shift, 440}));
  // Registers have two columns of each 8: the last key is in another one at each of these lengths.
  for (int64_t column = 0; column < 64 && !spec.rule.causal; column += 8)
    for (int64_t count : {3, 4})
      probes.push_back(countingProbe(spec, {1, 128 + column + count, 128 + column + count}));
  return probes;
}

/// How a run differs from what is right; "" if it doesn't.
static std::string difference(const MutantKernel &kernel, uint32_t mutant, Probe &probe) {
  MutantKernel::Run run = kernel.run(mutant, probe.inputs);
  if (!run.reports.empty())
    return "check: " + run.reports.substr(0, run.reports.find('\n'));
  double output = largestError(run.outputs.output, probe.expected.exact.output);
  if (!(output <= probe.outputLimit))
    return "output: differs by " + std::to_string(output);
  double lse = largestError(run.outputs.lse, probe.expected.exact.lse);
  if (!(lse <= probe.lseLimit))
    return "lse: differs by " + std::to_string(lse);
  if (probe.bytes && run.bytes != probe.bytes)
    return "count: " + std::to_string(run.bytes) + " bytes in place of " +
           std::to_string(probe.bytes);
  return "";
}

namespace {
/// Mutants of one kind.
struct Tally {
  int all = 0, byChecks = 0, byComparison = 0, byCounts = 0, equivalent = 0;
};
} // namespace

TEST_P(Mutation, EachIsFound) {
  const AttentionSpec &spec = GetParam().spec;
  MutantKernel kernel(spec, numberFromEnvironment("HEDDLE_ALL_MUTANTS").value_or(0) != 0);
  ASSERT_TRUE(kernel.isCompiled());
  std::vector<Probe> probes = makeProbes(spec);
  for (Probe &probe : probes) {
    ASSERT_EQ(difference(kernel, 0, probe), "") << "of the kernel itself, " << probe.name;
    probe.bytes = kernel.run(0, probe.inputs).bytes;
  }

  std::vector<Probe *> order;
  for (Probe &probe : probes)
    order.push_back(&probe);
  std::optional<int64_t> only = numberFromEnvironment("HEDDLE_MUTANT");
  std::map<MutantKind, Tally> tallies;
  for (auto [i, mutant] : llvm::enumerate(kernel.mutants())) {
    uint32_t number = uint32_t(i + 1);
    if (only && *only != number)
      continue;
    std::string text = std::string(mutantKindName(mutant.kind)) + " (" + mutant.place +
                       "), HEDDLE_MUTANT=" + std::to_string(number);
    std::string found;
    for (auto probe = order.begin(); probe != order.end() && found.empty(); ++probe) {
      found = difference(kernel, number, **probe);
      if (found.empty())
        continue;
      if (only)
        std::printf("%s: %s: %s\n", text.c_str(), (*probe)->name.c_str(), found.c_str());
      // It is likely to find the next one, too.
      std::rotate(order.begin(), probe, probe + 1);
      break;
    }
    Tally &tally = tallies[mutant.kind];
    ++tally.all;
    if (found.empty() && mutant.equivalence) {
      std::printf("%s: %s is equivalent: %s\n", GetParam().name, text.c_str(), mutant.equivalence);
      ++tally.equivalent;
      continue;
    }
    EXPECT_NE(found, "") << text << " survives";
    tally.byChecks += found.substr(0, 5) == "check";
    tally.byCounts += found.substr(0, 5) == "count";
    tally.byComparison += found.substr(0, 3) == "lse" || found.substr(0, 6) == "output";
  }
  for (const auto &[kind, tally] : tallies)
    std::printf("%s: %s: %d mutants, found by checks %d, by comparison %d, by counts %d, "
                "equivalent %d\n",
                GetParam().name, mutantKindName(kind), tally.all, tally.byChecks,
                tally.byComparison, tally.byCounts, tally.equivalent);
}
