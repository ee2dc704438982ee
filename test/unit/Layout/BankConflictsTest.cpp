//===- BankConflictsTest.cpp - known conflict counts ----------------------===//

#include "heddle/Layout/BankConflicts.h"
#include "LayoutTesting.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

LaneAddresses strided(int64_t stride, int lanes = 32) {
  LaneAddresses addresses;
  for (int64_t lane = 0; lane < lanes; ++lane)
    addresses.push_back(lane * stride);
  return addresses;
}

void expectCost(const AccessCost &cost, int64_t wavefronts, int64_t conflicts, int64_t ways) {
  EXPECT_EQ(cost.requests, 1);
  EXPECT_EQ(cost.wavefronts, wavefronts);
  EXPECT_EQ(cost.conflicts, conflicts);
  EXPECT_EQ(cost.ways, ways);
}

TEST(BankConflictsTest, StridedWords) {
  expectCost(accessCost(strided(4), 4), 1, 0, 1);
  expectCost(accessCost(strided(8), 4), 2, 1, 2);
  expectCost(accessCost(strided(16), 4), 4, 3, 4);
  expectCost(accessCost(strided(32), 4), 8, 7, 8);
  expectCost(accessCost(strided(64), 4), 16, 15, 16);
  expectCost(accessCost(strided(128), 4), 32, 31, 32);
  expectCost(accessCost(strided(256), 4), 32, 31, 32);
  // An odd number of words visits every bank.
  for (int64_t words : {1, 3, 5, 33, 63})
    expectCost(accessCost(strided(4 * words), 4), 1, 0, 1);
  expectCost(accessCost(strided(4 * 6), 4), 2, 1, 2);
  expectCost(accessCost(strided(4 * 12), 4), 4, 3, 4);
}

TEST(BankConflictsTest, SameWordIsShared) {
  expectCost(accessCost(strided(0), 4), 1, 0, 1);
  expectCost(accessCost(strided(2), 2), 1, 0, 1); // two lanes to a word
  expectCost(accessCost(strided(1), 1), 1, 0, 1); // four
  expectCost(accessCost(strided(4), 2), 1, 0, 1);
  expectCost(accessCost(strided(0), 16), 4, 0, 1); // one phase for each eight lanes all the same
  LaneAddresses two;                               // two words of one bank
  for (int lane = 0; lane < 32; ++lane)
    two.push_back(lane % 2 * 128);
  expectCost(accessCost(two, 4), 2, 1, 2);
}

TEST(BankConflictsTest, WideAccessesTakePhases) {
  expectCost(accessCost(strided(8), 8), 2, 0, 1);
  expectCost(accessCost(strided(16), 16), 4, 0, 1);
  expectCost(accessCost(strided(16), 8), 4, 2, 2);
  expectCost(accessCost(strided(32), 16), 8, 4, 2);
  expectCost(accessCost(strided(128), 8), 32, 30, 16);
  expectCost(accessCost(strided(128), 16), 32, 28, 8);
  // Eight lanes that meet only across phases do not conflict.
  LaneAddresses halves;
  for (int lane = 0; lane < 32; ++lane)
    halves.push_back(lane % 16 * 8 + lane / 16 * 1024);
  expectCost(accessCost(halves, 8), 2, 0, 1);
}

TEST(BankConflictsTest, LanesWithoutAddress) {
  LaneAddresses addresses(32);
  expectCost(accessCost(addresses, 4), 0, 0, 0);
  addresses[3] = 0;
  addresses[17] = 128;
  expectCost(accessCost(addresses, 4), 2, 1, 2);
  expectCost(accessCost(addresses, 16), 2, 0, 1);
}

TEST(BankConflictsTest, Matrices) {
  expectCost(matrixAccessCost(strided(16), 4), 4, 0, 1);
  expectCost(matrixAccessCost(strided(128), 4), 32, 28, 8);
  expectCost(matrixAccessCost(strided(64), 4), 16, 12, 4);
  expectCost(matrixAccessCost(strided(32), 4), 8, 4, 2);
  expectCost(matrixAccessCost(strided(144), 4), 4, 0, 1);
  // x1 reads the addresses of lanes 0 to 7 only.
  expectCost(matrixAccessCost(strided(128), 1), 8, 7, 8);
}

TEST(BankConflictsTest, ColumnsOfARowMajorTile) {
  // Each lane stores one f32 of a column: a tile of n columns has rows n words apart.
  Layout column = Layout::identity(Dim::Lane, Dim::Coord0, 32) *
                  Layout::identity(Dim::Register, Dim::Coord1, 4);
  for (auto [width, ways] : {std::pair(32, 32), std::pair(8, 8), std::pair(4, 4), std::pair(80, 16),
                             std::pair(36, 4), std::pair(12, 4)}) {
    Layout registers = column * Layout::identity(Dim::Register, Dim::Coord1, width / 4);
    auto cost = transferCost(registers, rowMajorTile(32, width), 32, 4);
    ASSERT_TRUE(cost);
    EXPECT_EQ(cost->requests, width);
    EXPECT_EQ(cost->ways, ways) << width;
    EXPECT_EQ(cost->conflicts, width * (ways - 1)) << width;
  }
}

TEST(BankConflictsTest, RefusesVectorsThatAreNotContiguous) {
  Layout rows = Layout::identity(Dim::Register, Dim::Coord1, 2) *
                Layout::identity(Dim::Lane, Dim::Coord0, 32);
  std::string why;
  EXPECT_TRUE(transferCost(rows, rowMajorTile(32, 2), 32, 8, &why));
  EXPECT_FALSE(transferCost(rows, rowMajorTile(32, 2), 32, 16, &why));
  EXPECT_EQ(why, "threads hold 2 contiguous elements, the access needs 4");
  EXPECT_FALSE(transferCost(rows, rowMajorTile(32, 4), 32, 8, &why));
  EXPECT_EQ(why, "expected equal sizes of coord1, got 2 and 4");
  EXPECT_FALSE(transferCost(rows, rowMajorTile(32, 2), 32, 2, &why));
  EXPECT_EQ(why, "an access of 2 bytes does not hold elements of 32 bits");
}

} // namespace
