//===- CopyLayoutsTest.cpp - copies from global memory --------------------===//

#include "heddle/Layout/CopyLayouts.h"
#include "LayoutTesting.h"
#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/LayoutQueries.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>
#include <set>

using namespace heddle::layout;

namespace {

TEST(CopyLayoutsTest, PowerOfTwoWidth) {
  // 128 threads on 64 x 64 halves: thread T copies chunk T & 7 of rows T >> 3, 16 further, ...
  Layout copy = *blockedLayout(64, 64, 8, 4);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t pass = 0; pass < 4; ++pass)
      for (int64_t element = 0; element < 8; ++element)
        EXPECT_EQ(elementAt(copy, {{Dim::Register, 8 * pass + element},
                                   {Dim::Lane, thread % 32},
                                   {Dim::Warp, thread / 32}}),
                  Element((thread >> 3) + 16 * pass, 8 * (thread & 7) + element));
}

TEST(CopyLayoutsTest, EveryElementOnce) {
  for (int64_t columns : {8, 16, 64, 80, 112, 128, 176, 576})
    for (int64_t rows : {32, 48, 64, 80, 112}) {
      auto copy = blockedLayout(rows, columns, 8, 4);
      ASSERT_TRUE(copy);
      EXPECT_TRUE(coverage(*copy).complete) << rows << " x " << columns;
      EXPECT_EQ(copy->inSize(Dim::Lane), 32);
      EXPECT_EQ(copy->inSize(Dim::Warp), 4);
      EXPECT_EQ(copy->numElements(), rows * columns);
      EXPECT_EQ(coverage(*copy).copies * copy->numElements(), copy->numPositions());
      EXPECT_GE(contiguousElements(*copy, Dim::Coord1).count, 8);
    }
  EXPECT_TRUE(coverage(*blockedLayout(64, 80, 8, 4)).isExact());
  // 2 x 16 elements are 4 vectors: 8 lanes hold each of them, in each warp.
  EXPECT_EQ(coverage(*blockedLayout(2, 16, 8, 2)).copies, 16);
}

TEST(CopyLayoutsTest, WarpsAlongRows) {
  // One row of 1024 in vectors of 8: a warp covers 256 columns, four of them the row.
  Layout row = *blockedLayout(1, 1024, 8, 4);
  EXPECT_TRUE(coverage(row).isExact());
  EXPECT_EQ(elementAt(row, {{Dim::Register, 3}, {Dim::Lane, 2}, {Dim::Warp, 3}}),
            Element(0, 768 + 16 + 3));
  // With 8 warps two of them hold the same; with 3 rows of 512 no power of two is left of the rows.
  EXPECT_EQ(coverage(*blockedLayout(1, 1024, 8, 8)).copies, 2);
  EXPECT_TRUE(coverage(*blockedLayout(3, 512, 8, 2)).isExact());
}

TEST(CopyLayoutsTest, FewRowsOfAThreadWithoutConflicts) {
  auto rowsOf = [](const Layout &copy) {
    std::set<int64_t> rows;
    copy.restrictInputs({Dim::Register}).forEach([&](const Point &, const Point &element) {
      rows.insert(valueOf(element, Dim::Coord0));
    });
    return int64_t(rows.size());
  };
  for (int bits : {16, 32})
    for (int64_t warps : {4, 8})
      for (int64_t chunks : {4, 8, 12, 16, 20, 24, 32, 56, 64}) {
        int64_t vector = 128 / bits, columns = chunks * vector;
        SCOPED_TRACE(std::to_string(columns) + " columns of " + std::to_string(bits) + " bits, " +
                     std::to_string(warps) + " warps");
        Layout shared = *fragmentTile(64, columns, bits),
               copy = *copyLayout(64, columns, vector, warps, shared, bits);
        EXPECT_TRUE(coverage(copy).isExact());
        auto cost = transferCost(copy, shared, bits, 16);
        ASSERT_TRUE(cost);
        EXPECT_EQ(cost->conflicts, 0);
        EXPECT_EQ(rowsOf(copy), 8 / warps);
        // Four lanes, one after another, take 64 bytes of a row.
        for (int64_t lane = 0; lane < 32; ++lane)
          EXPECT_EQ(elementAt(copy, {{Dim::Register, 0}, {Dim::Lane, lane}, {Dim::Warp, 0}}).second,
                    lane % 4 * vector);
      }
  // 48 rows are no power of two of lanes and warps: with 64 bytes, too, a thread would have three of them. 8 bytes are as before.
  EXPECT_EQ(*copyLayout(48, 64, 8, 4, *fragmentTile(48, 64, 16), 16),
            *blockedLayout(48, 64, 8, 4, nullptr, 8));
  EXPECT_EQ(*copyLayout(64, 64, 4, 4, *fragmentTile(64, 64, 16), 16),
            *blockedLayout(64, 64, 4, 4, nullptr, 16));
}

TEST(CopyLayoutsTest, AsyncCopySizes) {
  Layout copy = *blockedLayout(64, 64, 8, 4);
  EXPECT_EQ(asyncCopyBytes(copy, *conflictFreeTile(64, 64, 16), 16), 16);
  EXPECT_EQ(asyncCopyBytes(*blockedLayout(64, 64, 4, 4), *conflictFreeTile(64, 64, 16), 16), 8);
  EXPECT_EQ(asyncCopyBytes(*blockedLayout(64, 64, 2, 4), *conflictFreeTile(64, 64, 16), 16), 4);
  EXPECT_EQ(asyncCopyBytes(*blockedLayout(64, 64, 1, 4), *conflictFreeTile(64, 64, 16), 16),
            std::nullopt);
  EXPECT_EQ(asyncCopyBytes(*blockedLayout(64, 64, 1, 4), *conflictFreeTile(64, 64, 32), 32), 4);
  // An operand fragment has pairs of halves, which is what a lane can copy for itself.
  EXPECT_EQ(asyncCopyBytes(*mmaFragment(MmaOperand::A, 16, 16), rowMajorTile(16, 16), 16), 4);
  // Column-major shared memory has no two neighbours of a row together.
  Layout columnMajor = Layout::identity(Dim::Offset, Dim::Coord0, 64) *
                       Layout::identity(Dim::Offset, Dim::Coord1, 64);
  EXPECT_EQ(asyncCopyBytes(copy, columnMajor, 16), std::nullopt);
  // Runs of the same length in both memories, but not in the same order.
  auto exchanged = Layout::create({{Dim::Offset, {{2}, {1}, {4}}}}, {{Dim::Coord1, 8}});
  EXPECT_EQ(asyncCopyBytes(Layout::identity(Dim::Register, Dim::Coord1, 8), *exchanged, 16),
            std::nullopt);
}

TEST(CopyLayoutsTest, Refusals) {
  std::string why;
  EXPECT_FALSE(blockedLayout(64, 20, 8, 4, &why));
  EXPECT_EQ(why,
            "expected rows of a multiple of the vector's elements (a power of two), got 20 and 8");
  EXPECT_FALSE(blockedLayout(64, 64, 8, 3, &why));
  EXPECT_EQ(why, "expected the number of warps to be a power of two, got 3");
  EXPECT_FALSE(blockedLayout(64, 24, 3, 4, &why));
}

} // namespace
