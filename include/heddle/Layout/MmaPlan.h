//===- MmaPlan.h - how a product takes its operands -------------*- C++ -*-===//
//
// mma.sync fixes where fragments lie in registers. What is free is the order in which a thread reads them, and, since products are
// summed along K, a permutation of K that A and B share:
//
// 1. B fragments are read in pairs along N, one ldmatrix.x4 for the operands of two instructions, in adjacent registers.
// 2. 32-bit fragments of 8 along K have lane t of a quad hold k = t and t + 4. With k = 2t and 2t + 1 in their place, A is register
//    for register the accumulator of another product, and B is read from a tile with rows along K without bank conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_MMAPLAN_H
#define HEDDLE_LAYOUT_MMAPLAN_H

#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/MatrixAccess.h"

namespace heddle::layout {

/// The tiling whose accumulator is `layout`; repeatK is 1.
std::optional<MmaTiling> accumulatorTiling(const Layout &layout, std::string *why = nullptr);

/// The order of K within a fragment of 32-bit operands, 2. above.
enum class OrderOfK { Instruction, Accumulator };

/// The fragments of A or B of one thread.
class OperandFragments {
public:
  /// Of the instruction with `k` for inputs of `bits` bits; of the order Accumulator there is k = 8 of 32 bits only. `paired`: B is
  /// ordered as in 1. above if it has pairs; else fragments go along K first, as in mmaTile.
  OperandFragments(MmaOperand operand, int k, int bits, const MmaTiling &tiling, OrderOfK order,
                   bool paired);

  /// The layout of all fragments, (M, K) for A and (K, N) for B.
  const Layout &layout() const { return fragments; }
  /// The registers, in elements, of one fragment.
  int64_t elements() const { return perFragment; }
  /// The first register of the fragment at `block` along M or N and `step` along K.
  int64_t firstElement(int64_t block, int64_t step) const;

private:
  Layout fragments;
  int64_t perFragment, steps;
  bool isPaired;
};

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_MMAPLAN_H
