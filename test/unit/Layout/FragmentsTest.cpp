//===- FragmentsTest.cpp - operands of mma.sync ---------------------------===//
//
// The expected positions are the tables of the PTX manual, with g = lane / 4 and t = lane % 4.
//
//===----------------------------------------------------------------------===//

#include "heddle/Layout/Fragments.h"
#include "LayoutTesting.h"
#include "heddle/Layout/LayoutQueries.h"
#include "heddle/Layout/SharedMemory.h"
#include <gtest/gtest.h>

using namespace heddle::layout;

namespace {

Layout fragment(MmaOperand operand, int k, int bits) { return *mmaFragment(operand, k, bits); }

TEST(FragmentsTest, M16N8K16OfSixteenBits) {
  Layout a = fragment(MmaOperand::A, 16, 16), b = fragment(MmaOperand::B, 16, 16);
  EXPECT_EQ(a.inSize(Dim::Register), 8);
  EXPECT_EQ(b.inSize(Dim::Register), 4);
  forEachLane([&](int g, int t) {
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(elementAt(a, i, g, t),
                Element(g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)));
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(elementAt(b, i, g, t), Element(2 * t + (i & 1) + 8 * (i >> 1), g));
  });
}

TEST(FragmentsTest, AccumulatorOfEveryShape) {
  for (auto [k, bits] : {std::pair(8, 16), std::pair(16, 16), std::pair(8, 32), std::pair(32, 8)}) {
    Layout c = fragment(MmaOperand::C, k, bits);
    EXPECT_EQ(c.inSize(Dim::Register), 4);
    forEachLane([&](int g, int t) {
      EXPECT_EQ(elementAt(c, 0, g, t), Element(g, 2 * t));
      EXPECT_EQ(elementAt(c, 1, g, t), Element(g, 2 * t + 1));
      EXPECT_EQ(elementAt(c, 2, g, t), Element(g + 8, 2 * t));
      EXPECT_EQ(elementAt(c, 3, g, t), Element(g + 8, 2 * t + 1));
    });
  }
}

TEST(FragmentsTest, M16N8K8OfSixteenBits) {
  Layout a = fragment(MmaOperand::A, 8, 16), b = fragment(MmaOperand::B, 8, 16);
  EXPECT_EQ(a.inSize(Dim::Register), 4);
  EXPECT_EQ(b.inSize(Dim::Register), 2);
  forEachLane([&](int g, int t) {
    for (int half = 0; half < 2; ++half) {
      EXPECT_EQ(elementAt(a, half, g, t), Element(g, 2 * t + half));         // R0
      EXPECT_EQ(elementAt(a, 2 + half, g, t), Element(g + 8, 2 * t + half)); // R1
      EXPECT_EQ(elementAt(b, half, g, t), Element(2 * t + half, g));
    }
  });
}

TEST(FragmentsTest, M16N8K8OfTF32) {
  Layout a = fragment(MmaOperand::A, 8, 32), b = fragment(MmaOperand::B, 8, 32);
  EXPECT_EQ(a.inSize(Dim::Register), 4);
  EXPECT_EQ(b.inSize(Dim::Register), 2);
  forEachLane([&](int g, int t) {
    EXPECT_EQ(elementAt(a, 0, g, t), Element(g, t));
    EXPECT_EQ(elementAt(a, 1, g, t), Element(g + 8, t));
    EXPECT_EQ(elementAt(a, 2, g, t), Element(g, t + 4));
    EXPECT_EQ(elementAt(a, 3, g, t), Element(g + 8, t + 4));
    EXPECT_EQ(elementAt(b, 0, g, t), Element(t, g));
    EXPECT_EQ(elementAt(b, 1, g, t), Element(t + 4, g));
  });
}

TEST(FragmentsTest, M16N8K32OfEightBits) {
  Layout a = fragment(MmaOperand::A, 32, 8), b = fragment(MmaOperand::B, 32, 8);
  EXPECT_EQ(a.inSize(Dim::Register), 16);
  EXPECT_EQ(b.inSize(Dim::Register), 8);
  forEachLane([&](int g, int t) {
    for (int byte = 0; byte < 4; ++byte) {
      EXPECT_EQ(elementAt(a, byte, g, t), Element(g, 4 * t + byte));
      EXPECT_EQ(elementAt(a, 4 + byte, g, t), Element(g + 8, 4 * t + byte));
      EXPECT_EQ(elementAt(a, 8 + byte, g, t), Element(g, 4 * t + 16 + byte));
      EXPECT_EQ(elementAt(a, 12 + byte, g, t), Element(g + 8, 4 * t + 16 + byte));
      EXPECT_EQ(elementAt(b, byte, g, t), Element(4 * t + byte, g));
      EXPECT_EQ(elementAt(b, 4 + byte, g, t), Element(4 * t + 16 + byte, g));
    }
  });
}

TEST(FragmentsTest, EveryElementOnceAndPairsPacked) {
  for (auto [k, bits] : {std::pair(8, 16), std::pair(16, 16), std::pair(8, 32), std::pair(32, 8)}) {
    Layout a = fragment(MmaOperand::A, k, bits), b = fragment(MmaOperand::B, k, bits);
    EXPECT_EQ(a.numElements(), 16 * k);
    EXPECT_EQ(b.numElements(), 8 * k);
    EXPECT_TRUE(coverage(a).isExact());
    EXPECT_TRUE(coverage(b).isExact());
    EXPECT_EQ(contiguousElements(a, Dim::Coord1).count, 32 / bits);
    EXPECT_EQ(contiguousElements(b, Dim::Coord0).count, 32 / bits);
  }
}

TEST(FragmentsTest, RefusesShapesThatDoNotExist) {
  std::string why;
  EXPECT_FALSE(mmaFragment(MmaOperand::A, 16, 32, &why));
  EXPECT_EQ(why, "mma.sync has no m16n8k16 for inputs of 32 bits; it has k8 and k16 of 16 bits, k8 "
                 "of 32 bits and k32 of 8 bits");
  EXPECT_FALSE(mmaTile(MmaOperand::A, 32, 16, {}, &why));
  EXPECT_FALSE(mmaTile(MmaOperand::A, 16, 16, {0, 1, 1, 1, 1}, &why));
  EXPECT_EQ(why, "expected warps and repeats between 1 and 4096, got 0");
}

TEST(FragmentsTest, AccumulatorsAreTheNextOperand) {
  // R0 = c[2j][0..1], R1 = c[2j][2..3], R2 = c[2j+1][0..1], R3 = c[2j+1][2..3].
  for (int64_t steps : {1, 4, 5, 7, 11}) {
    MmaTiling scores;
    scores.warpsM = 4;
    scores.repeatN = 2 * steps;
    MmaTiling probabilities;
    probabilities.warpsM = 4;
    probabilities.repeatK = steps;
    EXPECT_EQ(*mmaTile(MmaOperand::C, 16, 16, scores),
              *mmaTile(MmaOperand::A, 16, 16, probabilities));
  }
}

TEST(FragmentsTest, TilesComposeWithMemory) {
  for (int64_t warps : {1, 2, 4})
    for (int64_t repeat : {1, 2, 3, 5, 6, 7, 12, 36}) {
      MmaTiling tiling{2, warps, 3, repeat, 1, 2};
      Layout c = *mmaTile(MmaOperand::C, 16, 16, tiling);
      EXPECT_EQ(coverage(c), (Coverage{true, 2}));
      Layout memory = rowMajorTile(c.outSize(Dim::Coord0), c.outSize(Dim::Coord1));
      std::string why;
      EXPECT_TRUE(compose(*memory.inverse(), c, &why)) << why;
    }
}

TEST(FragmentsTest, TilesOfABlock) {
  MmaTiling tiling;
  tiling.warpsM = 2;
  tiling.warpsN = 2;
  tiling.repeatM = 2;
  tiling.repeatN = 5;
  tiling.repeatK = 3;
  Layout a = *mmaTile(MmaOperand::A, 16, 16, tiling), b = *mmaTile(MmaOperand::B, 16, 16, tiling);
  Layout c = *mmaTile(MmaOperand::C, 16, 16, tiling);
  EXPECT_EQ(a.numElements(), 64 * 48);
  EXPECT_EQ(b.numElements(), 48 * 80);
  EXPECT_EQ(c.numElements(), 64 * 80);
  EXPECT_EQ(coverage(a), (Coverage{true, 2}));
  EXPECT_EQ(coverage(b), (Coverage{true, 2}));
  EXPECT_TRUE(coverage(c).isExact());
  // Two fragments along M lie side by side; of the five along N each has the other warp's beside it.
  for (int warp = 0; warp < 4; ++warp) {
    int m0 = warp % 2 * 32, n0 = warp / 2 * 8;
    forEachLane([&](int g, int t) {
      for (int m = 0; m < 2; ++m) {
        for (int k = 0; k < 3; ++k)
          EXPECT_EQ(elementAt(a, (m * 3 + k) * 8 + 5, g, t, warp),
                    Element(m0 + 16 * m + g, 16 * k + 8 + 2 * t + 1));
        for (int n = 0; n < 5; ++n)
          EXPECT_EQ(elementAt(c, (m * 5 + n) * 4 + 2, g, t, warp),
                    Element(m0 + 16 * m + g + 8, n0 + 16 * n + 2 * t));
      }
      for (int n = 0; n < 5; ++n)
        for (int k = 0; k < 3; ++k)
          EXPECT_EQ(elementAt(b, (n * 3 + k) * 4 + 3, g, t, warp),
                    Element(16 * k + 8 + 2 * t + 1, n0 + 16 * n + g));
    });
  }
}

} // namespace
