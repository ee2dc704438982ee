//===- MutantSearch.h - tries to find every mutant of a kernel --*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_MUTATION_MUTANTSEARCH_H
#define HEDDLE_TEST_UNIT_MUTATION_MUTANTSEARCH_H

#include "MutantKernel.h"

namespace heddle::test {

/// An input, and what is right for it.
struct Probe {
  struct Expected {
    std::string name;
    size_t argument; // of the entry
    std::vector<double> values;
    double limit; // absolute
  };

  std::string name;
  std::vector<Array> arguments; // of the entry, outputs included
  std::vector<Expected> expected;
  uint64_t bytes = 0, flops = 0; // of the kernel itself
};

/// Runs every mutant of the kernel of `entry` until a probe tells it from the kernel: by the simulator's checks, by comparison with what is
/// expected, or by the counts of global bytes and of matrix FLOPs. One that survives is a failure unless a rule says that it is
/// equivalent; those and the numbers of all are printed. HEDDLE_ALL_MUTANTS=1 swaps all pairs of registers in place of one for each
/// instruction; HEDDLE_MUTANT=N runs that mutant alone and says how it was found.
void findAllMutants(const std::string &name, const goldens::EntryText &entry,
                    std::vector<Probe> probes);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_MUTATION_MUTANTSEARCH_H
