//===- WarpOpsTest.cpp - shuffles, votes, matches, reductions -------------===//

#include "Kernels.h"
#include <cstring>

using namespace heddle::test;

namespace {

/// Runs `get` on a warp and returns what each lane got.
template <typename T> std::vector<T> onWarp(std::function<T(Lane)> get, uint64_t seed = 0) {
  std::vector<T> values(32);
  Launch launch;
  launch.seed = seed;
  Result result = run(launch, [&](Lane lane) { values[lane.lane()] = get(lane); });
  EXPECT_TRUE(result.isClean());
  return values;
}

/// What shfl gives by the CUDA guide's description: `width` lanes exchange, and a lane whose source
/// is outside keeps its value.
uint32_t expectedSource(uint32_t mode, uint32_t lane, uint32_t by, uint32_t width, bool &inRange) {
  int base = int(lane / width * width), inside = int(lane % width), source = 0;
  switch (mode) {
  case HEDDLE_SIM_SHUFFLE_UP:
    source = inside - int(by);
    inRange = source >= 0;
    break;
  case HEDDLE_SIM_SHUFFLE_DOWN:
    source = inside + int(by);
    inRange = source < int(width);
    break;
  case HEDDLE_SIM_SHUFFLE_BFLY:
    // A partner in a later segment is out of reach; one in an earlier segment is not.
    source = (int(lane) ^ int(by)) - base;
    inRange = source < int(width);
    break;
  default:
    source = int(by % width);
    inRange = true;
    break;
  }
  return uint32_t(base + (inRange ? source : inside));
}

TEST(WarpOpsTest, ShufflesOfAllModesAndWidths) {
  for (uint32_t mode = 0; mode < 4; ++mode)
    for (uint32_t width : {2u, 4u, 8u, 16u, 32u})
      for (uint32_t by = 0; by < 32; ++by) {
        uint32_t clamp = (32 - width) << 8 | (mode == HEDDLE_SIM_SHUFFLE_UP ? 0 : 31);
        std::vector<uint32_t> got = onWarp<uint32_t>(
            [&](Lane lane) {
              uint8_t inRange = 2;
              uint32_t value = heddle_sim_shuffle_i32(lane.self, 0, mode, ~0u, 100 + lane.lane(),
                                                      by, clamp, &inRange);
              return value * 2 + inRange;
            },
            by);
        for (uint32_t lane = 0; lane < 32; ++lane) {
          bool inRange;
          uint32_t source = expectedSource(mode, lane, by, width, inRange);
          ASSERT_EQ(got[lane], (100 + source) * 2 + inRange)
              << "mode " << mode << " width " << width << " by " << by << " lane " << lane;
        }
      }
}

TEST(WarpOpsTest, FloatShufflesKeepBits) {
  auto bits = [](float value) {
    uint32_t result;
    std::memcpy(&result, &value, 4);
    return result;
  };
  float payload;
  uint32_t pattern = 0x7fa00001; // a signalling NaN
  std::memcpy(&payload, &pattern, 4);
  std::vector<uint32_t> got = onWarp<uint32_t>([&](Lane lane) {
    return bits(lane.bfly(0, lane.lane() == 3 ? payload : float(lane.lane()), 1));
  });
  EXPECT_EQ(got[2] | 0x400000, pattern | 0x400000);
  EXPECT_EQ(got[7], bits(6.0f));
}

TEST(WarpOpsTest, LaneIndexMayDifferByLane) {
  std::vector<uint32_t> got = onWarp<uint32_t>([](Lane lane) {
    return heddle_sim_shuffle_i32(lane.self, 0, HEDDLE_SIM_SHUFFLE_IDX, ~0u, lane.lane() * 3,
                                  31 - lane.lane(), 31, nullptr);
  });
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], (31 - lane) * 3);
}

TEST(WarpOpsTest, RowReduction) {
  std::vector<float> got = onWarp<float>([](Lane lane) {
    float sum = float(lane.lane());
    for (uint32_t step : {1u, 2u})
      sum += lane.bfly(step, sum, step);
    return sum;
  });
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], float(lane / 4 * 4 * 4 + 6));
}

TEST(WarpOpsTest, Votes) {
  auto vote = [](uint32_t mode, uint32_t predicates) {
    return onWarp<uint32_t>([=](Lane lane) {
      return heddle_sim_vote(lane.self, 0, mode, ~0u, predicates >> lane.lane() & 1);
    })[5];
  };
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_ALL, ~0u), 1u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_ALL, ~4u), 0u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_ANY, 4), 1u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_ANY, 0), 0u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_UNI, 0), 1u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_UNI, ~0u), 1u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_UNI, 1), 0u);
  EXPECT_EQ(vote(HEDDLE_SIM_VOTE_BALLOT, 0x80f01234), 0x80f01234u);
}

TEST(WarpOpsTest, Matches) {
  std::vector<uint32_t> any = onWarp<uint32_t>(
      [](Lane lane) { return heddle_sim_match_any(lane.self, 0, ~0u, lane.lane() % 4); });
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(any[lane], 0x11111111u << lane % 4);
  auto all = [](uint32_t different) {
    return onWarp<uint32_t>([=](Lane lane) {
      return heddle_sim_match_all(lane.self, 0, ~0u, lane.lane() == different);
    })[9];
  };
  EXPECT_EQ(all(99), ~0u);
  EXPECT_EQ(all(9), 0u);
}

TEST(WarpOpsTest, IntegerReductions) {
  auto redux = [](uint32_t kind) {
    return onWarp<uint32_t>(
        [=](Lane lane) { return heddle_sim_redux(lane.self, 0, kind, ~0u, lane.lane() - 10); })[31];
  };
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_ADD), uint32_t(31 * 16 - 320));
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_MIN_S32), uint32_t(-10));
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_MAX_S32), 21u);
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_MIN_U32), 0u);
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_MAX_U32), uint32_t(-1));
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_AND), 0u);
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_OR), ~0u);
  EXPECT_EQ(redux(HEDDLE_SIM_REDUX_XOR), 0u);
}

} // namespace
