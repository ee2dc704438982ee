//===- MutantSearch.cpp - tries to find every mutant of a kernel ----------===//

#include "MutantSearch.h"

#include <gtest/gtest.h>
#include <map>

namespace heddle::test {

/// How a run differs from what is right; "" if it doesn't.
static std::string difference(const MutantKernel &kernel, uint32_t mutant, const Probe &probe) {
  MutantKernel::Run run = kernel.run(mutant, probe.arguments);
  if (!run.reports.empty())
    return "check: " + run.reports.substr(0, run.reports.find('\n'));
  for (const Probe::Expected &expected : probe.expected) {
    double error = largestError(run.arguments[expected.argument], expected.values);
    if (!(error <= expected.limit))
      return expected.name + ": differs by " + std::to_string(error);
  }
  if (probe.bytes && run.bytes != probe.bytes)
    return "count: " + std::to_string(run.bytes) + " bytes in place of " +
           std::to_string(probe.bytes);
  if (probe.bytes && run.flops != probe.flops)
    return "count: " + std::to_string(run.flops) + " FLOPs in place of " +
           std::to_string(probe.flops);
  return "";
}

namespace {
/// Mutants of one kind.
struct Tally {
  int all = 0, byChecks = 0, byComparison = 0, byCounts = 0, equivalent = 0;
};
} // namespace

void findAllMutants(const std::string &name, const goldens::EntryText &entry,
                    std::vector<Probe> probes) {
  MutantKernel kernel(entry, numberFromEnvironment("HEDDLE_ALL_MUTANTS").value_or(0) != 0);
  ASSERT_TRUE(kernel.isCompiled());
  for (Probe &probe : probes) {
    ASSERT_EQ(difference(kernel, 0, probe), "") << "of the kernel itself, " << probe.name;
    MutantKernel::Run run = kernel.run(0, probe.arguments);
    probe.bytes = run.bytes;
    probe.flops = run.flops;
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
      std::printf("%s: %s is equivalent: %s\n", name.c_str(), text.c_str(), mutant.equivalence);
      ++tally.equivalent;
      continue;
    }
    EXPECT_NE(found, "") << text << " survives";
    bool byCheck = found.substr(0, 6) == "check:", byCount = found.substr(0, 6) == "count:";
    tally.byChecks += byCheck;
    tally.byCounts += byCount;
    tally.byComparison += !found.empty() && !byCheck && !byCount;
  }
  for (const auto &[kind, tally] : tallies)
    std::printf("%s: %s: %d mutants, found by checks %d, by comparison %d, by counts %d, "
                "equivalent %d\n",
                name.c_str(), mutantKindName(kind), tally.all, tally.byChecks, tally.byComparison,
                tally.byCounts, tally.equivalent);
}

} // namespace heddle::test
