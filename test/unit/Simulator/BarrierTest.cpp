//===- BarrierTest.cpp - barriers, divergence and deadlock ----------------===//

#include "Kernels.h"
#include <gmock/gmock.h>

using namespace heddle::test;
using testing::HasSubstr;

namespace {

Launch launchOf(uint32_t threads, uint64_t seed = 0) {
  Launch launch;
  launch.threads = threads;
  launch.seed = seed;
  return launch;
}

TEST(BarrierTest, NobodyPassesBeforeAllHaveCome) {
  for (uint32_t threads : {1u, 32u, 48u, 1024u})
    for (uint64_t seed = 0; seed < 3; ++seed) {
      uint32_t came = 0;
      Result result = run(launchOf(threads, seed), [&](Lane lane) {
        for (uint32_t round = 1; round <= 3; ++round) {
          ++came;
          lane.barrier(0);
          EXPECT_EQ(came, round * threads);
          lane.barrier(1);
        }
      });
      EXPECT_TRUE(result.isClean());
      EXPECT_EQ(result.counters(0).barrier_waits, 3u * ((threads + 31) / 32));
    }
}

TEST(BarrierTest, ExitedThreadsNeedNotCome) {
  uint32_t passed = 0;
  Result result = run(launchOf(128), [&](Lane lane) {
    // A warp and a half are gone.
    if (lane.tid() < 48)
      return;
    lane.barrier(0);
    ++passed;
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(passed, 80u);
}

TEST(BarrierTest, Reductions) {
  uint32_t wrong = 0;
  Result result = run(launchOf(96), [&](Lane lane) {
    auto reduce = [&](uint32_t op, uint32_t kind, bool predicate) {
      return heddle_sim_barrier_reduce(lane.self, op, 2, 96, kind, predicate);
    };
    wrong += reduce(0, HEDDLE_SIM_BARRIER_OR, lane.tid() == 77) != 1;
    wrong += reduce(1, HEDDLE_SIM_BARRIER_OR, false) != 0;
    wrong += reduce(2, HEDDLE_SIM_BARRIER_AND, lane.tid() != 77) != 0;
    wrong += reduce(3, HEDDLE_SIM_BARRIER_AND, true) != 1;
    wrong += reduce(4, HEDDLE_SIM_BARRIER_POPC, lane.tid() % 3 == 0) != 32;
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(wrong, 0u);
}

/// Runs a kernel that misuses a barrier and expects the text in the only report.
void expectMisuse(uint32_t threads, const char *text, const Kernel &kernel) {
  Result result = run(launchOf(threads), kernel);
  result.only(HEDDLE_SIM_BARRIER_MISUSE);
  EXPECT_THAT(result.text(), HasSubstr(text));
}

TEST(BarrierTest, Misuse) {
  expectMisuse(64, "barrier 16 does not exist; ids are 0 to 15",
               [](Lane lane) { lane.barrier(0, 16, 64); });
  expectMisuse(64, "barrier 1: the count 40 is not a positive multiple of 32",
               [](Lane lane) { lane.barrier(0, 1, 40); });
  expectMisuse(64, "barrier 1: the count 0 is not a positive multiple of 32",
               [](Lane lane) { lane.arrive(0, 1, 0); });
  expectMisuse(64, "barrier 1: the count 96 is more than the CTA's 64 threads",
               [](Lane lane) { lane.barrier(0, 1, 96); });
  expectMisuse(128, "barrier 1 is for 64 threads here, but for 128 at op 0 'a'",
               [](Lane lane) { lane.barrier(lane.warp(), 1, lane.warp() ? 64 : 128); });
  expectMisuse(64, "lanes of the warp name different barriers or counts",
               [](Lane lane) { lane.barrier(0, lane.lane() & 1, 64); });
  expectMisuse(64, "warp 0 comes to barrier 1 again before it is complete: 32 of 64",
               [](Lane lane) {
                 lane.arrive(0, 1, 64);
                 lane.barrier(1, 1, 64);
               });
  expectMisuse(64, "barrier 0 is used by bar.red and by bar.sync or bar.arrive at once",
               [](Lane lane) {
                 if (lane.warp())
                   lane.barrier(0);
                 else
                   heddle_sim_barrier_reduce(lane.self, 1, 0, 0, HEDDLE_SIM_BARRIER_OR, 1);
               });
}

TEST(BarrierTest, LeftWithThreadsCountedIn) {
  auto kernel = [](bool second) {
    return [=](Lane lane) {
      if (lane.warp() == 0)
        lane.arrive(0, 3, 64);
      else if (second)
        lane.barrier(1, 3, 64);
    };
  };
  EXPECT_TRUE(run(launchOf(64), kernel(true)).isClean());
  expectMisuse(64, "at barrier 3, first come to at op 0 'a', 32 of 64 threads have come",
               kernel(false));
}

TEST(BarrierTest, DivergentBarrier) {
  auto kernel = [](bool diverges) {
    return [=](Lane lane) {
      if (diverges && lane.lane() < 8)
        lane.barrier(0);
      else
        lane.barrier(1);
    };
  };
  EXPECT_TRUE(run(launchOf(64), kernel(false)).isClean());
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Result result = run(launchOf(32, seed), kernel(true));
    const heddle_sim_report &report = result.only(HEDDLE_SIM_DIVERGENT_BARRIER);
    EXPECT_EQ(report.op, 0u);
    EXPECT_EQ(report.other_op, 1u);
    EXPECT_EQ(report.other_thread, 8u);
    EXPECT_THAT(result.text(),
                HasSubstr("lanes 0-7 wait at op 0 'a'; lanes 8-31 wait at op 1 'b'"));
  }
}

TEST(BarrierTest, DivergentCollectives) {
  Result result = run(launchOf(32), [](Lane lane) {
    if (lane.lane() & 1)
      lane.bfly(0, 1.0f, 2);
    else
      lane.warpSync(1, 0xffffffff);
  });
  result.only(HEDDLE_SIM_DIVERGENT_COLLECTIVE);
  result = run(launchOf(32), [](Lane lane) {
    if (lane.lane() != 4)
      lane.bfly(0, 1.0f, 2);
  });
  // The lane that exited is not waited for; reading from it is the defect.
  EXPECT_EQ(result.only(HEDDLE_SIM_INVALID_OPERAND).other_thread, 4u);
  EXPECT_THAT(result.text(), HasSubstr("reads from lane 4, which takes no part"));
  result = run(launchOf(32), [](Lane lane) { lane.warpSync(0, 0xfffffffe); });
  result.only(HEDDLE_SIM_INVALID_OPERAND);
  EXPECT_THAT(result.text(), HasSubstr("is not in the mask 0xfffffffe that it gives"));
}

TEST(BarrierTest, MatrixInstructionsNeedAllLanes) {
  auto kernel = [](uint32_t lanes) {
    return [=](Lane lane) {
      uint32_t a[4] = {}, b[2] = {};
      float c[4] = {};
      if (lane.lane() < lanes)
        heddle_sim_mma(lane.self, 0, HEDDLE_SIM_MMA_M16N8K16_BF16, a, b, c, c);
    };
  };
  EXPECT_TRUE(run(launchOf(64), kernel(32)).isClean());
  Result result = run(launchOf(64), kernel(31));
  EXPECT_EQ(result.only(HEDDLE_SIM_DIVERGENT_COLLECTIVE).other_thread, 31u);
  EXPECT_THAT(result.text(), HasSubstr("lanes 0-30 wait at op 0 'a'; lane 31 has exited"));
  result = run(launchOf(16), kernel(32));
  result.only(HEDDLE_SIM_DIVERGENT_COLLECTIVE);
  EXPECT_THAT(result.text(), HasSubstr("lanes 16-31 do not exist"));
}

TEST(BarrierTest, PartsOfAWarpMayMeetApart) {
  Result result = run(launchOf(32), [](Lane lane) {
    uint32_t half = lane.lane() < 16 ? 0xffffu : 0xffff0000u;
    uint32_t sum = 0;
    if (lane.lane() < 16)
      sum = heddle_sim_redux(lane.self, 0, HEDDLE_SIM_REDUX_ADD, half, 1);
    else
      sum = heddle_sim_redux(lane.self, 1, HEDDLE_SIM_REDUX_ADD, half, 2);
    EXPECT_EQ(sum, lane.lane() < 16 ? 16u : 32u);
  });
  EXPECT_TRUE(result.isClean());
}

TEST(BarrierTest, DeadlockSaysWhoWaitsWhere) {
  auto kernel = [](bool crossed) {
    return [=](Lane lane) {
      if (lane.warp() == 2)
        return;
      uint32_t first = crossed && lane.warp() ? 2 : 1;
      lane.barrier(first - 1, first, 64);
      lane.barrier(2 - first, 3 - first, 64);
    };
  };
  EXPECT_TRUE(run(launchOf(96), kernel(false)).isClean());
  Result result = run(launchOf(96), kernel(true));
  result.only(HEDDLE_SIM_DEADLOCK);
  EXPECT_EQ(result.text(),
            "deadlock in CTA (0, 0, 0): all threads wait: warp 0 waits at barrier 1, first come to "
            "at op 0 'a', where 32 of 64 threads have come; warp 1 waits at barrier 2, first come "
            "to at op 1 'b', where 32 of 64 threads have come; warp 2 has exited\n");
}

TEST(BarrierTest, PollingEndsWhenTheOtherThreadRuns) {
  std::vector<uint32_t> flag(1);
  Launch launch = launchOf(64);
  launch.buffers = {bufferOf("flag", flag)};
  auto kernel = [&](uint32_t setter) {
    return [&, setter](Lane lane) {
      if (lane.tid() == setter)
        lane.storeStrong(0, &flag[0], 1u);
      else if (lane.tid() == 0)
        while (lane.loadStrong(1, &flag[0]) == 0)
          ;
    };
  };
  EXPECT_TRUE(run(launch, kernel(50)).isClean());
  flag[0] = 0;
  Result result = run(launch, kernel(64));
  result.only(HEDDLE_SIM_DEADLOCK);
  EXPECT_EQ(result.text(), "deadlock in CTA (0, 0, 0): warp 0 polls memory that nobody changes\n");
}

} // namespace
