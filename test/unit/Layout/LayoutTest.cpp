//===- LayoutTest.cpp - construction, normal form, text -------------------===//

#include "LayoutTesting.h"
#include "heddle/Layout/LayoutQueries.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

/// The reason for which the parts are refused.
std::string refusal(const std::vector<InputBases> &inputs,
                    const std::vector<std::pair<Dim, int64_t>> &outputs,
                    const std::vector<Repeat> &repeats = {}) {
  std::string why;
  return Layout::create(inputs, outputs, repeats, &why) ? "accepted" : why;
}

TEST(LayoutTest, WorkedExample) {
  Layout c = Layout::identity(Dim::Register, Dim::Coord1, 2) *
             Layout::identity(Dim::Lane, Dim::Coord1, 4) *
             Layout::identity(Dim::Lane, Dim::Coord0, 8) *
             Layout::identity(Dim::Register, Dim::Coord0, 2) *
             Layout::identity(Dim::Register, Dim::Coord1, 5);
  EXPECT_EQ(c.str(), "register = [(0,1) (8,0)], lane = [(0,2) (0,4) (1,0) (2,0) (4,0)], "
                     "5 x register 4 -> coord1 8; coord0 16, coord1 40");
  EXPECT_EQ(elementAt(c, {{Dim::Register, 14}, {Dim::Lane, 9}}), Element(10, 26));
  EXPECT_EQ(c.inSize(Dim::Register), 20);
  EXPECT_EQ(c.inSize(Dim::Warp), 1);
  EXPECT_EQ(c.numPositions(), 640);
  EXPECT_EQ(c.numElements(), 640);
  EXPECT_TRUE(coverage(c).isExact());
}

TEST(LayoutTest, CreateGivesWhatProductsGive) {
  auto layout = Layout::create(
      {{Dim::Register, {{0, 1}, {8, 0}}}, {Dim::Lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
      {{Dim::Coord0, 16}, {Dim::Coord1, 40}}, {{Dim::Register, 4, Dim::Coord1, 8, 5}});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->str(), "register = [(0,1) (8,0)], lane = [(0,2) (0,4) (1,0) (2,0) (4,0)], "
                           "5 x register 4 -> coord1 8; coord0 16, coord1 40");
}

TEST(LayoutTest, NormalFormIsUnique) {
  auto line = [](int64_t count) { return Layout::identity(Dim::Register, Dim::Coord0, count); };
  EXPECT_EQ(line(10), line(2) * line(5));
  EXPECT_EQ(line(10), line(5) * line(2));
  EXPECT_EQ(line(120), line(3) * line(8) * line(5));
  EXPECT_EQ(line(15), line(5) * line(3));
  EXPECT_EQ(line(7) * line(1), line(7));
  EXPECT_EQ(Layout::broadcast(Dim::Lane, 12),
            Layout::broadcast(Dim::Lane, 3) * Layout::broadcast(Dim::Lane, 4));
  EXPECT_EQ(line(1), Layout());
  EXPECT_NE(line(4), line(8));
  // Digits that go elsewhere keep their order: rows 0..4 of two halves of a column.
  Layout halves = Layout::identity(Dim::Register, Dim::Coord0, 5) *
                  Layout::identity(Dim::Register, Dim::Coord1, 2);
  EXPECT_EQ(halves.str(), "register = [(0,1)], 5 x register 1 -> coord0 1; coord0 5, coord1 2");
  EXPECT_EQ(elementAt(halves, {{Dim::Register, 7}}), Element(2, 1));
}

TEST(LayoutTest, OrderOfDigitsMatters) {
  // Six registers: a bit below a digit of 3, and above it. The bit also moves to the other row, so
  // that no normal form can exchange the two.
  auto low = Layout::create({{Dim::Register, {{1, 1}}}}, {{Dim::Coord0, 2}, {Dim::Coord1, 6}},
                            {{Dim::Register, 2, Dim::Coord1, 2, 3}});
  auto high = Layout::create({{Dim::Register, {{1, 1}}}}, {{Dim::Coord0, 2}, {Dim::Coord1, 6}},
                             {{Dim::Register, 1, Dim::Coord1, 2, 3}});
  ASSERT_TRUE(low && high);
  EXPECT_FALSE(sameMap(*low, *high));
  EXPECT_TRUE(sameMap(*low, *low));
  EXPECT_EQ(elementAt(*low, {{Dim::Register, 3}}), Element(1, 3));
  EXPECT_EQ(elementAt(*high, {{Dim::Register, 3}}), Element(1, 1));
}

TEST(LayoutTest, SwizzledBasesAreXored) {
  auto layout = Layout::create({{Dim::Offset, {{0, 1}, {0, 2}, {1, 1}, {2, 2}}}},
                               {{Dim::Coord0, 4}, {Dim::Coord1, 4}});
  ASSERT_TRUE(layout);
  for (int64_t offset = 0; offset < 16; ++offset) {
    int64_t row = offset / 4;
    EXPECT_EQ(elementAt(*layout, {{Dim::Offset, offset}}), Element(row, (offset % 4) ^ row));
  }
  EXPECT_EQ(*layout, *layout->inverse()->inverse());
}

TEST(LayoutTest, RefusesPartsThatDoNotFit) {
  EXPECT_EQ(refusal({{Dim::Lane, {{16}}}}, {{Dim::Coord0, 16}}),
            "expected basis 0 of lane to be a sum of bits of coord0 (size 16), got 16");
  EXPECT_EQ(refusal({{Dim::Lane, {{1}, {-1}}}}, {{Dim::Coord0, 16}}),
            "expected basis 1 of lane to be a sum of bits of coord0 (size 16), got -1");
  EXPECT_EQ(refusal({{Dim::Lane, {{1, 2}}}}, {{Dim::Coord0, 16}}),
            "expected basis 0 of lane to have 1 coordinates, got 2");
  EXPECT_EQ(refusal({{Dim::Lane, {{1}}}, {Dim::Lane, {}}}, {{Dim::Coord0, 2}}),
            "input lane is given twice");
  EXPECT_EQ(refusal({}, {{Dim::Coord1, 2}, {Dim::Coord1, 2}}), "output coord1 is given twice");
  EXPECT_EQ(refusal({}, {{Dim::Coord0, 0}}), "size 0 of coord0 is out of range");
  EXPECT_EQ(refusal({}, {{Dim::Coord0, int64_t(1) << 40}, {Dim::Coord1, int64_t(1) << 40}}),
            "size 1099511627776 of coord1 is out of range");
  EXPECT_EQ(
      refusal({{Dim::Register, std::vector<std::vector<int64_t>>(63, {0})}}, {{Dim::Coord0, 1}}),
      "size of register is out of range");
  // The coordinate 16 belongs to the digit, not to a bit.
  EXPECT_EQ(refusal({{Dim::Register, {{16}}}}, {{Dim::Coord0, 80}},
                    {{Dim::Register, 2, Dim::Coord0, 16, 5}}),
            "expected basis 0 of register to be a sum of bits of coord0 (size 80), got 16");
  EXPECT_EQ(refusal({{Dim::Register, {{1}}}}, {{Dim::Coord0, 80}},
                    {{Dim::Register, 3, Dim::Coord0, 16, 5}}),
            "expected a repeat of register to have stride 4, got 3");
  EXPECT_EQ(
      refusal({{Dim::Register, {}}}, {{Dim::Coord0, 80}}, {{Dim::Register, 1, Dim::Coord0, 16, 7}}),
      "expected the size of coord0 (80) to be a multiple of 112");
  EXPECT_EQ(refusal({{Dim::Register, {}}}, {{Dim::Coord0, 8}}, {{Dim::Warp, 1, Dim::Coord0, 1, 2}}),
            "a repeat names warp, which the layout does not have");
  EXPECT_EQ(
      refusal({{Dim::Register, {}}}, {{Dim::Coord0, 8}}, {{Dim::Register, 1, Dim::Coord0, 1, 1}}),
      "expected a repeat of at least 2 with positive strides, got 1");
}

TEST(LayoutTest, AcceptedPartsStayInTheTile) {
  // Parts at random, most of them nonsense: what is accepted maps into the tile and prints.
  std::mt19937_64 engine(7);
  auto pick = [&](std::vector<int64_t> values) { return values[engine() % values.size()]; };
  auto number = [&] { return pick({-1, 0, 1, 2, 3, 4, 6, 8, 12, int64_t(1) << 61, INT64_MAX}); };
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<std::pair<Dim, int64_t>> outputs = {{Dim::Coord0, number()}};
    if (engine() % 2)
      outputs.push_back({Dim(int(Dim::Coord0) + engine() % 2), number()});
    std::vector<InputBases> inputs = {{Dim::Register, {}}};
    for (uint64_t bit = engine() % 3; bit > 0; --bit)
      inputs[0].bases.push_back(engine() % 2 ? std::vector<int64_t>{number()}
                                             : std::vector<int64_t>{number(), number()});
    std::vector<Repeat> repeats;
    for (uint64_t count = engine() % 3; count > 0; --count)
      repeats.push_back({Dim::Register, number(), Dim::Coord0, number(), number()});
    auto layout = Layout::create(inputs, outputs, repeats);
    if (!layout)
      continue;
    ++accepted;
    EXPECT_EQ(layout->outSize(Dim::Coord0), outputs[0].second);
    EXPECT_FALSE(layout->str().empty());
    int64_t last = layout->inSize(Dim::Register) - 1;
    for (int64_t reg : {int64_t(0), last / 3, last / 2, last}) {
      Element element = elementAt(*layout, {{Dim::Register, reg}});
      EXPECT_TRUE(element.first >= 0 && element.first < layout->outSize(Dim::Coord0))
          << layout->str();
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(LayoutTest, ComposeRefusesIndicesThatDiffer) {
  std::string why;
  Layout sixteen = Layout::identity(Dim::Coord0, Dim::Offset, 16);
  EXPECT_FALSE(compose(sixteen, Layout::identity(Dim::Lane, Dim::Coord0, 8), &why));
  EXPECT_EQ(why, "expected equal sizes of coord0, got 8 and 16");
  // 6 rows as 2 * 3 on one side and 3 * 2 on the other.
  Layout twoThree =
      Layout::identity(Dim::Lane, Dim::Coord0, 2) * Layout::identity(Dim::Warp, Dim::Coord0, 3);
  Layout threeTwo =
      Layout::identity(Dim::Coord0, Dim::Offset, 3) * Layout::broadcast(Dim::Coord0, 2);
  EXPECT_FALSE(compose(threeTwo, twoThree, &why));
  EXPECT_EQ(why, "expected equal digits of coord0, got 2 x 3 and 3 x 2");
}

TEST(LayoutTest, CompositionSplitsDigits) {
  // 15 columns as one digit of 15, and as 3 registers in each of 5 warps.
  Layout tile =
      Layout::identity(Dim::Register, Dim::Coord0, 3) * Layout::identity(Dim::Warp, Dim::Coord0, 5);
  auto offsets = compose(Layout::identity(Dim::Coord0, Dim::Offset, 15), tile);
  ASSERT_TRUE(offsets);
  for (int64_t warp = 0; warp < 5; ++warp)
    for (int64_t reg = 0; reg < 3; ++reg)
      EXPECT_EQ(valueOf(offsets->apply({{Dim::Register, reg}, {Dim::Warp, warp}}), Dim::Offset),
                3 * warp + reg);
}

TEST(LayoutTest, RowStatisticsAreProjections) {
  Layout tile = Layout::identity(Dim::Register, Dim::Coord1, 2) *
                Layout::identity(Dim::Lane, Dim::Coord1, 4) *
                Layout::identity(Dim::Lane, Dim::Coord0, 8) *
                Layout::identity(Dim::Register, Dim::Coord0, 2) *
                Layout::identity(Dim::Register, Dim::Coord1, 7);
  EXPECT_EQ(inputMask(tile, Dim::Lane, Dim::Coord1), 0b00011);
  EXPECT_EQ(inputMask(tile, Dim::Lane, Dim::Coord0), 0b11100);
  Layout rows = tile.projectOutputs({Dim::Coord0});
  EXPECT_EQ(rows.inSize(Dim::Register), 28);
  EXPECT_EQ(broadcastMask(rows, Dim::Lane), 0b00011);
  EXPECT_EQ(coverage(rows), (Coverage{true, 2 * 4 * 7}));
  EXPECT_EQ(coverage(rows.restrictInputs({Dim::Lane})), (Coverage{false, 4}));
  Layout packed = rows.withoutBroadcast(Dim::Register);
  EXPECT_EQ(packed.str(), "register = [(8)], lane = [(0) (0) (1) (2) (4)]; coord0 16");
}

TEST(LayoutTest, RowsOfWarps) {
  // Two warps below each other with 8 rows of 4 columns each, and two beside each other with all rows.
  Layout rows =
      Layout::identity(Dim::Lane, Dim::Coord1, 4) * Layout::identity(Dim::Lane, Dim::Coord0, 8);
  std::set<std::pair<int64_t, int64_t>> below, beside;
  for (int64_t row = 0; row < 16; ++row)
    below.insert({row / 8, row});
  for (int64_t row = 0; row < 8; ++row)
    beside.insert({{0, row}, {1, row}});
  EXPECT_EQ(rowsOfWarps(rows * Layout::identity(Dim::Warp, Dim::Coord0, 2)), below);
  EXPECT_EQ(rowsOfWarps(rows * Layout::identity(Dim::Warp, Dim::Coord1, 2)), beside);
  EXPECT_TRUE(isSpreadOverWarps(rows * Layout::identity(Dim::Warp, Dim::Coord1, 2), Dim::Coord1));
  EXPECT_FALSE(isSpreadOverWarps(rows * Layout::identity(Dim::Warp, Dim::Coord1, 2), Dim::Coord0));
}

TEST(LayoutTest, ContiguousElements) {
  Layout quads = Layout::identity(Dim::Register, Dim::Coord1, 4) *
                 Layout::identity(Dim::Lane, Dim::Coord1, 8) *
                 Layout::identity(Dim::Lane, Dim::Coord0, 4);
  EXPECT_EQ(contiguousElements(quads, Dim::Coord1).count, 4);
  EXPECT_EQ(contiguousElements(quads, Dim::Coord0).count, 1);
  // Rows first in the registers: the columns are register bits 1 and 2.
  Layout rowsFirst = Layout::identity(Dim::Register, Dim::Coord0, 2) *
                     Layout::identity(Dim::Register, Dim::Coord1, 4);
  ContiguousElements run = contiguousElements(rowsFirst, Dim::Coord1);
  EXPECT_EQ(run.count, 4);
  EXPECT_EQ(run.registerBits, (std::vector<int>{1, 2}));
  // A lane that moves along the run breaks it.
  auto mixed =
      Layout::create({{Dim::Register, {{1}, {2}}}, {Dim::Lane, {{2}}}}, {{Dim::Coord0, 4}});
  EXPECT_EQ(contiguousElements(*mixed, Dim::Coord0).count, 2);
  // So does a register that also changes the row.
  auto diagonal =
      Layout::create({{Dim::Register, {{0, 1}, {1, 2}}}}, {{Dim::Coord0, 2}, {Dim::Coord1, 4}});
  EXPECT_EQ(contiguousElements(*diagonal, Dim::Coord1).count, 2);
  // An odd width ends the run.
  EXPECT_EQ(contiguousElements(Layout::identity(Dim::Register, Dim::Coord0, 12), Dim::Coord0).count,
            4);
}

} // namespace
