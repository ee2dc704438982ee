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

/// How the fragments of a tile are spread: warps along M and N (M fastest), and fragments of one
/// warp along M, N and K. Any of them may be other than a power of two.
struct MmaTiling {
  int64_t warpsM = 1, warpsN = 1;
  int64_t repeatM = 1, repeatN = 1, repeatK = 1;
};

/// An operand tile of a block of warps. The registers of a warp go through its fragments along
/// K (A and B) or N (C) first; the warps' parts lie side by side, each as large as the repeats make
/// it. Warps that need the same part of A or B each hold it.
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
