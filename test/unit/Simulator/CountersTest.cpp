//===- CountersTest.cpp - what launches are counted to do -----------------===//

#include "Counters.h"
#include "AccessPattern.h"
#include "Kernels.h"
#include <cstring>

using namespace heddle::test;
using namespace heddle::sim;

namespace {

/// All 32 lanes at address(lane).
WarpAddresses pattern(std::function<uint64_t(uint32_t)> address) {
  WarpAddresses access;
  access.lanes = ~0u;
  for (uint32_t lane = 0; lane < 32; ++lane)
    access.address[lane] = address(lane);
  return access;
}

TEST(AccessPatternTest, Sectors) {
  auto strided = [](uint32_t stride, uint32_t size, uint64_t from = 0) {
    return countSectors(pattern([=](uint32_t lane) { return from + lane * stride; }), size);
  };
  EXPECT_EQ(strided(4, 4), 4u);     // consecutive words: 128 bytes
  EXPECT_EQ(strided(4, 4, 16), 5u); // the same, half a sector further
  EXPECT_EQ(strided(16, 16), 16u);
  EXPECT_EQ(strided(2, 2), 2u);
  EXPECT_EQ(strided(0, 4), 1u); // broadcast
  EXPECT_EQ(strided(8, 4), 8u);
  EXPECT_EQ(strided(32, 4), 32u);
  EXPECT_EQ(strided(4096, 16), 32u);
  // Falling and shuffled addresses touch the same sectors as rising ones.
  EXPECT_EQ(countSectors(pattern([](uint32_t lane) { return (31 - lane) * 4; }), 4), 4u);
  EXPECT_EQ(countSectors(pattern([](uint32_t lane) { return lane * 13 % 32 * 4; }), 4), 4u);
  WarpAddresses few = pattern([](uint32_t lane) { return lane * 64; });
  few.lanes = 0x80000001;
  EXPECT_EQ(countSectors(few, 8), 2u);
  few.lanes = 0;
  EXPECT_EQ(countSectors(few, 8), 0u);
}

uint32_t conflicts(uint32_t size, std::function<uint64_t(uint32_t)> address) {
  return countWavefronts(pattern(address), size).conflicts;
}

TEST(AccessPatternTest, BankConflictsOfWords) {
  for (uint32_t ways : {1u, 2u, 4u, 8u, 16u, 32u})
    EXPECT_EQ(conflicts(4, [=](uint32_t lane) { return lane * 4 * ways; }), ways - 1);
  EXPECT_EQ(conflicts(4, [](uint32_t lane) { return lane * 12; }), 0u); // odd strides are free
  EXPECT_EQ(conflicts(4, [](uint32_t) { return 256; }), 0u);            // broadcast
  EXPECT_EQ(conflicts(4, [](uint32_t lane) { return lane / 4 * 4; }), 0u);
  EXPECT_EQ(conflicts(4, [](uint32_t lane) { return lane % 2 * 128; }), 1u);
  EXPECT_EQ(conflicts(4, [](uint32_t lane) { return lane * 132; }), 0u); // a padded column
  EXPECT_EQ(conflicts(2, [](uint32_t lane) { return lane * 2; }), 0u);   // two lanes a word
  EXPECT_EQ(conflicts(1, [](uint32_t lane) { return lane * 128; }), 31u);
}

TEST(AccessPatternTest, BankConflictsOfWideAccesses) {
  BankCost cost = countWavefronts(pattern([](uint32_t lane) { return lane * 8; }), 8);
  EXPECT_EQ(cost.wavefronts, 2u);
  EXPECT_EQ(cost.conflicts, 0u);
  cost = countWavefronts(pattern([](uint32_t lane) { return lane * 16; }), 16);
  EXPECT_EQ(cost.wavefronts, 4u);
  EXPECT_EQ(cost.conflicts, 0u);
  // Rows of 128 bytes: eight lanes of a group in one group of banks, in each of four groups.
  cost = countWavefronts(pattern([](uint32_t lane) { return lane * 128; }), 16);
  EXPECT_EQ(cost.wavefronts, 32u);
  EXPECT_EQ(cost.conflicts, 28u);
  // The swizzle slot = chunk ^ (row & 7) puts that right.
  EXPECT_EQ(conflicts(16, [](uint32_t lane) { return lane * 128 + (3 ^ (lane & 7)) * 16; }), 0u);
  EXPECT_EQ(conflicts(8, [](uint32_t lane) { return lane * 16; }), 2u);
  // Only the first two groups take part.
  WarpAddresses half = pattern([](uint32_t lane) { return lane * 16; });
  half.lanes = 0xffff;
  EXPECT_EQ(countWavefronts(half, 16).wavefronts, 2u);
}

TEST(CountersTest, KernelWithKnownCounts) {
  std::vector<float> in(64 * 8 + 64), out(64 * 3);
  Launch launch;
  launch.threads = 64;
  launch.ctas = 3;
  launch.shared = 4096;
  launch.buffers = {bufferOf("in", in), bufferOf("out", out)};
  auto kernel = [&](Lane lane) {
    uint32_t t = lane.tid();
    float sum = lane.load(0, &in[t]) + lane.load(1, &in[t * 8]);
    lane.storeShared(2, t * 32, sum);
    lane.barrier(3);
    for (uint32_t i = 0; i < 5; ++i)
      sum += lane.loadShared<float>(4, (t & 32) * 32);
    if (lane.lane() < 8)
      lane.store(5, &out[lane.cta() * 64 + t], sum);
    lane.copyAsync(6, 2048 + t * 16, &in[t * 4], 16, lane.lane() < 16 ? 16 : 0);
    lane.commit(7);
    lane.wait(8, 0);
  };
  for (uint64_t seed : {0, 1, 2}) {
    launch.seed = seed;
    launch.workers = uint32_t(seed) + 1;
    Result result = run(launch, kernel);
    ASSERT_TRUE(result.isClean());
    constexpr uint32_t warps = 6;
    EXPECT_EQ(result.counters(0).global_load_bytes, warps * 128u);
    EXPECT_EQ(result.counters(0).global_load_sectors, warps * 4u);
    EXPECT_EQ(result.counters(1).global_load_bytes, warps * 128u);
    EXPECT_EQ(result.counters(1).global_load_sectors, warps * 32u);
    EXPECT_EQ(result.counters(2).shared_store_bytes, warps * 128u);
    EXPECT_EQ(result.counters(2).shared_wavefronts, warps * 8u);
    EXPECT_EQ(result.counters(2).shared_conflicts, warps * 7u);
    EXPECT_EQ(result.counters(3).warp_instructions, warps);
    EXPECT_EQ(result.counters(3).barrier_waits, warps);
    EXPECT_EQ(result.counters(4).warp_instructions, warps * 5u);
    EXPECT_EQ(result.counters(4).shared_wavefronts, warps * 5u);
    EXPECT_EQ(result.counters(4).shared_conflicts, 0u);
    EXPECT_EQ(result.counters(5).warp_instructions, warps);
    EXPECT_EQ(result.counters(5).thread_instructions, warps * 8u);
    EXPECT_EQ(result.counters(5).global_store_bytes, warps * 32u);
    EXPECT_EQ(result.counters(5).global_store_sectors, warps * 1u);
    EXPECT_EQ(result.counters(6).global_load_bytes, warps * 256u);
    EXPECT_EQ(result.counters(6).global_load_sectors, warps * 8u);
    EXPECT_EQ(result.counters(6).shared_store_bytes, warps * 512u);
    EXPECT_EQ(result.counters(6).shared_wavefronts, warps * 4u);
    EXPECT_EQ(result->class_instructions[HEDDLE_SIM_LOAD_GLOBAL], warps * 2u);
    EXPECT_EQ(result->class_instructions[HEDDLE_SIM_CP_ASYNC_GROUP], warps * 2u);
    EXPECT_EQ(result->total.warp_instructions, warps * 13u);
    EXPECT_EQ(result->total.global_load_sectors, warps * 44u);
  }
}

TEST(CountersTest, LanesOnDifferentPaths) {
  Launch launch;
  launch.shared = 4096;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    launch.seed = seed;
    Result result = run(launch, [](Lane lane) {
      // Lane n goes round n / 8 + 1 times, and every other one stores as well.
      for (uint32_t i = 0; i <= lane.lane() / 8; ++i)
        lane.storeShared<uint32_t>(0, i * 512 + lane.lane() * 4, 1);
      if (lane.lane() & 1)
        lane.storeShared<uint32_t>(1, 2048 + lane.lane() * 32, 1);
    });
    EXPECT_TRUE(result.isClean());
    EXPECT_EQ(result.counters(0).warp_instructions, 4u);
    EXPECT_EQ(result.counters(0).thread_instructions, 8u * (1 + 2 + 3 + 4));
    EXPECT_EQ(result.counters(0).shared_wavefronts, 4u);
    EXPECT_EQ(result.counters(1).warp_instructions, 1u);
    EXPECT_EQ(result.counters(1).shared_conflicts, 7u);
  }
}

TEST(CountersTest, LongRunsWithoutMeetings) {
  for (uint32_t threads : {1u, 48u}) {
    Launch launch;
    launch.threads = threads;
    launch.shared = 256;
    constexpr uint32_t rounds = 3 * kMaxLog + 17;
    Result result = run(launch, [](Lane lane) {
      for (uint32_t i = 0; i < rounds; ++i)
        lane.storeShared<uint32_t>(0, lane.tid() * 4, i);
    });
    EXPECT_TRUE(result.isClean());
    EXPECT_EQ(result.counters(0).warp_instructions, (threads + 31) / 32 * rounds);
    EXPECT_EQ(result.counters(0).thread_instructions, threads * rounds);
  }
}

TEST(CountersTest, SectorsDoNotDependOnWhereTheHostPutsABuffer) {
  std::vector<float> memory(64);
  for (uint32_t shift = 0; shift < 8; ++shift) {
    Launch launch;
    launch.buffers = {{"in", memory.data() + shift, 128, 0}};
    Result result =
        run(launch, [&](Lane lane) { lane.load(0, memory.data() + shift + lane.lane()); });
    EXPECT_TRUE(result.isClean());
    EXPECT_EQ(result.counters(0).global_load_sectors, 4u);
  }
}

} // namespace
