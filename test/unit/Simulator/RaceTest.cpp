//===- RaceTest.cpp - unordered accesses of shared memory -----------------===//
//
// Every defect comes with the same kernel put right, and with orders of lanes and warps in which the
// result happens to be right as well.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include <gmock/gmock.h>

using namespace heddle::test;
using testing::HasSubstr;

namespace {

constexpr uint32_t kSeeds = 4;

Launch launchOf(uint32_t threads, uint64_t seed) {
  Launch launch;
  launch.threads = threads;
  launch.shared = 8192;
  launch.seed = seed;
  return launch;
}

void expectRace(uint32_t threads, const Kernel &kernel, uint32_t op, uint32_t otherOp) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Launch launch = launchOf(threads, seed);
    // In some orders the read comes before any write.
    launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_UNINITIALIZED);
    Result result = run(launch, kernel);
    const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
    // Which of the two comes first depends on the order.
    EXPECT_TRUE((report.op == op && report.other_op == otherOp) ||
                (report.op == otherOp && report.other_op == op))
        << result.text();
  }
}

void expectClean(uint32_t threads, const Kernel &kernel) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_TRUE(run(launchOf(threads, seed), kernel).isClean());
}

/// Threads write their word, then read that of thread t ^ flip.
Kernel exchange(uint32_t flip, std::function<void(Lane)> between) {
  return [=](Lane lane) {
    lane.storeShared<uint32_t>(0, lane.tid() * 4, lane.tid());
    between(lane);
    lane.loadShared<uint32_t>(1, (lane.tid() ^ flip) * 4);
  };
}

TEST(RaceTest, ReadAfterWriteOfAnotherWarp) {
  expectClean(64, exchange(32, [](Lane lane) { lane.barrier(2); }));
  // A warp sync orders nothing between warps.
  auto kernel = [](Lane lane) {
    if (lane.warp() == 0)
      lane.storeShared<uint32_t>(0, lane.lane() * 4, 1);
    lane.warpSync(2);
    if (lane.warp() == 1)
      lane.loadShared<uint32_t>(1, lane.lane() * 4);
  };
  Launch launch = launchOf(64, 0);
  Result result = run(launch, kernel);
  const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
  // The lane that came to the warp sync last is the first to go on.
  EXPECT_EQ(report.thread, 63u);
  EXPECT_EQ(report.other_thread, 31u);
  EXPECT_EQ(report.count, 32u);
  EXPECT_EQ(report.address, 124u);
  EXPECT_EQ(report.value, 1u);
  EXPECT_THAT(result.text(),
              HasSubstr("thread 63 (warp 1, lane 31) at op 1 'b' reads 4 bytes at shared address "
                        "0x7c, which was written by thread 31 (warp 0, lane 31) at op 0 'a' with "
                        "no barrier in between"));
  launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_RACES);
  EXPECT_TRUE(run(launch, kernel).isClean());
}

TEST(RaceTest, ReadAfterWriteWithinAWarp) {
  expectClean(32, exchange(1, [](Lane lane) { lane.warpSync(2); }));
  // Shuffles, votes and mma make lanes meet but order no memory.
  expectRace(32, exchange(1, [](Lane lane) { lane.bfly(2, 0, 1); }), 1, 0);
  expectRace(32, exchange(1, [](Lane lane) { heddle_sim_vote(lane.self, 2, 0, ~0u, 1); }), 1, 0);
  expectRace(32,
             exchange(1,
                      [](Lane lane) {
                        uint32_t a[4] = {}, b[2] = {};
                        float c[4] = {};
                        heddle_sim_mma(lane.self, 2, HEDDLE_SIM_MMA_M16N8K16_F16, a, b, c, c);
                      }),
             1, 0);
}

TEST(RaceTest, PartialWarpSync) {
  // Pairs of lanes synchronise: enough for a neighbour, not for the lane after it.
  auto pairs = [](Lane lane) { lane.warpSync(2, 3u << (lane.lane() & ~1u)); };
  expectClean(32, exchange(1, pairs));
  expectRace(32, exchange(2, pairs), 1, 0);
  // In two steps the news gets to the lane after it.
  expectClean(32, exchange(3, [](Lane lane) {
                lane.warpSync(2, 3u << (lane.lane() & ~1u));
                lane.warpSync(3, (lane.lane() & 1) ? 0xaaaaaaaau : 0x55555555u);
              }));
}

TEST(RaceTest, WriteAfterRead) {
  auto kernel = [](bool barrier) {
    return [=](Lane lane) {
      if (lane.warp() == 0)
        lane.storeShared<uint32_t>(0, lane.lane() * 4, 1);
      lane.barrier(2);
      lane.loadShared<uint32_t>(1, lane.lane() * 4);
      if (barrier)
        lane.barrier(3);
      if (lane.warp() == 2)
        lane.storeShared<uint32_t>(4, lane.lane() * 4, 2);
    };
  };
  expectClean(96, kernel(true));
  expectRace(96, kernel(false), 4, 1);
}

TEST(RaceTest, TwoWriters) {
  expectClean(64, [](Lane lane) { lane.storeShared<uint32_t>(0, lane.tid() * 4, 1); });
  expectRace(64, [](Lane lane) { lane.storeShared<uint32_t>(0, lane.lane() * 4, 1); }, 0, 0);
  expectRace(32, [](Lane lane) { lane.storeShared<uint32_t>(0, lane.lane() / 2 * 4, 1); }, 0, 0);
}

TEST(RaceTest, BytesOfAWordAreSeparate) {
  expectClean(64, [](Lane lane) { lane.storeShared<uint8_t>(0, lane.tid(), 1); });
  expectClean(64, [](Lane lane) {
    lane.storeShared<uint16_t>(0, lane.tid() * 2, 1);
    lane.loadShared<uint16_t>(1, lane.tid() * 2);
    lane.barrier(2);
    lane.loadShared<uint32_t>(3, lane.lane() * 4);
  });
  expectRace(
      64,
      [](Lane lane) {
        lane.storeShared<uint16_t>(0, lane.tid() * 2, 1);
        lane.barrier(2);
        if (lane.tid() == 0)
          lane.loadShared<uint32_t>(3, 0);
        if (lane.tid() == 33)
          lane.storeShared<uint8_t>(4, 3, 1);
      },
      3, 4);
}

TEST(RaceTest, SplitLinesRememberTheirReaders) {
  struct Quad {
    uint32_t words[4];
  };
  auto kernel = [](bool barrier) {
    return [=](Lane lane) {
      if (lane.tid() == 0)
        lane.storeShared(0, 0, Quad{{1, 2, 3, 4}});
      lane.barrier(2);
      if (lane.lane() == 0 && lane.warp() < 3)
        lane.loadShared<Quad>(1, 0);
      if (barrier)
        lane.barrier(3);
      if (lane.tid() == 96)
        lane.storeShared<uint32_t>(4, 8, 1);
    };
  };
  expectClean(128, kernel(true));
  expectRace(128, kernel(false), 4, 1);
}

TEST(RaceTest, NamedBarrierOrdersItsUsersOnly) {
  // Warps 0 and 1 use barrier 1; warp 2 reads what they wrote.
  auto kernel = [](bool thirdComes) {
    return [=](Lane lane) {
      uint32_t threads = thirdComes ? 96 : 64;
      if (lane.warp() < 2)
        lane.storeShared<uint32_t>(0, lane.tid() * 4, lane.tid());
      if (lane.warp() < 2 || thirdComes)
        lane.barrier(2, 1, threads);
      if (lane.warp() < 2)
        lane.loadShared<uint32_t>(3, (lane.tid() ^ 32) * 4);
      else
        lane.loadShared<uint32_t>(1, lane.lane() * 4);
    };
  };
  expectClean(96, kernel(true));
  Launch launch = launchOf(96, 0);
  launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_UNINITIALIZED);
  run(launch, kernel(false)).only(HEDDLE_SIM_RACE);
}

TEST(RaceTest, OrderIsHandedOnThroughAThirdWarp) {
  auto kernel = [](bool chained) {
    return [=](Lane lane) {
      switch (lane.warp()) {
      case 0:
        lane.storeShared<uint32_t>(0, lane.lane() * 4, 7);
        lane.barrier(2, 1, 64);
        break;
      case 1:
        if (chained)
          lane.barrier(2, 1, 64);
        lane.barrier(3, 2, 64);
        if (!chained)
          lane.barrier(2, 1, 64);
        break;
      default:
        lane.barrier(3, 2, 64);
        lane.loadShared<uint32_t>(1, lane.lane() * 4);
      }
    };
  };
  expectClean(96, kernel(true));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Launch launch = launchOf(96, seed);
    launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_UNINITIALIZED);
    run(launch, kernel(false)).only(HEDDLE_SIM_RACE);
  }
}

/// A producer warp fills two buffers again and again for a consumer warp: "full" barriers 1 and 2,
/// "empty" barriers 3 and 4.
Kernel ring(bool arrivesTooEarly) {
  return [=](Lane lane) {
    constexpr uint32_t rounds = 6;
    for (uint32_t i = 0; i < rounds; ++i) {
      uint32_t stage = i & 1, address = stage * 128 + lane.lane() * 4;
      if (lane.warp() == 0) {
        if (i >= 2)
          lane.barrier(0, 3 + stage, 64);
        lane.storeShared<uint32_t>(1, address, i * 100 + lane.lane());
        lane.arrive(2, 1 + stage, 64);
      } else {
        lane.barrier(3, 1 + stage, 64);
        if (arrivesTooEarly && i + 2 < rounds)
          lane.arrive(5, 3 + stage, 64);
        uint32_t other = stage * 128 + (lane.lane() ^ 5) * 4;
        EXPECT_EQ(lane.loadShared<uint32_t>(4, other), i * 100 + (lane.lane() ^ 5));
        if (!arrivesTooEarly && i + 2 < rounds)
          lane.arrive(5, 3 + stage, 64);
      }
    }
  };
}

TEST(RaceTest, ProducerAndConsumer) { expectClean(64, ring(false)); }

TEST(RaceTest, ConsumerFreesABufferTooEarly) {
  Result result = run(launchOf(64, 0), ring(true));
  const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
  EXPECT_EQ(std::min(report.op, report.other_op), 1u);
  EXPECT_EQ(std::max(report.op, report.other_op), 4u);
}

TEST(RaceTest, ArriveDoesNotOrderTheLanesOfAWarp) {
  auto kernel = [](bool sync) {
    return exchange(1, [=](Lane lane) {
      lane.arrive(2, 1, 32);
      if (sync)
        lane.warpSync(3);
    });
  };
  expectClean(32, kernel(true));
  expectRace(32, kernel(false), 1, 0);
}

TEST(RaceTest, AtomicsRaceWithPlainAccessesOnly) {
  auto kernel = [](bool barrier) {
    return [=](Lane lane) {
      if (lane.tid() == 0)
        lane.storeShared<uint32_t>(0, 0, 0);
      lane.barrier(1);
      heddle_sim_atomic(lane.self, 2, HEDDLE_SIM_SHARED, HEDDLE_SIM_ATOMIC_ADD_I32,
                        HEDDLE_SIM_RELAXED, 0, 1);
      if (barrier)
        lane.barrier(3);
      if (lane.tid() == 40)
        lane.loadShared<uint32_t>(4, 0);
    };
  };
  expectClean(64, kernel(true));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Result result = run(launchOf(64, seed), kernel(false));
    ASSERT_GE(result->num_reports, 1u);
    EXPECT_EQ(result->reports[0].kind, uint32_t(HEDDLE_SIM_RACE));
  }
}

TEST(RaceTest, LdmatrixReadsAsTheWholeWarp) {
  // Each lane writes the row that it names itself: still all lanes read it.
  auto kernel = [](bool before, bool after) {
    return [=](Lane lane) {
      struct Row {
        uint32_t words[4];
      };
      uint32_t address = lane.lane() * 16, registers[4];
      lane.storeShared(0, address, Row{{lane.lane(), 1, 2, 3}});
      if (before)
        lane.warpSync(2);
      heddle_sim_ldmatrix(lane.self, 1, 4, 0, address, registers);
      if (after)
        lane.warpSync(3);
      lane.storeShared(4, address, Row{{0, 0, 0, 0}});
    };
  };
  expectClean(32, kernel(true, true));
  expectRace(32, kernel(false, true), 1, 0);
  expectRace(32, kernel(true, false), 4, 1);
}

} // namespace
