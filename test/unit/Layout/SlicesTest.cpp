//===- SlicesTest.cpp - parts of tiles without moving elements ------------===//

#include "heddle/Layout/Slices.h"
#include "LayoutTesting.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/Fragments.h"
#include <gtest/gtest.h>
#include <set>

using namespace heddle::layout;

namespace {

/// The elements of block `block` along the columns that each thread holds, relative to the block.
std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> held(const Layout &layout, int64_t size,
                                                              int64_t block) {
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> result;
  layout.forEach([&](const Point &position, const Point &element) {
    int64_t column = valueOf(element, Dim::Coord1);
    if (column / size == block)
      result.insert({valueOf(position, Dim::Lane), valueOf(position, Dim::Warp),
                     valueOf(element, Dim::Coord0), column % size});
  });
  return result;
}

TEST(SlicesTest, EveryBlockIsHeldAlike) {
  struct Case {
    Layout layout;
    int64_t size;
  };
  for (const Case &c :
       {Case{*mmaTile(MmaOperand::C, 16, 16, {4, 1, 2, 16}), 64}, // halves of a head
        Case{*mmaTile(MmaOperand::C, 16, 16, {4, 1, 1, 10}), 16}, //
        Case{*mmaTile(MmaOperand::C, 16, 16, {4, 1, 1, 14}), 112},
        Case{*blockedLayout(64, 576, 8, 4), 64}}) {
    auto block = blockOfThread(c.layout, Dim::Coord1, c.size);
    ASSERT_TRUE(block) << c.layout.str();
    EXPECT_EQ(block->outSize(Dim::Coord1), c.size);
    for (int64_t index = 0; index < c.layout.outSize(Dim::Coord1) / c.size; ++index)
      EXPECT_EQ(held(*block, c.size, 0), held(c.layout, c.size, index)) << c.layout.str();
  }
}

TEST(SlicesTest, BlocksOfThread) {
  Layout block = *blockedLayout(16, 32, 8, 4);
  Layout three = blocksOfThread(block, Dim::Coord1, 3);
  EXPECT_EQ(three.outSize(Dim::Coord1), 96);
  EXPECT_TRUE(sameMap(*blockOfThread(three, Dim::Coord1, 32), block));
  EXPECT_TRUE(sameMap(*blockOfThread(block, Dim::Coord1, 32), block));
}

TEST(SlicesTest, Refusals) {
  std::string why;
  Layout blocked = *blockedLayout(64, 64, 8, 4);
  EXPECT_FALSE(blockOfThread(blocked, Dim::Coord1, 32, &why)); // lanes count the halves
  EXPECT_NE(why.find("expected registers alone to count blocks of 32 along coord1"),
            std::string::npos)
      << why;
  EXPECT_FALSE(blockOfThread(blocked, Dim::Coord1, 24, &why));
  EXPECT_EQ(why, "expected a divisor of the size of coord1 (64), got 24");
  // 40 columns are 8 x 5: 20 is within a digit.
  EXPECT_FALSE(blockOfThread(*mmaTile(MmaOperand::C, 16, 16, {4, 1, 1, 5}), Dim::Coord1, 20, &why));
  EXPECT_NE(why.find("to begin where a digit of"), std::string::npos) << why;
}

} // namespace
