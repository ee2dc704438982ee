//===- SharedMemoryTest.cpp - swizzles and their accesses -----------------===//

#include "heddle/Layout/SharedMemory.h"
#include "LayoutTesting.h"
#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/LayoutQueries.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

/// The offset of an element, given the inverse of a tile's layout.
int64_t offsetOf(const Layout &inverse, int64_t row, int64_t column) {
  return valueOf(inverse.apply({{Dim::Coord0, row}, {Dim::Coord1, column}}), Dim::Offset);
}

TEST(SharedMemoryTest, XorSwizzleOnByteAddresses) {
  struct Mode {
    int bits;
    int64_t mask;
  };
  for (Mode mode : {Mode{3, 0x70}, Mode{2, 0x30}, Mode{1, 0x10}}) {
    auto swizzle = xorSwizzle(4096, mode.bits, 4, 3);
    ASSERT_TRUE(swizzle);
    for (int64_t address = 0; address < 4096; ++address)
      ASSERT_EQ(valueOf(swizzle->apply({{Dim::Offset, address}}), Dim::Offset),
                address ^ ((address >> 3) & mode.mask));
    EXPECT_EQ(*compose(*swizzle, *swizzle), Layout::identity(Dim::Offset, Dim::Offset, 4096));
    EXPECT_EQ(*swizzle->inverse(), *swizzle);
  }
}

TEST(SharedMemoryTest, XorSwizzleBounds) {
  EXPECT_FALSE(xorSwizzle(1024, 3, 4, 2)); // would not be its own inverse
  EXPECT_FALSE(xorSwizzle(512, 3, 4, 3));  // 10 bits of 9
  EXPECT_FALSE(xorSwizzle(1024, -1, 4, 3));
  EXPECT_TRUE(xorSwizzle(1024 * 5, 3, 4, 3));
  EXPECT_EQ(*xorSwizzle(24, 0, 4, 3), Layout::identity(Dim::Offset, Dim::Offset, 24));
}

TEST(SharedMemoryTest, RowsOfFullSwizzleLines) {
  // 128-byte rows: chunk c of row r lies in slot c ^ (r & 7); 64: c ^ ((r >> 1) & 3); 32:
  // c ^ ((r >> 2) & 1).
  for (auto [bytes, shift, mask] :
       {std::tuple(128, 0, 7), std::tuple(64, 1, 3), std::tuple(32, 2, 1)}) {
    auto tile = conflictFreeTile(64, bytes / 2, 16);
    ASSERT_TRUE(tile);
    Layout offsets = *tile->inverse();
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t column = 0; column < bytes / 2; ++column)
        ASSERT_EQ(offsetOf(offsets, row, column),
                  row * (bytes / 2) + 8 * ((column / 8) ^ ((row >> shift) & mask)) + column % 8);
    EXPECT_EQ(*tile, *boxTile(64, bytes / 2, 16, SwizzleMode(bytes)));
  }
  // 256-byte rows keep the rule of the row number.
  Layout wide = *conflictFreeTile(16, 128, 16)->inverse();
  for (int64_t row = 0; row < 16; ++row)
    for (int64_t column = 0; column < 128; ++column)
      ASSERT_EQ(offsetOf(wide, row, column),
                row * 128 + 8 * ((column / 8) ^ (row & 7)) + column % 8);
}

TEST(SharedMemoryTest, EveryWidthHoldsEveryElementOnce) {
  for (int bits : {8, 16, 32})
    for (int64_t columns = 128 / bits; columns <= 272; columns += 128 / bits) {
      auto tile = conflictFreeTile(24, columns, bits);
      ASSERT_TRUE(tile);
      EXPECT_TRUE(coverage(*tile).isExact());
      EXPECT_EQ(tile->numElements(), 24 * columns);
      Layout offsets = *tile->inverse();
      // Rows stay in their place and 16-byte chunks whole.
      for (int64_t row = 0; row < 24; ++row)
        for (int64_t column = 0; column < columns; column += 128 / bits) {
          int64_t offset = offsetOf(offsets, row, column);
          ASSERT_EQ(offset / columns, row);
          ASSERT_EQ(offset * bits / 8 % 16, 0);
        }
    }
}

// The accesses of an attention kernel, on tiles of every head dimension.
class SwizzledAccess : public testing::TestWithParam<int64_t> {};

TEST_P(SwizzledAccess, AsyncCopiesOfRows) {
  int64_t width = GetParam();
  Layout shared = *conflictFreeTile(128, width, 16);
  Layout copy = *blockedLayout(128, width, 8, 4);
  EXPECT_EQ(asyncCopyBytes(copy, shared, 16), 16);
  auto cost = transferCost(copy, shared, 16, 16);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->conflicts, 0);
  EXPECT_EQ(cost->requests, 128 * width / 8 / 32);
}

TEST_P(SwizzledAccess, FragmentsByWords) {
  int64_t width = GetParam();
  // st.shared.b32 of the pairs of an output fragment, ld.shared.b32 of the same.
  MmaTiling tiling;
  tiling.warpsM = 4;
  tiling.repeatN = width / 8;
  Layout output = *mmaTile(MmaOperand::C, 16, 16, tiling);
  auto cost = transferCost(output, *conflictFreeTile(64, width, 16), 16, 4);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->conflicts, 0);
  EXPECT_EQ(cost->requests, 4 * (width / 8) * 2);
}

TEST_P(SwizzledAccess, ColumnsOfChunks) {
  // Eight lanes down the rows of one chunk column, 16 bytes each.
  int64_t width = GetParam();
  Layout down = Layout::identity(Dim::Register, Dim::Coord1, 8) *
                Layout::identity(Dim::Lane, Dim::Coord0, 32) *
                Layout::identity(Dim::Register, Dim::Coord1, width / 8);
  auto cost = transferCost(down, *conflictFreeTile(32, width, 16), 16, 16);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->conflicts, 0);
}

INSTANTIATE_TEST_SUITE_P(HeadDims, SwizzledAccess,
                         testing::Values(16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 176,
                                         192, 256, 512, 576),
                         testing::PrintToStringParamName());

TEST(SharedMemoryTest, FloatFragmentsByPairs) {
  // f32 accumulators as st.shared.v2: half a warp stores four rows of two chunks. Without a swizzle
  // all four meet; the swizzle of chunks leaves rows 2i and 2i + 1 in the same pair of chunks.
  MmaTiling tiling;
  tiling.repeatN = 8;
  Layout c = *mmaTile(MmaOperand::C, 16, 16, tiling);
  EXPECT_EQ(transferCost(c, rowMajorTile(16, 64), 32, 8)->ways, 4);
  EXPECT_EQ(transferCost(c, *conflictFreeTile(16, 64, 32), 32, 8)->ways, 2);
  EXPECT_EQ(transferCost(c, *fragmentTile(16, 64, 32), 32, 8)->ways, 1);
}

// Eight rows of a chunk column, and 32 bytes of four rows, for every width that is a multiple of 16 bytes.
TEST(SharedMemoryTest, FloatFragments) {
  for (int64_t columns = 4; columns <= 256; columns += 4) {
    Layout inverse = *fragmentTile(16, columns, 32)->inverse();
    auto conflicts = [&](size_t lanes, int bytes, auto placeOf) {
      LaneAddresses addresses(lanes);
      for (size_t lane = 0; lane < lanes; ++lane) {
        auto [row, column] = placeOf(int64_t(lane));
        addresses[lane] = 4 * offsetOf(inverse, row, column);
      }
      return accessCost(addresses, bytes).conflicts;
    };
    using Place = std::pair<int64_t, int64_t>;
    for (int64_t first = 0; first < columns; first += 4)
      EXPECT_EQ(conflicts(8, 16, [&](int64_t lane) { return Place(lane, first); }), 0)
          << columns << " columns, chunk at " << first;
    for (int64_t first = 0; columns % 8 == 0 && first < columns; first += 8) {
      EXPECT_EQ(
          conflicts(16, 8, [&](int64_t lane) { return Place(lane / 4, first + lane % 4 * 2); }), 0)
          << columns << " columns, piece at " << first;
      EXPECT_EQ(
          conflicts(32, 4, [&](int64_t lane) { return Place(lane % 4 * 2, first + lane / 4); }), 0)
          << columns << " columns, every second row, piece at " << first;
    }
  }
}

TEST(SharedMemoryTest, Refusals) {
  std::string why;
  EXPECT_FALSE(conflictFreeTile(64, 12, 16, &why));
  EXPECT_EQ(why, "expected rows of a multiple of 16 bytes, got 12 elements of 16 bits");
  EXPECT_FALSE(conflictFreeTile(12, 64, 16, &why));
  EXPECT_EQ(why, "expected a multiple of 8 rows, got 12");
  EXPECT_FALSE(conflictFreeTile(8, 64, 4, &why));
  EXPECT_EQ(why, "expected elements of 8, 16 or 32 bits, got 4");
  EXPECT_FALSE(boxTile(64, 80, 16, SwizzleMode::Swizzle128B, &why));
  EXPECT_EQ(why, "expected columns (80) to be a multiple of 64, the elements of a swizzled line");
  EXPECT_FALSE(boxTile(4, 64, 16, SwizzleMode::Swizzle128B, &why));
  EXPECT_EQ(why, "expected a multiple of 8 rows, got 4");
  EXPECT_FALSE(coreMatrixTile(8, 12, 16, &why));
  EXPECT_EQ(why, "expected a multiple of 8 rows and of 8 columns, got 8 x 12");
}

} // namespace
