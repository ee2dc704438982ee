//===- MutantKernel.h - a kernel that runs with a mistake -------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H
#define HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H

#include "../Integration/Program.h"
#include "Mutants.h"

namespace heddle::test {

/// The kernel of an entry for sm_80, as heddle-compile makes it, with switches for mutants.
class MutantKernel {
public:
  /// `entry` must become one launch of one kernel. Failures are gtest failures; then the kernel can't run.
  MutantKernel(const goldens::EntryText &entry, bool allMutants);
  ~MutantKernel();
  MutantKernel(const MutantKernel &) = delete;
  MutantKernel &operator=(const MutantKernel &) = delete;

  bool isCompiled() const { return library != nullptr; }
  const std::vector<Mutant> &mutants() const { return allOf; }

  /// What a run gave.
  struct Run {
    std::string reports;          // of the simulator's checks; "" if there are none
    std::vector<Array> arguments; // those of the call; what the kernel writes is a copy
    uint64_t bytes;               // that were asked for in global memory
    uint64_t flops;               // of matrix instructions
  };
  /// Runs a mutant, or the kernel itself as number 0, with all checks on the entry's arguments.
  Run run(uint32_t mutant, const std::vector<Array> &arguments) const;

private:
  void build(const goldens::EntryText &entry, bool allMutants);
  bool readLaunch(mlir::ModuleOp module);
  std::array<uint32_t, 3> gridFor(const std::vector<Array> &arguments) const;
  void compile(mlir::ModuleOp kernel);

  std::vector<Mutant> allOf;
  uint32_t threads = 0, sharedBytes = 0;
  /// The entry with its launch, and the entry's argument that each of the kernel's is.
  mlir::OwningOpRef<mlir::ModuleOp> launching;
  std::vector<size_t> argumentOf;
  std::vector<std::string> names;
  std::vector<bool> isWritten;
  std::string name;
  std::string path;
  void *library = nullptr;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_MUTATION_MUTANTKERNEL_H
