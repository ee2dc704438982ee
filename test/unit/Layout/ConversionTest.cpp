//===- ConversionTest.cpp - kinds of conversions --------------------------===//

#include "heddle/Layout/Conversion.h"
#include "LayoutTesting.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/MatrixAccess.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

/// Checks both classifications against each other, and the source positions against the layouts.
ConversionKind kindOf(const Layout &from, const Layout &to) {
  std::string why;
  auto conversion = classifyConversion(from, to, &why);
  auto enumerated = classifyByEnumeration(from, to);
  EXPECT_TRUE(conversion && enumerated) << why;
  if (!conversion || !enumerated)
    return ConversionKind::CrossCTA;
  EXPECT_STREQ(conversionKindName(conversion->kind), conversionKindName(*enumerated))
      << from.str() << " to " << to.str();
  if (conversion->source)
    to.forEach([&](const Point &position, const Point &element) {
      EXPECT_EQ(from.apply(conversion->source->apply(position)), element)
          << from.str() << " to " << to.str();
    });
  return conversion->kind;
}

Layout scores(int64_t columns) {
  MmaTiling tiling;
  tiling.warpsM = 4;
  tiling.repeatN = columns / 8;
  return *mmaTile(MmaOperand::C, 16, 16, tiling);
}

TEST(ConversionTest, ScoresToProbabilities) {
  for (int64_t columns : {64, 80, 112, 176}) {
    MmaTiling tiling;
    tiling.warpsM = 4;
    tiling.repeatK = columns / 16;
    EXPECT_EQ(kindOf(scores(columns), *mmaTile(MmaOperand::A, 16, 16, tiling)),
              ConversionKind::NoOp);
  }
  MmaTiling byte;
  byte.warpsM = 4;
  byte.repeatK = 2;
  EXPECT_EQ(kindOf(scores(64), *mmaTile(MmaOperand::A, 32, 8, byte)), ConversionKind::QuadShuffle);
  byte.repeatK = 8;
  EXPECT_EQ(kindOf(scores(64), *mmaTile(MmaOperand::A, 8, 32, byte)), ConversionKind::QuadShuffle);
}

TEST(ConversionTest, RegistersAndLanes) {
  Layout lanes = Layout::identity(Dim::Lane, Dim::Coord0, 32);
  Layout four = Layout::identity(Dim::Register, Dim::Coord1, 4) * lanes;
  auto swapped = Layout::create(
      {{Dim::Register, {{0, 2}, {0, 1}}}, {Dim::Lane, {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}}},
      {{Dim::Coord0, 32}, {Dim::Coord1, 4}});
  EXPECT_EQ(kindOf(four, four), ConversionKind::NoOp);
  EXPECT_EQ(kindOf(four, *swapped), ConversionKind::RegisterPermutation);
  auto select = Layout::create(
      {{Dim::Register, {{0, 1}, {0, 2}}}, {Dim::Lane, {{1, 1}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}}},
      {{Dim::Coord0, 32}, {Dim::Coord1, 4}});
  EXPECT_EQ(kindOf(four, *select), ConversionKind::RegisterSelect);
  auto quad = Layout::create(
      {{Dim::Register, {{0, 1}, {1, 0}}}, {Dim::Lane, {{0, 2}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}}},
      {{Dim::Coord0, 32}, {Dim::Coord1, 4}});
  EXPECT_EQ(kindOf(four, *quad), ConversionKind::QuadShuffle);
  auto warp = Layout::create(
      {{Dim::Register, {{0, 1}, {16, 0}}}, {Dim::Lane, {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 2}}}},
      {{Dim::Coord0, 32}, {Dim::Coord1, 4}});
  EXPECT_EQ(kindOf(four, *warp), ConversionKind::WarpShuffle);
  EXPECT_EQ(kindOf(matrixFragment(false), matrixFragment(true)), ConversionKind::WarpShuffle);
}

TEST(ConversionTest, WarpsAndCTAs) {
  Layout down = scores(64);
  MmaTiling across;
  across.warpsN = 4;
  across.repeatM = 4;
  across.repeatN = 2;
  EXPECT_EQ(kindOf(down, *mmaTile(MmaOperand::C, 16, 16, across)), ConversionKind::SharedMemory);
  EXPECT_EQ(kindOf(down, *blockedLayout(64, 64, 8, 4)), ConversionKind::SharedMemory);
  Layout split =
      Layout::identity(Dim::Register, Dim::Coord0, 2) * Layout::identity(Dim::CTA, Dim::Coord0, 2);
  Layout interleaved =
      Layout::identity(Dim::CTA, Dim::Coord0, 2) * Layout::identity(Dim::Register, Dim::Coord0, 2);
  EXPECT_EQ(kindOf(split, interleaved), ConversionKind::CrossCTA);
}

TEST(ConversionTest, Copies) {
  // A copy in each warp makes what would cross warps a no-op, and the other way it is one too: a
  // warp drops what it does not need.
  Layout one = Layout::identity(Dim::Register, Dim::Coord0, 4);
  Layout replicated = one * Layout::broadcast(Dim::Warp, 4);
  EXPECT_EQ(kindOf(replicated, one), ConversionKind::NoOp);
  EXPECT_EQ(kindOf(one, replicated), ConversionKind::SharedMemory);
  // Row statistics, held by all lanes of a quad, fit the accumulator's rows.
  Layout rows = scores(64).projectOutputs({Dim::Coord0});
  EXPECT_EQ(kindOf(rows.withoutBroadcast(Dim::Register), rows),
            ConversionKind::RegisterPermutation);
  EXPECT_EQ(kindOf(Layout::identity(Dim::Lane, Dim::Coord0, 4), one), ConversionKind::QuadShuffle);
  EXPECT_EQ(kindOf(Layout::identity(Dim::Lane, Dim::Coord0, 8),
                   Layout::identity(Dim::Register, Dim::Coord0, 8)),
            ConversionKind::WarpShuffle);
}

TEST(ConversionTest, DifferentDigits) {
  // 6 columns: registers 2 * 3, and a digit of 3 below a bit of another warp.
  Layout registers = Layout::identity(Dim::Register, Dim::Coord0, 6);
  Layout warps =
      Layout::identity(Dim::Register, Dim::Coord0, 3) * Layout::identity(Dim::Warp, Dim::Coord0, 2);
  auto conversion = classifyConversion(warps, registers);
  ASSERT_TRUE(conversion);
  EXPECT_EQ(conversion->kind, ConversionKind::SharedMemory);
  EXPECT_FALSE(conversion->source);
  EXPECT_EQ(kindOf(registers * Layout::broadcast(Dim::Warp, 2), warps),
            ConversionKind::RegisterSelect);
}

TEST(ConversionTest, Refusals) {
  std::string why;
  Layout four = Layout::identity(Dim::Register, Dim::Coord0, 4);
  EXPECT_FALSE(classifyConversion(four, Layout::identity(Dim::Register, Dim::Coord0, 8), &why));
  EXPECT_EQ(why, "expected equal sizes of coord0, got 4 and 8");
  auto half = Layout::create({{Dim::Register, {{2}}}}, {{Dim::Coord0, 4}});
  EXPECT_FALSE(classifyConversion(*half, four, &why));
  EXPECT_EQ(why, "the source layout does not hold every element of the result");
  EXPECT_EQ(kindOf(four, *half), ConversionKind::RegisterPermutation);
}

TEST(ConversionTest, RandomPairsAgreeWithEnumeration) {
  std::vector<int> seen(int(ConversionKind::CrossCTA) + 1);
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomLayouts random(seed);
    std::vector<Dim> hardware = {Dim::Register, Dim::Lane, Dim::Warp, Dim::CTA};
    // The fewer inputs there are, the more often the cheap kinds occur.
    hardware.resize(1 + seed % 4);
    Layout from = random.bijective(hardware, {Dim::Coord0, Dim::Coord1});
    Layout to = random.bijective(hardware, {Dim::Coord0, Dim::Coord1});
    ++seen[int(kindOf(from, to))];
    ++seen[int(kindOf(from * Layout::broadcast(Dim::Register, 4), to))];
    Layout wide = random.any(hardware, {Dim::Coord0});
    if (wide.isSurjective())
      ++seen[int(kindOf(wide, wide.projectOutputs({Dim::Coord0}).withoutBroadcast(Dim::Register)))];
  }
  for (ConversionKind kind : {ConversionKind::RegisterPermutation, ConversionKind::WarpShuffle,
                              ConversionKind::SharedMemory, ConversionKind::CrossCTA})
    EXPECT_GT(seen[int(kind)], 0) << conversionKindName(kind);
}

} // namespace
