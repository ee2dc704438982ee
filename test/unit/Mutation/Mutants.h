//===- Mutants.h - every single mistake that a kernel could have -*- C++ -*-===//
//
// All mutants of a kernel are compiled at once: the kernel gets one more parameter,
// and at each place where something can go wrong stands a switch that goes wrong if
// the parameter is this place's number. So a mutant costs a run and no compilation.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_MUTATION_MUTANTS_H
#define HEDDLE_TEST_UNIT_MUTATION_MUTANTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle::test {

enum class MutantKind {
  DroppedBarrier,   // nvvm.barrier
  DroppedWait,      // nvvm.cp.async.wait.group
  DroppedCommit,    // nvvm.cp.async.commit.group
  DroppedCopy,      // nvvm.cp.async.shared.global
  DroppedPredicate, // what guards a copy, load or store is true
  LargerBound, // a comparison that hides scores, or that guards a thread's copy, load or store, with a bound that is larger by one
               // step: 1, or the least distance of two numbers that are compared
  SmallerBound,
  LongerLoop,       // one trip more
  ShorterLoop,      // one trip less
  SwappedRegisters, // two registers of an operand or result of nvvm.mma.sync
  DroppedShuffle,   // nvvm.shfl.sync gives a lane its own value
  DroppedVote,      // nvvm.vote.sync gives a lane its own bit
  SkippedBranch,    // nvvm.vote.sync says no
  ForcedBranch      // nvvm.vote.sync says yes
};
constexpr unsigned numMutantKinds = 14;

const char *mutantKindName(MutantKind kind);

struct Mutant {
  MutantKind kind;
  std::string place; // operation and where it is in the kernel
  /// Why nobody may be able to tell it from the kernel, if nobody can; null: somebody can.
  const char *equivalence = nullptr;
};

/// Rules by which a mutant may be equivalent to the kernel. All but the last rest on what passes that look at one place do not see: that a
/// loop's trip starts copies for the next one only if there is a next one.
///
///   wait     behind a loop: its last trip has waited for its own copies and started no others
///   barrier  right behind such a wait: what follows writes where the last trip has read in front of its own barrier
///   guard    of copies for a next trip, all of them with a number of bytes of their own: that is 0 behind the last block, and the zeros go
///            where nobody reads any more
///   trip     more of a loop that only adds up what it loads: behind the last element its loads give zeros
///   vote     a warp that takes a tile.if_any without need: its region gives back what it was given
///
/// Puts the switches into the kernel of `module`. Mutant n + 1 of the new last parameter (i32) is element n; 0 is the kernel itself.
/// With `all` each matrix instruction has a mutant for each pair of registers, else one.
std::vector<Mutant> insertMutants(mlir::ModuleOp module, bool all);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_MUTATION_MUTANTS_H
