//===- MutantKernel.h - a kernel that runs with a mistake -------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H
#define HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H

#include "../Integration/AttentionSpec.h"
#include "Mutants.h"

namespace heddle::test {

/// The attention kernel of a spec for sm_80, as heddle-compile makes it, with switches for mutants.
class MutantKernel {
public:
  /// Failures are gtest failures; then the kernel can't run.
  MutantKernel(const AttentionSpec &spec, bool allMutants);
  ~MutantKernel();
  MutantKernel(const MutantKernel &) = delete;
  MutantKernel &operator=(const MutantKernel &) = delete;

  bool isCompiled() const { return library != nullptr; }
  const std::vector<Mutant> &mutants() const { return allOf; }

  /// What a run gave.
  struct Run {
    std::string reports; // of the simulator's checks; "" if there are none
    AttentionOutputs outputs;
    uint64_t bytes; // that were asked for in global memory
  };
  /// Runs a mutant, or the kernel itself as number 0, with all checks.
  Run run(uint32_t mutant, AttentionInputs &inputs) const;

private:
  void build(bool allMutants);
  mlir::OwningOpRef<mlir::ModuleOp> lower() const;
  void compile(mlir::ModuleOp kernel);

  AttentionSpec spec;
  std::vector<Mutant> allOf;
  uint32_t threads = 0, sharedBytes = 0;
  int64_t rowsOfBlock = 0;
  std::string name;
  std::string path;
  void *library = nullptr;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H
