//===- GlobalRaceTest.cpp - unordered accesses of global memory -----------===//
//
// As for shared memory, every defect comes with the same kernel put right.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include <gmock/gmock.h>

using namespace heddle::test;
using testing::HasSubstr;

namespace {

constexpr uint32_t kSeeds = 4;

/// A launch of `ctas` CTAs of 64 threads over one writable buffer.
Launch globalLaunch(std::vector<uint32_t> &data, uint32_t ctas, uint64_t seed) {
  Launch launch;
  launch.threads = 64;
  launch.seed = seed;
  launch.ctas = ctas;
  launch.buffers = {{"y", data.data(), data.size() * sizeof(uint32_t), 1}};
  return launch;
}

TEST(GlobalRaceTest, TwoThreadsOfACTA) {
  std::vector<uint32_t> data(64);
  // Threads write their word, then read that of the other warp.
  auto kernel = [&](bool synced) {
    return [&, synced](Lane lane) {
      lane.store<uint32_t>(0, &data[lane.tid()], lane.tid());
      if (synced)
        lane.barrier(2);
      lane.load<uint32_t>(1, &data[lane.tid() ^ 32]);
    };
  };
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_TRUE(run(globalLaunch(data, 1, seed), kernel(true)).isClean());
    Launch launch = globalLaunch(data, 1, seed);
    Result result = run(launch, kernel(false));
    const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
    EXPECT_EQ(report.space, uint32_t(HEDDLE_SIM_GLOBAL));
    EXPECT_EQ(report.op + report.other_op, 1u);
    EXPECT_THAT(result.text(), HasSubstr("with no barrier in between"));
    launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_RACES);
    EXPECT_TRUE(run(launch, kernel(false)).isClean());
  }
}

TEST(GlobalRaceTest, WriteAfterReadsOfSeveralThreads) {
  std::vector<uint32_t> data(64);
  // The thread that writes has read last: the other reader must not be forgotten.
  for (uint32_t writer : {0u, 63u})
    EXPECT_EQ(run(globalLaunch(data, 1, 0),
                  [&](Lane lane) {
                    if (lane.tid() == 0 || lane.tid() == 63)
                      lane.load<uint32_t>(0, &data[5]);
                    lane.warpSync(2);
                    if (lane.tid() == writer)
                      lane.store<uint32_t>(1, &data[5], 1);
                  })
                  .only(HEDDLE_SIM_RACE)
                  .address,
              uint64_t(uintptr_t(&data[5])));
}

TEST(GlobalRaceTest, TwoCTAs) {
  std::vector<uint32_t> data(256);
  for (uint32_t workers : {1u, 4u}) {
    // Neighbours in memory, down to bytes, are no race.
    Launch launch = globalLaunch(data, 4, 0);
    launch.workers = workers;
    EXPECT_TRUE(run(launch, [&](Lane lane) {
                  lane.store<uint32_t>(0, &data[lane.cta() * 64 + lane.tid()], 1);
                }).isClean());
    EXPECT_TRUE(run(launch, [&](Lane lane) {
                  auto *bytes = reinterpret_cast<uint8_t *>(data.data());
                  lane.store<uint8_t>(0, &bytes[lane.tid() * 4 + lane.cta()], 1);
                }).isClean());
    // A barrier orders nothing between CTAs. Nor does it matter that the values are equal.
    Result result = run(launch, [&](Lane lane) {
      if (lane.tid() == 3)
        lane.store<uint32_t>(0, &data[7], 1);
      lane.barrier(1);
    });
    EXPECT_EQ(result.only(HEDDLE_SIM_RACE).count, 3u);
    EXPECT_THAT(result.text(), HasSubstr("writes 4 bytes at byte 28 of 'y', which were written by "
                                         "thread 3 (warp 0, lane 3) of CTA ("));
    EXPECT_THAT(result.text(), HasSubstr("nothing orders CTAs"));
    // A CTA that reads what another one writes.
    EXPECT_EQ(run(launch,
                  [&](Lane lane) {
                    if (lane.cta() == 0 && lane.tid() == 0)
                      lane.store<uint32_t>(0, &data[9], 1);
                    if (lane.cta() == 1 && lane.tid() == 0)
                      lane.load<uint32_t>(1, &data[9]);
                  })
                  .only(HEDDLE_SIM_RACE)
                  .kind,
              uint32_t(HEDDLE_SIM_RACE));
  }
}

TEST(GlobalRaceTest, ReadersOfSeveralCTAs) {
  // CTAs 0 and 1 read in turns, and CTA 0 once more by another thread, before CTA 0 writes: CTA 1 must not be forgotten.
  std::vector<uint32_t> data(64), turn(1);
  Launch launch = globalLaunch(data, 2, 0);
  launch.buffers.push_back(bufferOf("turn", turn));
  launch.workers = 2;
  Result result = run(launch, [&](Lane lane) {
    auto await = [&](uint32_t value) {
      while (lane.loadStrong(0, &turn[0]) != value)
        ;
    };
    if (lane.cta() == 1) {
      if (lane.tid() == 0) {
        await(1);
        lane.load(1, &data[3]);
        lane.storeStrong(2, &turn[0], 2u);
      }
      return;
    }
    if (lane.tid() == 0) {
      lane.load(3, &data[3]);
      lane.storeStrong(2, &turn[0], 1u);
      await(2);
    }
    lane.barrier(4);
    if (lane.tid() == 40)
      lane.load(5, &data[3]);
    lane.barrier(4);
    if (lane.tid() == 40)
      lane.store(6, &data[3], 1u);
  });
  const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
  EXPECT_EQ(report.op, 6u);
  EXPECT_EQ(report.other_op, 1u);
}

TEST(GlobalRaceTest, AtomicsAndPlainAccesses) {
  std::vector<uint32_t> data(4);
  Launch launch = globalLaunch(data, 3, 0);
  EXPECT_TRUE(run(launch, [&](Lane lane) { lane.count(0, &data[0]); }).isClean());
  run(launch, [&](Lane lane) {
    lane.count(0, &data[0]);
    if (lane.tid() == 0 && lane.cta() == 0)
      lane.store<uint32_t>(1, &data[0], 0);
  }).only(HEDDLE_SIM_RACE);
  // Volatile accesses are strong, too.
  EXPECT_TRUE(run(launch, [&](Lane lane) {
                lane.storeStrong(0, &data[1], 1u);
                lane.loadStrong(1, &data[1]);
              }).isClean());
  run(launch, [&](Lane lane) {
    lane.storeStrong(0, &data[1], 1u);
    lane.load(1, &data[1]);
  }).only(HEDDLE_SIM_RACE);
}

/// What a CTA does in the pattern "who comes last merges": all threads write, one counts, and all of the last CTA read.
struct Merge {
  enum Fence { None, Before, After, ByAll, OfCTA, Release };
  Fence fence = Before;
  bool barrierBefore = true, barrierAfter = true;
  bool readsFirst = false;    // some result is read before the counter is
  bool writesBetween = false; // a result is written between fence and counter
  bool resets = false;        // the last one sets the counter back by a plain store

  /// data: the counter, then a word for each thread of each CTA.
  void operator()(Lane lane, std::vector<uint32_t> &data) const {
    uint32_t ctas = lane.reg(HEDDLE_SIM_NCTAID_X), own = 1 + lane.cta() * 64 + lane.tid();
    bool counts = lane.tid() == 5;
    if (!(writesBetween && counts))
      lane.store(0, &data[own], lane.tid());
    if (fence == ByAll)
      lane.fence(1);
    if (barrierBefore)
      lane.barrier(2);
    if (counts) {
      if (fence == Before || fence == OfCTA)
        lane.fence(1, fence == OfCTA ? HEDDLE_SIM_SCOPE_CTA : HEDDLE_SIM_SCOPE_GPU);
      if (writesBetween)
        lane.store(0, &data[own], lane.tid());
      if (readsFirst && lane.cta() > 0)
        lane.load(7, &data[1]);
      uint32_t before = lane.count(
          3, &data[0], fence == Release ? HEDDLE_SIM_ACQUIRE_RELEASE : HEDDLE_SIM_RELAXED);
      if (fence == After)
        lane.fence(1);
      lane.storeShared<uint32_t>(4, 0, before + 1 == ctas);
    }
    if (barrierAfter)
      lane.barrier(5);
    else
      lane.warpSync(5);
    // The flag in shared memory is not what this is about.
    bool isLast =
        lane.warp() == 0 || barrierAfter ? lane.loadShared<uint32_t>(6, 0) : lane.cta() + 1 == ctas;
    for (uint32_t i = 0; isLast && i < ctas; ++i)
      lane.load(7, &data[1 + i * 64 + (lane.tid() ^ 33)]);
    if (isLast && resets && lane.tid() == 60)
      lane.store(8, &data[0], 0u);
  }
};

Result runMerge(const Merge &merge, uint64_t seed, uint32_t workers) {
  std::vector<uint32_t> data(1 + 4 * 64);
  Launch launch = globalLaunch(data, 4, seed);
  launch.shared = 128;
  launch.workers = workers;
  return run(launch, [&](Lane lane) { merge(lane, data); });
}

void expectMergeClean(const Merge &merge) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    for (uint32_t workers : {1u, 4u})
      EXPECT_TRUE(runMerge(merge, seed, workers).isClean());
}

/// One report, about the write of a result and the read of it. Which of the two comes first may depend on the order.
void expectMergeRace(const Merge &merge) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Result result = runMerge(merge, seed, 1);
    const heddle_sim_report &report = result.only(HEDDLE_SIM_RACE);
    EXPECT_EQ(report.op + report.other_op, 7u) << result.text();
    EXPECT_EQ(report.op * report.other_op, 0u) << result.text();
  }
}

TEST(GlobalRaceTest, LastCTAMerges) {
  Merge merge;
  expectMergeClean(merge);
  // Each thread's own fence, the barrier and the counter of one thread.
  merge.fence = Merge::ByAll;
  expectMergeClean(merge);
  merge.fence = Merge::Release;
  expectMergeClean(merge);
  merge.resets = true;
  expectMergeClean(merge);
  merge.fence = Merge::Before;
  expectMergeClean(merge);
}

TEST(GlobalRaceTest, LastCTAMergesWithoutFence) {
  Merge merge;
  merge.fence = Merge::None;
  expectMergeRace(merge);
  EXPECT_THAT(runMerge(merge, 0, 1).text(), HasSubstr("; nothing orders CTAs"));
}

TEST(GlobalRaceTest, LastCTAMergesWithTheFenceTooLate) {
  Merge merge;
  merge.fence = Merge::After;
  expectMergeRace(merge);
  EXPECT_THAT(runMerge(merge, 0, 1).text(),
              HasSubstr("; no fence with an atomic after it has told of that"));
}

TEST(GlobalRaceTest, LastCTAMergesWithAFenceOfTheCTAOnly) {
  Merge merge;
  merge.fence = Merge::OfCTA;
  expectMergeRace(merge);
}

TEST(GlobalRaceTest, ResultsAreReadBeforeTheCounter) {
  Merge merge;
  merge.readsFirst = true;
  expectMergeRace(merge);
}

TEST(GlobalRaceTest, AResultIsWrittenAfterTheFence) {
  Merge merge;
  merge.writesBetween = true;
  expectMergeRace(merge);
}

TEST(GlobalRaceTest, OneThreadTellsForAllWithoutABarrier) {
  Merge merge;
  merge.barrierBefore = false;
  expectMergeRace(merge);
  // Even if each thread has run a fence.
  merge.fence = Merge::ByAll;
  expectMergeRace(merge);
}

TEST(GlobalRaceTest, OneThreadHearsForAllWithoutABarrier) {
  // Warp 1 of the last CTA reads what only warp 0 has heard of.
  Merge merge;
  merge.barrierAfter = false;
  Result result = runMerge(merge, 0, 1);
  EXPECT_GE(result.only(HEDDLE_SIM_RACE).thread, 32u) << result.text();
}

/// CTA 0 writes a word and then a flag; CTA 1 waits for the flag and reads the word.
void runFlag(bool isClean, uint32_t storeOrder, uint32_t loadOrder, bool fenceBefore,
             bool fenceAfter) {
  std::vector<uint32_t> data(2);
  Launch launch = globalLaunch(data, 2, 0);
  launch.workers = 2;
  Result result = run(launch, [&](Lane lane) {
    if (lane.tid() != 0)
      return;
    if (lane.cta() == 0) {
      lane.store(0, &data[0], 7u);
      if (fenceBefore)
        lane.fence(1);
      lane.storeStrong(2, &data[1], 1u, storeOrder);
      return;
    }
    while (lane.loadStrong(3, &data[1], loadOrder) == 0)
      ;
    if (fenceAfter)
      lane.fence(4);
    EXPECT_EQ(lane.load(5, &data[0]), 7u);
  });
  if (isClean)
    EXPECT_TRUE(result.isClean());
  else
    EXPECT_EQ(result.only(HEDDLE_SIM_RACE).op, 5u);
}

TEST(GlobalRaceTest, Flags) {
  constexpr uint32_t relaxed = HEDDLE_SIM_RELAXED, acquire = HEDDLE_SIM_ACQUIRE,
                     release = HEDDLE_SIM_RELEASE;
  runFlag(true, relaxed, relaxed, true, true);
  runFlag(true, release, acquire, false, false);
  runFlag(true, relaxed, acquire, true, false);
  runFlag(true, release, relaxed, false, true);
  runFlag(false, relaxed, relaxed, false, true);
  runFlag(false, relaxed, relaxed, true, false);
  runFlag(false, relaxed, acquire, false, false);
  runFlag(false, release, relaxed, false, false);
  runFlag(false, acquire, release, false, false);
}

TEST(GlobalRaceTest, AStoreReplacesWhatWasTold) {
  // CTA 0 tells by an atomic; CTA 1 overwrites the flag before CTA 2 reads it, which then has heard of CTA 1 only.
  std::vector<uint32_t> data(3);
  auto kernel = [&](bool overwrites) {
    return [&, overwrites](Lane lane) {
      if (lane.tid() != 0)
        return;
      if (lane.cta() == 0) {
        lane.store(0, &data[0], 1u);
        lane.fence(1);
        lane.count(2, &data[1]);
      } else if (lane.cta() == 1) {
        if (overwrites)
          lane.storeStrong(3, &data[1], 5u);
        else
          lane.count(3, &data[1]);
      } else {
        lane.count(4, &data[1]);
        lane.load(5, &data[0]);
      }
    };
  };
  EXPECT_TRUE(run(globalLaunch(data, 3, 0), kernel(false)).isClean());
  EXPECT_EQ(run(globalLaunch(data, 3, 0), kernel(true)).only(HEDDLE_SIM_RACE).other_op, 0u);
}

TEST(GlobalRaceTest, KnowledgeIsPassedOn) {
  // CTA 0 tells CTA 1 by one counter, which tells CTA 2 by another.
  std::vector<uint32_t> data(4);
  auto kernel = [&](bool fence) {
    return [&, fence](Lane lane) {
      if (lane.tid() != 0)
        return;
      if (lane.cta() == 0)
        lane.store(0, &data[0], 1u);
      else
        lane.count(2, &data[lane.cta()]);
      if (lane.cta() == 0 || fence)
        lane.fence(1);
      if (lane.cta() < 2)
        lane.count(2, &data[lane.cta() + 1]);
      else
        lane.load(5, &data[0]);
    };
  };
  EXPECT_TRUE(run(globalLaunch(data, 3, 0), kernel(true)).isClean());
  run(globalLaunch(data, 3, 0), kernel(false)).only(HEDDLE_SIM_RACE);
}

TEST(GlobalRaceTest, ThreadsOfACTAByAFlag) {
  std::vector<uint32_t> data(2);
  for (uint32_t scope : {HEDDLE_SIM_SCOPE_CTA, HEDDLE_SIM_SCOPE_GPU}) {
    auto kernel = [&](bool fence) {
      return [&, fence, scope](Lane lane) {
        if (lane.tid() == 0) {
          lane.store(0, &data[0], 7u);
          if (fence)
            lane.fence(1, scope);
          lane.count(2, &data[1]);
        }
        if (lane.tid() == 40) {
          while (lane.loadStrong(3, &data[1]) == 0)
            ;
          lane.fence(4, scope);
          lane.load(5, &data[0]);
        }
      };
    };
    data[1] = 0;
    EXPECT_TRUE(run(globalLaunch(data, 1, 0), kernel(true)).isClean());
    data[1] = 0;
    run(globalLaunch(data, 1, 0), kernel(false)).only(HEDDLE_SIM_RACE);
  }
}

TEST(GlobalRaceTest, AllReadersMustHaveTold) {
  // All CTAs but one tell that they have read; the last one writes.
  std::vector<uint32_t> data(2);
  auto kernel = [&](uint32_t silent) {
    return [&, silent](Lane lane) {
      if (lane.tid() != 0)
        return;
      if (lane.cta() < 7)
        lane.load(0, &data[0]);
      if (lane.cta() != silent)
        lane.fence(1);
      lane.count(2, &data[1]);
      if (lane.cta() == 7)
        lane.store(3, &data[0], 1u);
    };
  };
  EXPECT_TRUE(run(globalLaunch(data, 8, 0), kernel(8)).isClean());
  for (uint32_t silent = 0; silent < 7; ++silent) {
    Result result = run(globalLaunch(data, 8, 0), kernel(silent));
    result.only(HEDDLE_SIM_RACE);
    EXPECT_THAT(result.text(), HasSubstr("of CTA (" + std::to_string(silent) + ", 0, 0)"));
  }
}

} // namespace
