//===- MmaPlan.cpp - how a product takes its operands ---------------------===//

#include "heddle/Layout/MmaPlan.h"

namespace heddle::layout {

std::optional<MmaTiling> accumulatorTiling(const Layout &layout, std::string *why) {
  int64_t rows = layout.outSize(Dim::Coord0), columns = layout.outSize(Dim::Coord1);
  int64_t warps = layout.inSize(Dim::Warp);
  for (int64_t copies = 1; copies <= warps; ++copies) {
    for (int64_t warpsM = warps / copies; warpsM >= 1; --warpsM) {
      MmaTiling tiling;
      tiling.copies = copies;
      tiling.warpsM = warpsM;
      tiling.warpsN = warps / (warpsM * copies);
      if (warps != copies * warpsM * tiling.warpsN || rows % (16 * warpsM) ||
          columns % (8 * tiling.warpsN))
        continue;
      tiling.repeatM = rows / (16 * warpsM);
      tiling.repeatN = columns / (8 * tiling.warpsN);
      if (sameMap(*mmaTile(MmaOperand::C, 16, 16, tiling), layout))
        return tiling;
    }
  }
  if (why)
    *why = "expected the accumulator of m16n8 instructions, " + std::to_string(rows) + " x " +
           std::to_string(columns) + " for " + std::to_string(warps) + " warps, got " +
           layout.str();
  return std::nullopt;
}

OperandFragments::OperandFragments(MmaOperand operand, int k, int bits, const MmaTiling &tiling,
                                   OrderOfK order, bool paired)
    : steps(tiling.repeatK),
      isPaired(paired && operand == MmaOperand::B && tiling.repeatN % 2 == 0) {
  bool isA = operand == MmaOperand::A;
  Dim alongK = isA ? Dim::Coord1 : Dim::Coord0, across = isA ? Dim::Coord0 : Dim::Coord1;
  Layout fragment = *mmaFragment(operand, k, bits);
  if (order == OrderOfK::Accumulator) {
    fragment = Layout::identity(Dim::Register, alongK, 2) * Layout::identity(Dim::Lane, alongK, 4) *
               Layout::identity(Dim::Lane, across, 8);
    if (isA)
      fragment = fragment * Layout::identity(Dim::Register, across, 2);
  }
  perFragment = fragment.inSize(Dim::Register);
  int64_t blocks = isA ? tiling.repeatM : tiling.repeatN;
  if (isPaired) {
    fragment = fragment * Layout::identity(Dim::Register, across, 2);
    blocks /= 2;
  }
  fragment = fragment * Layout::identity(Dim::Register, alongK, steps);
  fragments = isA ? fragment * spreadBlocks(across, blocks, tiling.warpsM) *
                        Layout::broadcast(Dim::Warp, tiling.warpsN * tiling.copies)
                  : fragment * Layout::broadcast(Dim::Warp, tiling.warpsM) *
                        spreadBlocks(across, blocks, tiling.warpsN) *
                        Layout::broadcast(Dim::Warp, tiling.copies);
}

int64_t OperandFragments::firstElement(int64_t block, int64_t step) const {
  if (isPaired)
    return ((block / 2 * steps + step) * 2 + block % 2) * perFragment;
  return (block * steps + step) * perFragment;
}

} // namespace heddle::layout
