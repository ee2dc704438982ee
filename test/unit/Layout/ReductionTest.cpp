//===- ReductionTest.cpp - layouts of partly reduced tiles ----------------===//

#include "heddle/Layout/Reduction.h"
#include "LayoutTesting.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/LayoutQueries.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace heddle::layout;

namespace {

using Thread = std::pair<int64_t, int64_t>; // lane, warp

Thread threadOf(const Point &position) {
  return {valueOf(position, Dim::Lane), valueOf(position, Dim::Warp)};
}

/// The parts of each row: the columns that a thread combines, by the part's number. Each thread has one part of a row at most, threads
/// with the same part combine the same columns, and the parts of a row are its columns, each once.
void expectParts(const Layout &layout) {
  auto reduced = reducedInThread(layout, Dim::Coord1);
  ASSERT_TRUE(reduced) << layout.str();
  std::map<std::pair<Thread, int64_t>, std::set<int64_t>> columns; // of a thread's row
  layout.forEach([&](const Point &position, const Point &element) {
    columns[{threadOf(position), valueOf(element, Dim::Coord0)}].insert(
        valueOf(element, Dim::Coord1));
  });
  std::map<Element, std::set<int64_t>> parts;
  size_t held = 0;
  reduced->forEach([&](const Point &position, const Point &element) {
    int64_t row = valueOf(element, Dim::Coord0);
    auto found = columns.find({threadOf(position), row});
    ASSERT_NE(found, columns.end()) << reduced->str();
    std::set<int64_t> &part = parts[{row, valueOf(element, Dim::Coord1)}];
    EXPECT_TRUE(part.empty() || part == found->second) << reduced->str();
    part = found->second;
    ++held;
  });
  EXPECT_EQ(held, columns.size()) << "a thread has another number of parts than of rows";
  std::map<int64_t, size_t> sums;
  std::map<int64_t, std::set<int64_t>> all;
  for (auto &[element, part] : parts) {
    sums[element.first] += part.size();
    all[element.first].insert(part.begin(), part.end());
  }
  EXPECT_EQ(parts.size(), size_t(reduced->numElements()));
  for (auto &[row, sum] : sums) {
    EXPECT_EQ(sum, size_t(layout.outSize(Dim::Coord1))) << "row " << row;
    EXPECT_EQ(all[row].size(), sum) << "row " << row;
  }
}

TEST(ReductionTest, AccumulatorOfOneInstruction) {
  Layout accumulator = *mmaFragment(MmaOperand::C, 16, 16);
  auto expected = Layout::create(
      {{Dim::Register, {{8, 0}}}, {Dim::Lane, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}}},
      {{Dim::Coord0, 16}, {Dim::Coord1, 4}});
  EXPECT_EQ(*reducedInThread(accumulator, Dim::Coord1), *expected);
  // Along the rows, two registers and eight quads.
  auto rows = reducedInThread(accumulator, Dim::Coord0);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->outSize(Dim::Coord0), 8);
  EXPECT_EQ(rows->outSize(Dim::Coord1), 8);
}

TEST(ReductionTest, PartsAreTheRow) {
  for (MmaTiling tiling : {MmaTiling{4, 1, 2, 8, 1, 1}, MmaTiling{4, 2, 1, 5, 1, 1},
                           MmaTiling{1, 2, 1, 5, 1, 4}, MmaTiling{1, 8, 1, 7, 1, 1}})
    expectParts(*mmaTile(MmaOperand::C, 16, 16, tiling));
  for (int64_t columns : {8, 64, 80, 112, 576})
    expectParts(*blockedLayout(16, columns, 8, 8));
}

TEST(ReductionTest, RegistersThatMixCoordinates) {
  // Column and row change together: the thread's parts of both rows are different ones.
  auto mixed = Layout::create({{Dim::Register, {{0, 1}, {1, 2}}}, {Dim::Lane, {{0, 2}, {0, 4}}}},
                              {{Dim::Coord0, 2}, {Dim::Coord1, 8}});
  expectParts(*mixed);
  // Two registers for one row bit: their sum counts along the row alone.
  auto dependent =
      Layout::create({{Dim::Register, {{1, 1}, {1, 2}}}, {Dim::Lane, {{0, 1}, {1, 0}}}},
                     {{Dim::Coord0, 2}, {Dim::Coord1, 4}});
  EXPECT_FALSE(reducedInThread(*dependent, Dim::Coord1));
}

TEST(ReductionTest, WithParts) {
  // Rows of an accumulator: the four lanes of a quad hold copies.
  Layout tile = *mmaTile(MmaOperand::C, 16, 16, {1, 8, 1, 1, 1, 1});
  Layout rows = tile.projectOutputs({Dim::Coord0}).withoutBroadcast(Dim::Register);
  for (int64_t count : {1, 2, 4, 12, 32, 10}) {
    Layout parts = withParts(rows, Dim::Coord1, count);
    EXPECT_TRUE(coverage(parts).complete) << count;
    EXPECT_EQ(parts.outSize(Dim::Coord1), count);
    EXPECT_EQ(inputMask(parts, Dim::Warp, Dim::Coord1), 0);
    EXPECT_EQ(parts.projectOutputs({Dim::Coord0}).withoutBroadcast(Dim::Register), rows) << count;
  }
  EXPECT_EQ(withParts(rows, Dim::Coord1, 32).inSize(Dim::Register), 2 * 8);
}

} // namespace
