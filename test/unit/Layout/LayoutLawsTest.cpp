//===- LayoutLawsTest.cpp - laws of the algebra on random layouts ---------===//

#include "LayoutTesting.h"
#include "heddle/Layout/LayoutQueries.h"
#include <gtest/gtest.h>
#include <map>

using namespace heddle::layout;

namespace {

const std::vector<Dim> hardware = {Dim::Register, Dim::Lane, Dim::Warp};
const std::vector<Dim> tile = {Dim::Coord0, Dim::Coord1};
/// Runs `check` on the layouts of a hundred seeds.
template <typename Check> void forEachSeed(Check check) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLayouts random(seed);
    check(random);
  }
}

TEST(LayoutLaws, CompositionIsApplication) {
  forEachSeed([](RandomLayouts &random) {
    Layout a = random.bijective(hardware, tile), b = random.bijective(hardware, tile);
    Layout back = *a.inverse();
    auto move = compose(back, b);
    ASSERT_TRUE(move) << a.str() << " and " << b.str();
    b.forEach([&](const Point &position, const Point &element) {
      EXPECT_EQ(move->apply(position), back.apply(element)) << a.str() << " and " << b.str();
    });
    auto same = compose(back, a);
    a.forEach([&](const Point &position, const Point &) {
      EXPECT_EQ(same->apply(position), position) << a.str();
    });
  });
}

TEST(LayoutLaws, CompositionIsAssociative) {
  forEachSeed([](RandomLayouts &random) {
    Layout a = random.bijective(hardware, tile), c = random.bijective(hardware, tile);
    Layout b = *random.bijective(hardware, tile).inverse();
    EXPECT_EQ(*compose(a, *compose(b, c)), *compose(*compose(a, b), c)) << a.str();
  });
}

TEST(LayoutLaws, InverseOfACompositionIsReversed) {
  forEachSeed([](RandomLayouts &random) {
    Layout a = random.bijective(hardware, tile), b = random.bijective(hardware, tile);
    Layout move = *compose(*a.inverse(), b);
    EXPECT_EQ(*move.inverse(), *compose(*b.inverse(), a)) << a.str() << " and " << b.str();
    EXPECT_EQ(*a.inverse()->inverse(), a) << a.str();
  });
}

TEST(LayoutLaws, LeftAndRightInverses) {
  forEachSeed([](RandomLayouts &random) {
    Layout layout = random.any(hardware, tile);
    if (auto left = layout.leftInverse()) {
      layout.forEach([&](const Point &position, const Point &element) {
        EXPECT_EQ(left->apply(element), position) << layout.str();
      });
    } else {
      EXPECT_FALSE(layout.isInjective());
    }
    if (auto right = layout.rightInverse()) {
      right->forEach([&](const Point &element, const Point &position) {
        EXPECT_EQ(layout.apply(position), element) << layout.str();
      });
    } else {
      EXPECT_FALSE(layout.isSurjective());
    }
  });
}

TEST(LayoutLaws, CoverageCountsPositions) {
  forEachSeed([](RandomLayouts &random) {
    Layout layout = random.any(hardware, tile);
    std::map<Element, int64_t> copies;
    layout.forEach([&](const Point &, const Point &element) {
      ++copies[{valueOf(element, Dim::Coord0), valueOf(element, Dim::Coord1)}];
    });
    Coverage cover = coverage(layout);
    EXPECT_EQ(cover.complete, int64_t(copies.size()) == layout.numElements()) << layout.str();
    for (auto [element, count] : copies) {
      EXPECT_EQ(count, cover.copies) << layout.str();
      EXPECT_LT(element.first, layout.outSize(Dim::Coord0));
      EXPECT_LT(element.second, layout.outSize(Dim::Coord1));
    }
  });
}

TEST(LayoutLaws, ProductPutsOuterAboveInner) {
  forEachSeed([](RandomLayouts &random) {
    Layout inner = random.any(hardware, tile), outer = random.any(hardware, tile);
    Layout product = inner * outer;
    for (int sample = 0; sample < 200; ++sample) {
      Point low, high, position;
      for (Dim dim : hardware) {
        low.push_back({dim, random.below(inner.inSize(dim))});
        high.push_back({dim, random.below(outer.inSize(dim))});
        position.push_back({dim, low.back().value + inner.inSize(dim) * high.back().value});
      }
      Point element = product.apply(position);
      Element a = elementAt(inner, low), b = elementAt(outer, high);
      EXPECT_EQ(valueOf(element, Dim::Coord0), a.first + b.first * inner.outSize(Dim::Coord0))
          << inner.str() << " * " << outer.str();
      EXPECT_EQ(valueOf(element, Dim::Coord1), a.second + b.second * inner.outSize(Dim::Coord1))
          << inner.str() << " * " << outer.str();
    }
  });
}

TEST(LayoutLaws, RestrictionsAndProjections) {
  forEachSeed([](RandomLayouts &random) {
    Layout layout = random.any(hardware, tile);
    Layout registers = layout.restrictInputs({Dim::Register, Dim::Warp});
    registers.forEach([&](const Point &position, const Point &element) {
      EXPECT_EQ(element, layout.apply(position)) << layout.str();
    });
    Layout columns = layout.projectOutputs({Dim::Coord1});
    columns.forEach([&](const Point &position, const Point &element) {
      EXPECT_EQ(valueOf(element, Dim::Coord1), valueOf(layout.apply(position), Dim::Coord1));
    });
    for (int64_t size = 1; size <= layout.inSize(Dim::Register); ++size) {
      auto part = layout.restrictInput(Dim::Register, size);
      if (!part)
        continue;
      EXPECT_EQ(part->inSize(Dim::Register), size) << layout.str();
      part->forEach([&](const Point &position, const Point &element) {
        EXPECT_EQ(element, layout.apply(position)) << layout.str() << " below " << size;
      });
    }
    Layout transposed =
        layout.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
    layout.forEach([&](const Point &position, const Point &) {
      Element element = elementAt(layout, position);
      EXPECT_EQ(elementAt(transposed, position), Element(element.second, element.first));
    });
  });
}

TEST(LayoutLaws, BroadcastRegistersCanGo) {
  forEachSeed([](RandomLayouts &random) {
    Layout layout =
        random.any({Dim::Register}, {Dim::Coord0, Dim::Coord1}).projectOutputs({Dim::Coord1});
    Layout packed = layout.withoutBroadcast(Dim::Register);
    std::map<int64_t, int64_t> before, after;
    layout.forEach([&](const Point &, const Point &e) { ++before[valueOf(e, Dim::Coord1)]; });
    packed.forEach([&](const Point &, const Point &e) { ++after[valueOf(e, Dim::Coord1)]; });
    ASSERT_EQ(before.size(), after.size()) << layout.str();
    int64_t factor = layout.numPositions() / packed.numPositions();
    for (auto [element, count] : before)
      EXPECT_EQ(count, after[element] * factor) << layout.str();
    EXPECT_EQ(broadcastMask(packed, Dim::Register), 0);
  });
}

TEST(LayoutLaws, EqualityIsEqualityOfMaps) {
  forEachSeed([](RandomLayouts &random) {
    Layout a = random.any(hardware, tile), b = random.any(hardware, tile);
    EXPECT_TRUE(sameMap(a, a));
    bool equal = a.inSize(Dim::Register) == b.inSize(Dim::Register) &&
                 a.inSize(Dim::Lane) == b.inSize(Dim::Lane) &&
                 a.inSize(Dim::Warp) == b.inSize(Dim::Warp) &&
                 a.outSize(Dim::Coord0) == b.outSize(Dim::Coord0) &&
                 a.outSize(Dim::Coord1) == b.outSize(Dim::Coord1);
    if (equal)
      a.forEach([&](const Point &p, const Point &e) { equal = equal && e == b.apply(p); });
    EXPECT_EQ(sameMap(a, b), equal) << a.str() << " and " << b.str();
  });
}

} // namespace
