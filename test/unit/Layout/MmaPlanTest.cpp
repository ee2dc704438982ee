//===- MmaPlanTest.cpp - how a product takes its operands -----------------===//

#include "heddle/Layout/MmaPlan.h"
#include "LayoutTesting.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

constexpr MmaOperand A = MmaOperand::A, B = MmaOperand::B, C = MmaOperand::C;

Layout transpose(const Layout &layout) {
  return layout.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
}

TEST(MmaPlanTest, TilingOfAnAccumulator) {
  for (int64_t warpsM : {1, 2, 4})
    for (int64_t warpsN : {1, 2})
      for (int64_t repeatM : {1, 2, 3})
        for (int64_t repeatN : {1, 5, 8})
          for (int64_t copies : {1, 4}) {
            MmaTiling tiling{warpsM, warpsN, repeatM, repeatN, 1, copies};
            auto found = accumulatorTiling(*mmaTile(C, 16, 16, tiling));
            ASSERT_TRUE(found);
            EXPECT_EQ(*mmaTile(C, 16, 16, *found), *mmaTile(C, 16, 16, tiling));
            EXPECT_EQ(found->repeatM, repeatM);
            EXPECT_EQ(found->warpsN, warpsN);
            EXPECT_EQ(found->copies, copies);
          }
  std::string why;
  EXPECT_FALSE(accumulatorTiling(Layout::identity(Dim::Register, Dim::Coord0, 16) *
                                     Layout::identity(Dim::Lane, Dim::Coord1, 8),
                                 &why));
  EXPECT_EQ(why, "expected the accumulator of m16n8 instructions, 16 x 8 for 1 warps, got register "
                 "= [(1,0) (2,0) (4,0) (8,0)], lane = [(0,1) (0,2) (0,4)]; coord0 16, coord1 8");
}

/// Each element of a fragment, as the instruction's table places it.
TEST(MmaPlanTest, FragmentsAreThoseOfTheInstruction) {
  for (int bits : {16, 32}) {
    int k = bits == 16 ? 16 : 8;
    for (int64_t repeatN : {2, 3, 6})
      for (auto [operand, paired] :
           {std::pair(A, false), std::pair(B, false), std::pair(B, true)}) {
        MmaTiling tiling{2, 2, 3, repeatN, 5};
        OperandFragments fragments(operand, k, bits, tiling, OrderOfK::Instruction, paired);
        Layout one = *mmaFragment(operand, k, bits);
        int64_t blocks = operand == A ? 3 : repeatN, size = operand == A ? 16 : 8;
        ASSERT_EQ(fragments.elements(), one.inSize(Dim::Register));
        if (!paired)
          EXPECT_EQ(fragments.layout(), *mmaTile(operand, k, bits, tiling));
        for (int64_t warp = 0; warp < 4; ++warp)
          for (int64_t block = 0; block < blocks; ++block)
            for (int64_t step = 0; step < 5; ++step)
              for (int64_t reg = 0; reg < fragments.elements(); ++reg)
                forEachLane([&, operand = operand](int g, int t) {
                  Element expected = elementAt(one, reg, g, t);
                  int64_t part = operand == A ? warp % 2 : warp / 2;
                  int64_t adjacent = blocks & -blocks;
                  int64_t place = block % adjacent + adjacent * (part + 2 * (block / adjacent));
                  int64_t across = place * size, along = step * k;
                  expected.first += operand == A ? across : along;
                  expected.second += operand == A ? along : across;
                  int64_t first = fragments.firstElement(block, step);
                  EXPECT_EQ(elementAt(fragments.layout(), int(first + reg), g, t, int(warp)),
                            expected);
                });
      }
  }
}

TEST(MmaPlanTest, PairsOfBAreOneInstruction) {
  MmaTiling tiling{4, 1, 2, 8, 4};
  OperandFragments b(B, 16, 16, tiling, OrderOfK::Instruction, true);
  // Keys: a row for each column of B. The pair of blocks 2 and 3 at step 1 is instruction 1 * 4 + 1.
  Layout shared = *conflictFreeTile(64, 64, 16);
  auto access = matchMatrixAccess(transpose(b.layout()), shared, 16, false);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->matrices, 4);
  EXPECT_EQ(b.firstElement(2, 1), 5 * 8);
  EXPECT_EQ(b.firstElement(3, 1), 5 * 8 + 4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(elementAt(access->addresses, {{Dim::Lane, lane}, {Dim::Register, 5}}),
              Element(16 + (lane & 7) + 8 * (lane >> 4), 16 + 8 * (lane >> 3 & 1)));
  // Values: a row for each step of K, read transposed.
  access = matchMatrixAccess(b.layout(), shared, 16, true);
  ASSERT_TRUE(access);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(elementAt(access->addresses, {{Dim::Lane, lane}, {Dim::Register, 5}}),
              Element(16 + (lane & 15), 16 + 8 * (lane >> 4)));
}

TEST(MmaPlanTest, AccumulatorOrder) {
  MmaTiling tiling{2, 2, 3, 4, 5};
  OperandFragments a(A, 8, 32, tiling, OrderOfK::Accumulator, false);
  OperandFragments b(B, 8, 32, tiling, OrderOfK::Accumulator, true);
  EXPECT_EQ(a.layout(), *mmaTile(C, 16, 16, {2, 1, 3, 5, 1}) * Layout::broadcast(Dim::Warp, 2));
  // The k of a lane's two registers is the same in A and B.
  for (int reg = 0; reg < 2; ++reg)
    forEachLane([&](int g, int t) {
      EXPECT_EQ(elementAt(a.layout(), reg, g, t), Element(g, 2 * t + reg));
      EXPECT_EQ(elementAt(b.layout(), reg, g, t), Element(2 * t + reg, g));
    });
  // Read from a tile with rows along K: no conflicts, and two ways in the instruction's order.
  Layout shared = *conflictFreeTile(40, 64, 32);
  EXPECT_EQ(transferCost(b.layout(), shared, 32, 4)->conflicts, 0);
  OperandFragments plain(B, 8, 32, tiling, OrderOfK::Instruction, true);
  EXPECT_EQ(transferCost(plain.layout(), shared, 32, 4)->ways, 2);
}

} // namespace
