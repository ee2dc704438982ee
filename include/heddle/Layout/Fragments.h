//===- Fragments.h - register fragments of the tensor cores -----*- C++ -*-===//
//
// The layouts that mma.sync and wgmma require of their operands, from Register, Lane and, for
// wgmma, the four Warps of a warpgroup. Coordinates are (row, column) of the operand: A is M x K,
// B is K x N, C and D are M x N.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_FRAGMENTS_H
#define HEDDLE_LAYOUT_FRAGMENTS_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

enum class MmaOperand { A, B, C };

/// An operand of mma.sync.m16n8k{k}.row.col, for inputs of `inputBits` bits: k 8 and 16 of f16 and
/// bf16, k 8 of tf32 (32 bits), k 32 of 8-bit types. C is the same for all of them, and for f16
/// accumulators too, which are packed in pairs.
std::optional<Layout> mmaFragment(MmaOperand operand, int k, int inputBits,
                                  std::string *why = nullptr);

/// How the fragments of a tile are spread: warps along M and N (M fastest), fragments of one warp
/// along M, N and K, and groups of warps that all hold the same (slowest). Any of them may be other
/// than a power of two.
struct MmaTiling {
  int64_t warpsM = 1, warpsN = 1;
  int64_t repeatM = 1, repeatN = 1, repeatK = 1;
  int64_t copies = 1;
};

/// `repeats` blocks of each of `warps` warps along `out`, numbered by Register and Warp. The blocks of a
/// warp lie side by side, up to the power of two in their number; an odd factor counts above the
/// warps. So the coordinate has its digit of odd base on top, as in memory: 80 columns of two warps
/// are 2 x 8 x 5 for registers and 16 x 5 in rows.
Layout spreadBlocks(Dim out, int64_t repeats, int64_t warps);

/// An operand tile of a block of warps. The registers of a warp go through its fragments along
/// K (A and B) or N (C) first; fragments along M and N are spread by spreadBlocks. Warps that need the
/// same part of A or B each hold it.
std::optional<Layout> mmaTile(MmaOperand operand, int k, int inputBits, const MmaTiling &tiling,
                              std::string *why = nullptr);

/// Whether wgmma.m64n{n} exists: a multiple of 8 up to 256, and for 8-bit integers 8, 16, 24, 32
/// or a multiple of 16.
bool wgmmaHasN(int n, bool integer);

/// The accumulator of wgmma.m64n{n}, which 4 warps of a warpgroup hold.
std::optional<Layout> wgmmaAccumulator(int n, std::string *why = nullptr);

/// The A operand of wgmma in registers: 64 rows and 32 bytes of K for 8-, 16- and 32-bit inputs.
std::optional<Layout> wgmmaRegisterOperand(int inputBits, std::string *why = nullptr);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_FRAGMENTS_H
