//===- WgmmaTest.cpp - operands of wgmma and their tiles ------------------===//

#include "LayoutTesting.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/LayoutQueries.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

TEST(WgmmaTest, AccumulatorOfEveryN) {
  for (int n = 8; n <= 256; n += 8) {
    auto d = wgmmaAccumulator(n);
    ASSERT_TRUE(d);
    EXPECT_EQ(d->inSize(Dim::Register), n / 2);
    EXPECT_EQ(d->outSize(Dim::Coord0), 64);
    EXPECT_EQ(d->outSize(Dim::Coord1), n);
    EXPECT_TRUE(coverage(*d).isExact());
    for (int warp = 0; warp < 4; ++warp)
      forEachLane([&](int g, int t) {
        for (int j = 0; j < n / 8; ++j) {
          int row = 16 * warp + g, column = 8 * j + 2 * t;
          EXPECT_EQ(elementAt(*d, 4 * j, g, t, warp), Element(row, column));
          EXPECT_EQ(elementAt(*d, 4 * j + 1, g, t, warp), Element(row, column + 1));
          EXPECT_EQ(elementAt(*d, 4 * j + 2, g, t, warp), Element(row + 8, column));
          EXPECT_EQ(elementAt(*d, 4 * j + 3, g, t, warp), Element(row + 8, column + 1));
        }
      });
  }
}

TEST(WgmmaTest, ListOfN) {
  for (int n : {8, 16, 24, 32, 40, 56, 72, 80, 112, 176, 248, 256})
    EXPECT_TRUE(wgmmaHasN(n, false)) << n;
  for (int n : {-8, 0, 4, 12, 264})
    EXPECT_FALSE(wgmmaHasN(n, false)) << n;
  for (int n : {8, 16, 24, 32, 48, 64, 80, 112, 176, 240, 256})
    EXPECT_TRUE(wgmmaHasN(n, true)) << n;
  for (int n : {40, 56, 72, 88, 104, 248})
    EXPECT_FALSE(wgmmaHasN(n, true)) << n;
  std::string why;
  EXPECT_FALSE(wgmmaAccumulator(12, &why));
  EXPECT_EQ(why, "expected N of wgmma to be a multiple of 8 up to 256, got 12");
}

TEST(WgmmaTest, RegisterOperand) {
  Layout half = *wgmmaRegisterOperand(16), tf32 = *wgmmaRegisterOperand(32);
  Layout byte = *wgmmaRegisterOperand(8);
  for (int warp = 0; warp < 4; ++warp)
    forEachLane([&](int g, int t) {
      for (int i = 0; i < 8; ++i)
        EXPECT_EQ(elementAt(half, i, g, t, warp),
                  Element(16 * warp + g + i / 2 % 2 * 8, 2 * t + i % 2 + i / 4 * 8));
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(elementAt(tf32, i, g, t, warp),
                  Element(16 * warp + g + i % 2 * 8, t + i / 2 * 4));
      for (int i = 0; i < 16; ++i)
        EXPECT_EQ(elementAt(byte, i, g, t, warp),
                  Element(16 * warp + g + i / 4 % 2 * 8, 4 * t + i % 4 + i / 8 * 16));
    });
  EXPECT_FALSE(wgmmaRegisterOperand(4));
}

TEST(WgmmaTest, AccumulatorsFeedTheNextProduct) {
  // K step s of P V uses d[8s .. 8s + 7].
  for (int n : {64, 80, 112, 128, 176}) {
    Layout steps = concatenate(*wgmmaRegisterOperand(16), Dim::Register, Dim::Coord1, n / 16);
    EXPECT_EQ(*wgmmaAccumulator(n), steps) << n;
  }
}

TEST(WgmmaTest, ThreeWarpgroups) {
  Layout tile = concatenate(*wgmmaAccumulator(80), Dim::Warpgroup, Dim::Coord0, 3);
  EXPECT_TRUE(coverage(tile).isExact());
  EXPECT_EQ(tile.outSize(Dim::Coord0), 192);
  EXPECT_EQ(
      elementAt(tile, {{Dim::Register, 39}, {Dim::Lane, 31}, {Dim::Warp, 3}, {Dim::Warpgroup, 2}}),
      Element(191, 79));
}

// Byte addresses of section "shared-memory matrix descriptor", base 0.
int64_t swizzled(int64_t address, int64_t width) {
  return address ^ ((address >> 3) & (width - 16));
}

struct BoxCase {
  int64_t rows, columns;
  int elementBits;
  SwizzleMode mode;
};

TEST(WgmmaTest, BoxesAreKMajorAndMNMajorOperands) {
  for (const BoxCase &c : {BoxCase{64, 128, 16, SwizzleMode::Swizzle128B},
                           BoxCase{80, 128, 16, SwizzleMode::Swizzle128B},
                           BoxCase{176, 64, 16, SwizzleMode::Swizzle64B},
                           BoxCase{112, 80, 16, SwizzleMode::Swizzle32B},
                           BoxCase{64, 128, 8, SwizzleMode::Swizzle128B},
                           BoxCase{64, 32, 32, SwizzleMode::Swizzle128B}}) {
    auto tile = boxTile(c.rows, c.columns, c.elementBits, c.mode);
    ASSERT_TRUE(tile);
    EXPECT_TRUE(coverage(*tile).isExact());
    int64_t width = int64_t(c.mode), size = c.elementBits / 8, line = width / size;
    Layout offsets = *tile->inverse();
    for (int64_t row = 0; row < c.rows; ++row)
      for (int64_t column = 0; column < c.columns; ++column) {
        int64_t bytes =
            size * valueOf(offsets.apply({{Dim::Coord0, row}, {Dim::Coord1, column}}), Dim::Offset);
        int64_t box = column / line * c.rows * width;
        // K-major: 8-row groups SBO = 8 * width apart.
        int64_t kMajor = box + row / 8 * (8 * width) + row % 8 * width + column % line * size;
        ASSERT_EQ(bytes, box + swizzled(kMajor - box, width)) << row << ", " << column;
        // MN-major: rows are K, LBO from one block of columns to the next.
        int64_t lbo = c.rows * width, sbo = 8 * width;
        int64_t mnMajor =
            column / line * lbo + row / 8 * sbo + row % 8 * width + column % line * size;
        ASSERT_EQ(bytes, swizzled(mnMajor, width)) << row << ", " << column;
      }
  }
}

TEST(WgmmaTest, CoreMatrices) {
  for (int bits : {8, 16, 32}) {
    int64_t rows = 24, columns = 96, size = bits / 8, sbo = 128, lbo = rows * 16;
    Layout offsets = *coreMatrixTile(rows, columns, bits)->inverse();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < columns; ++k) {
        int64_t bytes =
            size * valueOf(offsets.apply({{Dim::Coord0, r}, {Dim::Coord1, k}}), Dim::Offset);
        ASSERT_EQ(bytes, r / 8 * sbo + r % 8 * 16 + k * size / 16 * lbo + k * size % 16);
      }
  }
}

} // namespace
