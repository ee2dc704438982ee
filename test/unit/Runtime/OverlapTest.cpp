//===- OverlapTest.cpp - the overlap tests against enumeration ------------===//

#include "Overlap.h"
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace heddle::rt;

namespace {

struct Strided {
  uint64_t address;
  std::vector<int64_t> sizes, strides;

  Footprint footprint() const {
    return {address, sizes.data(), strides.data(), int64_t(sizes.size()), 1};
  }

  /// All addresses, with repetitions.
  std::multiset<uint64_t> addresses() const {
    std::multiset<uint64_t> all = {address};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::multiset<uint64_t> next;
      for (uint64_t base : all)
        for (int64_t i = 0; i < sizes[d]; ++i)
          next.insert(base + uint64_t(i * strides[d]));
      all.swap(next);
    }
    return all;
  }
};

uint64_t state = 7;
int64_t draw(int64_t limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return int64_t((state >> 33) % uint64_t(limit));
}

Strided randomTensor() {
  constexpr int64_t strides[] = {0, 1, 2, 3, 4, 8, 12, 16, 24};
  Strided tensor{uint64_t(100 + draw(20)), {}, {}};
  for (int64_t d = 0, rank = 1 + draw(3); d < rank; ++d) {
    tensor.sizes.push_back(1 + draw(4));
    tensor.strides.push_back(strides[draw(9)]);
  }
  return tensor;
}

TEST(OverlapTest, NeverMissesAnOverlap) {
  int selfApart = 0, apart = 0;
  for (int i = 0; i < 20000; ++i) {
    Strided a = randomTensor(), b = randomTensor();
    std::multiset<uint64_t> ofA = a.addresses(), ofB = b.addresses();
    std::set<uint64_t> unique(ofA.begin(), ofA.end());
    bool selfOverlap = unique.size() != ofA.size();
    if (!overlapsItself(a.footprint())) {
      ++selfApart;
      ASSERT_FALSE(selfOverlap);
    }
    bool meet = false;
    for (uint64_t address : ofB)
      meet |= unique.count(address) != 0;
    if (!overlaps(a.footprint(), b.footprint())) {
      ++apart;
      ASSERT_FALSE(meet);
    }
    EXPECT_EQ(overlaps(a.footprint(), b.footprint()), overlaps(b.footprint(), a.footprint()));
  }
  EXPECT_GT(selfApart, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(OverlapTest, TellsKeysFromValuesInOneBuffer) {
  // [batch 2, seq 5, 2, heads 3, dim 4]
  Strided keys{1000, {2, 5, 3, 4}, {120, 24, 4, 1}};
  Strided values{1012, {2, 5, 3, 4}, {120, 24, 4, 1}};
  EXPECT_FALSE(overlaps(keys.footprint(), values.footprint()));
  values.address = 1011;
  EXPECT_TRUE(overlaps(keys.footprint(), values.footprint()));
}

} // namespace
