//===- MatrixAccessTest.cpp - ldmatrix, stmatrix, movmatrix ---------------===//

#include "heddle/Layout/MatrixAccess.h"
#include "LayoutTesting.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

Layout transpose(const Layout &layout) {
  return layout.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
}

/// The row that lane `lane` names for the first instruction.
Element named(const MatrixAccess &access, int lane, int instruction = 0) {
  return elementAt(access.addresses, {{Dim::Lane, lane}, {Dim::Register, instruction}});
}

TEST(MatrixAccessTest, OneMatrix) {
  Layout plain = matrixFragment(false), transposed = matrixFragment(true);
  forEachLane([&](int g, int t) {
    EXPECT_EQ(elementAt(plain, 0, g, t), Element(g, 2 * t));
    EXPECT_EQ(elementAt(plain, 1, g, t), Element(g, 2 * t + 1));
    EXPECT_EQ(elementAt(transposed, 0, g, t), Element(2 * t, g));
    EXPECT_EQ(elementAt(transposed, 1, g, t), Element(2 * t + 1, g));
  });
  Layout tile = rowMajorTile(8, 8);
  for (bool trans : {false, true}) {
    auto access = matchMatrixAccess(matrixFragment(trans), tile, 16, trans);
    ASSERT_TRUE(access);
    EXPECT_EQ(access->matrices, 1);
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(named(*access, lane), Element(lane % 8, 0)) << lane;
    EXPECT_FALSE(matchMatrixAccess(matrixFragment(trans), tile, 16, !trans));
  }
}

TEST(MatrixAccessTest, AOperandByX4) {
  auto access =
      matchMatrixAccess(*mmaFragment(MmaOperand::A, 16, 16), rowMajorTile(16, 16), 16, false);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->matrices, 4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*access, lane), Element((lane & 7) + 8 * ((lane >> 3) & 1), 8 * (lane >> 4)));
}

TEST(MatrixAccessTest, KMajorB) {
  // B[n][k] in memory: the fragment's (k, n) is the element (n, k) of the tile.
  Layout one = transpose(*mmaFragment(MmaOperand::B, 16, 16));
  auto x2 = matchMatrixAccess(one, rowMajorTile(8, 16), 16, false);
  ASSERT_TRUE(x2);
  EXPECT_EQ(x2->matrices, 2);
  for (int lane = 0; lane < 16; ++lane)
    EXPECT_EQ(named(*x2, lane), Element(lane & 7, 8 * ((lane >> 3) & 1)));
  for (int lane = 16; lane < 32; ++lane)
    EXPECT_EQ(named(*x2, lane), named(*x2, lane - 16));

  // x4: two tiles of n8. Register pairs (r0, r1) and (r2, r3) are the operands of two mma.
  auto x4 = matchMatrixAccess(concatenate(one, Dim::Register, Dim::Coord0, 2), rowMajorTile(16, 16),
                              16, false);
  ASSERT_TRUE(x4);
  EXPECT_EQ(x4->matrices, 4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*x4, lane), Element((lane & 7) + 8 * (lane >> 4), 8 * ((lane >> 3) & 1)));

  // x4: two steps of k16.
  x4 = matchMatrixAccess(concatenate(one, Dim::Register, Dim::Coord1, 2), rowMajorTile(8, 32), 16,
                         false);
  ASSERT_TRUE(x4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*x4, lane), Element(lane & 7, 8 * (lane >> 3)));
}

TEST(MatrixAccessTest, NMajorB) {
  // V[k][n] in memory.
  Layout one = *mmaFragment(MmaOperand::B, 16, 16);
  std::string why;
  EXPECT_FALSE(matchMatrixAccess(one, rowMajorTile(16, 8), 16, false, &why));
  EXPECT_EQ(why, "bit 1 of register does not count along the 16 bytes of a matrix row");
  auto x2 = matchMatrixAccess(one, rowMajorTile(16, 8), 16, true);
  ASSERT_TRUE(x2);
  EXPECT_TRUE(x2->transposed);
  EXPECT_EQ(x2->matrices, 2);
  for (int lane = 0; lane < 16; ++lane)
    EXPECT_EQ(named(*x2, lane), Element(lane & 15, 0));
  auto x4 = matchMatrixAccess(concatenate(one, Dim::Register, Dim::Coord1, 2), rowMajorTile(16, 16),
                              16, true);
  ASSERT_TRUE(x4);
  EXPECT_EQ(x4->matrices, 4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*x4, lane), Element((lane & 7) + 8 * ((lane >> 3) & 1), 8 * (lane >> 4)));
}

TEST(MatrixAccessTest, OtherWidths) {
  // tf32: a row of 16 bytes has 4 elements, one to a register.
  auto tf32 = matchMatrixAccess(*mmaFragment(MmaOperand::A, 8, 32), rowMajorTile(16, 8), 32, false);
  ASSERT_TRUE(tf32);
  EXPECT_EQ(tf32->matrices, 4);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*tf32, lane), Element((lane & 7) + 8 * ((lane >> 3) & 1), 4 * (lane >> 4)));
  auto byte = matchMatrixAccess(*mmaFragment(MmaOperand::A, 32, 8), rowMajorTile(16, 32), 8, false);
  ASSERT_TRUE(byte);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(named(*byte, lane), Element((lane & 7) + 8 * ((lane >> 3) & 1), 16 * (lane >> 4)));
  std::string why;
  EXPECT_FALSE(
      matchMatrixAccess(*mmaFragment(MmaOperand::B, 8, 32), rowMajorTile(8, 8), 32, true, &why));
  EXPECT_EQ(why, "transposed matrices have elements of 16 bits, not 32");
  EXPECT_FALSE(
      matchMatrixAccess(*mmaFragment(MmaOperand::C, 16, 16), rowMajorTile(16, 8), 32, false));
}

// ldmatrix by its definition: what each register receives, from the addresses that lanes name.
void checkDefinition(const Layout &registers, const MatrixAccess &access, const Layout &shared) {
  Layout offsets = *shared.inverse();
  int64_t perInstruction = 2 * access.matrices;
  registers.forEach([&](const Point &position, const Point &element) {
    int64_t reg = valueOf(position, Dim::Register), lane = valueOf(position, Dim::Lane);
    int64_t g = lane / 4, t = lane % 4, half = reg % 2, matrix = reg % perInstruction / 2;
    int64_t row = access.transposed ? 2 * t + half : g,
            column = access.transposed ? g : 2 * t + half;
    Point start = access.addresses.apply({{Dim::Register, reg / perInstruction},
                                          {Dim::Lane, 8 * matrix + row},
                                          {Dim::Warp, valueOf(position, Dim::Warp)}});
    int64_t offset = valueOf(offsets.apply(start), Dim::Offset);
    ASSERT_EQ(offset % 8, 0);
    EXPECT_EQ(shared.apply({{Dim::Offset, offset + column}}), element);
  });
}

TEST(MatrixAccessTest, SwizzledTilesByDefinitionWithoutConflicts) {
  for (int64_t width : {16, 32, 64, 128, 256, 48, 80, 96, 112, 176}) {
    MmaTiling tiling;
    tiling.warpsM = 4;
    tiling.repeatK = width / 16;
    tiling.repeatN = 6;
    Layout query = *mmaTile(MmaOperand::A, 16, 16, tiling);
    Layout key = transpose(*mmaTile(MmaOperand::B, 16, 16, tiling));
    MmaTiling output;
    output.repeatK = 3;
    output.repeatN = width / 8;
    Layout value = *mmaTile(MmaOperand::B, 16, 16, output);
    struct Case {
      const char *name;
      Layout registers;
      int64_t rows;
      bool transposed;
    };
    for (const Case &c : {Case{"query", query, 64, false}, Case{"key", key, 48, false},
                          Case{"value", value, 48, true}}) {
      Layout shared = *conflictFreeTile(c.rows, width, 16);
      std::string why;
      auto access = matchMatrixAccess(c.registers, shared, 16, c.transposed, &why);
      ASSERT_TRUE(access) << c.name << " " << width << ": " << why;
      checkDefinition(c.registers, *access, shared);
      auto cost = matrixTransferCost(*access, shared, 16);
      ASSERT_TRUE(cost);
      EXPECT_EQ(cost->conflicts, 0) << c.name << " " << width;
    }
  }
}

TEST(MatrixAccessTest, UnswizzledTilesConflict) {
  // Rows of 128 bytes and more start in the same bank: 8 ways. Rows of 64 and 32 bytes: 4 and 2.
  for (auto [width, ways] :
       {std::pair(128, 8), std::pair(64, 8), std::pair(32, 4), std::pair(16, 2), std::pair(80, 2),
        std::pair(96, 4), std::pair(112, 2), std::pair(72, 1)}) {
    MmaTiling tiling;
    int k = width % 16 == 0 ? 16 : 8;
    tiling.repeatK = width / k;
    Layout query = *mmaTile(MmaOperand::A, k, 16, tiling), shared = rowMajorTile(16, width);
    auto access = matchMatrixAccess(query, shared, 16, false);
    ASSERT_TRUE(access);
    auto cost = matrixTransferCost(*access, shared, 16);
    EXPECT_EQ(cost->ways, ways) << width;
    EXPECT_EQ(cost->conflicts, int64_t(16) * width / 64 * (ways - 1)) << width;
  }
}

TEST(MatrixAccessTest, MovmatrixTransposes) {
  EXPECT_EQ(*movmatrixResult(matrixFragment(false)), matrixFragment(true));
  EXPECT_EQ(*movmatrixResult(matrixFragment(true)), matrixFragment(false));
  Layout a = *mmaFragment(MmaOperand::A, 16, 16), moved = *movmatrixResult(a);
  forEachLane([&](int g, int t) {
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(elementAt(moved, i, g, t), Element(2 * t + i % 2 + i / 2 % 2 * 8, g + i / 4 * 8));
  });
  EXPECT_FALSE(movmatrixResult(Layout::identity(Dim::Lane, Dim::Coord0, 32)));
}

} // namespace
