//===- LaunchTest.cpp - grids, registers, orders and results --------------===//

#include "Kernels.h"
#include <cmath>
#include <gmock/gmock.h>
#include <limits>

using namespace heddle::test;
using testing::HasSubstr;

extern "C" uint32_t heddle_sim_header_test(void);

namespace {

TEST(LaunchTest, WorksFromC) { EXPECT_EQ(heddle_sim_header_test(), 31u * 32 / 2); }

TEST(LaunchTest, RegistersNameThreadAndCTA) {
  struct Seen {
    uint32_t registers[HEDDLE_SIM_NUM_REGISTERS];
  };
  static std::vector<Seen> seen;
  seen.assign(3 * 2 * 2 * 50, {});
  heddle_sim_kernel kernel = {"ids",
                              [](heddle_sim_thread *self, void **) {
                                Seen mine;
                                for (uint32_t i = 0; i < HEDDLE_SIM_NUM_REGISTERS; ++i)
                                  mine.registers[i] = heddle_sim_register(self, i);
                                const uint32_t *r = mine.registers;
                                uint32_t cta = r[6] + 3 * (r[7] + 2 * r[8]);
                                uint32_t thread = r[0] + 5 * (r[1] + 5 * r[2]);
                                seen[cta * 50 + thread] = mine;
                              },
                              0,
                              nullptr,
                              0,
                              nullptr};
  heddle_sim_config config = {{3, 2, 2}, {5, 5, 2}, 256, 1024};
  heddle_sim_result *result;
  ASSERT_EQ(heddle_sim_launch(&kernel, &config, nullptr, nullptr, &result), HEDDLE_SIM_OK);
  EXPECT_EQ(result->num_ctas, 12u);
  EXPECT_EQ(result->num_threads, 600u);
  heddle_sim_release(result);
  for (uint32_t i = 0; i < seen.size(); ++i) {
    uint32_t cta = i / 50, thread = i % 50;
    uint32_t expected[] = {thread % 5,  thread / 5 % 5, thread / 25, 5,  5, 2,
                           cta % 3,     cta / 3 % 2,    cta / 6,     3,  2, 2,
                           thread % 32, thread / 32,    1024,        256};
    for (uint32_t j = 0; j < HEDDLE_SIM_NUM_REGISTERS; ++j)
      ASSERT_EQ(seen[i].registers[j], expected[j]) << "thread " << i << ", register " << j;
  }
}

std::string refusal(heddle_sim_config config) {
  heddle_sim_kernel kernel = {"k", [](heddle_sim_thread *, void **) {}, 0, nullptr, 0, nullptr};
  heddle_sim_result *result;
  EXPECT_EQ(heddle_sim_launch(&kernel, &config, nullptr, nullptr, &result),
            HEDDLE_SIM_INVALID_LAUNCH);
  std::string message = result->message;
  heddle_sim_release(result);
  return message;
}

TEST(LaunchTest, RefusesWhatTheMachineCannotRun) {
  EXPECT_EQ(refusal({{1, 1, 1}, {1025, 1, 1}, 0, 0}),
            "k: block (1025, 1, 1) must have 1 to 1024 threads and at most (1024, 1024, 64)");
  EXPECT_THAT(refusal({{1, 1, 1}, {64, 32, 1}, 0, 0}), HasSubstr("block (64, 32, 1)"));
  EXPECT_THAT(refusal({{1, 1, 1}, {0, 1, 1}, 0, 0}), HasSubstr("block (0, 1, 1)"));
  EXPECT_THAT(refusal({{1, 65536, 1}, {32, 1, 1}, 0, 0}), HasSubstr("grid (1, 65536, 1)"));
  EXPECT_THAT(refusal({{1, 1, 0}, {32, 1, 1}, 0, 0}), HasSubstr("grid (1, 1, 0)"));
  EXPECT_EQ(refusal({{1, 1, 1}, {32, 1, 1}, 166913, 0}),
            "k: the kernel needs 166913 bytes of shared memory, but a CTA can have 166912");
}

TEST(LaunchTest, RefusesBuffersThatOverlapInPart) {
  std::vector<float> data(8);
  Launch launch;
  launch.buffers = {{"low", data.data(), 20, 1}, {"high", data.data() + 4, 16, 1}};
  Result result = run(launch, [](Lane) {});
  EXPECT_EQ(result->status, HEDDLE_SIM_INVALID_LAUNCH);
  EXPECT_EQ(result.text(), "kernel: buffers 'low' and 'high' overlap in part");
}

TEST(LaunchTest, SeedsChangeTheOrderAndNothingElse) {
  auto order = [](uint64_t seed) {
    std::vector<uint32_t> ran;
    Launch launch;
    launch.threads = 96;
    launch.ctas = 4;
    launch.seed = seed;
    Result result = run(launch, [&](Lane lane) { ran.push_back(lane.cta() * 96 + lane.tid()); });
    EXPECT_TRUE(result.isClean());
    return ran;
  };
  std::vector<uint32_t> natural = order(0), first = order(1), second = order(2);
  EXPECT_EQ(first, order(1));
  EXPECT_NE(first, second);
  EXPECT_NE(first, natural);
  EXPECT_TRUE(std::is_sorted(natural.begin(), natural.end()));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, natural);
}

TEST(LaunchTest, ManyCTAsOnSeveralWorkers) {
  std::vector<uint32_t> out(1000);
  Launch launch;
  launch.threads = 64;
  launch.ctas = 1000;
  launch.shared = 256;
  launch.workers = 4;
  launch.seed = 7;
  launch.buffers = {bufferOf("out", out)};
  Result result = run(launch, [&](Lane lane) {
    lane.storeShared<uint32_t>(0, lane.tid() * 4, lane.cta() + lane.tid());
    lane.barrier(1);
    if (lane.tid() == 0) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < 64; ++i)
        sum += lane.loadShared<uint32_t>(2, i * 4);
      lane.store(3, &out[lane.cta()], sum);
    }
  });
  ASSERT_TRUE(result.isClean());
  for (uint32_t i = 0; i < 1000; ++i)
    ASSERT_EQ(out[i], 64 * i + 63 * 32);
  EXPECT_EQ(result.counters(2).thread_instructions, 64000u);
}

TEST(LaunchTest, ReportsAreCountedByOperation) {
  Launch launch;
  launch.ctas = 8;
  launch.seed = 3;
  launch.workers = 3;
  Result result = run(launch, [](Lane lane) {
    if (lane.cta() >= 2)
      lane.loadShared<float>(4, 64);
  });
  const heddle_sim_report &report = result.only(HEDDLE_SIM_OUT_OF_BOUNDS);
  EXPECT_EQ(report.count, 6u * 32);
  EXPECT_EQ(report.cta[0], 2u);
  EXPECT_EQ(result->num_defects, 6u * 32);
  EXPECT_THAT(result.text(), HasSubstr("[192 times]"));
}

TEST(LaunchTest, ResultAsJson) {
  Launch launch;
  launch.shared = 128;
  Result result = run(launch, [](Lane lane) {
    lane.storeShared<uint32_t>(1, lane.tid() * 4, 1);
    if (lane.tid() == 5)
      lane.loadShared<uint32_t>(2, 400);
  });
  std::string json = result.json();
  EXPECT_THAT(json, HasSubstr("\"instructions\": {\"store_shared\": 1}"));
  EXPECT_THAT(json, HasSubstr("{\"op\": 1, \"name\": \"b\", \"class\": \"store_shared\", "
                              "\"warp_instructions\": 1, \"thread_instructions\": 32"));
  EXPECT_THAT(json, HasSubstr("{\"kind\": \"out of bounds\", \"count\": 1, \"cta\": [0, 0, 0], "
                              "\"thread\": 5, \"op\": 2, \"space\": \"shared\", \"address\": 400, "
                              "\"size\": 4, \"text\": \"out of bounds in CTA (0, 0, 0): thread 5"));
}

TEST(LaunchTest, TrapEndsTheCTA) {
  Launch launch;
  launch.threads = 64;
  launch.ctas = 2;
  uint32_t passed = 0;
  Result result = run(launch, [&](Lane lane) {
    if (lane.cta() == 0 && lane.tid() == 33)
      heddle_sim_trap(lane.self, 2);
    lane.barrier(0);
    ++passed;
  });
  const heddle_sim_report &report = result.only(HEDDLE_SIM_TRAP);
  EXPECT_EQ(report.thread, 33u);
  EXPECT_EQ(report.op, 2u);
  EXPECT_EQ(passed, 64u);
}

TEST(LaunchTest, SpecialFunctions) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Result result = run(Launch(), [&](Lane lane) {
    if (lane.tid() != 0)
      return;
    heddle_sim_thread *self = lane.self;
    EXPECT_EQ(heddle_sim_ex2_approx_ftz(self, 0, 10.0f), 1024.0f);
    EXPECT_EQ(heddle_sim_ex2_approx_ftz(self, 0, -infinity), 0.0f);
    EXPECT_EQ(heddle_sim_ex2_approx_ftz(self, 0, -130.0f), 0.0f);
    EXPECT_GT(heddle_sim_ex2_approx(self, 0, -130.0f), 0.0f);
    EXPECT_TRUE(std::isnan(heddle_sim_ex2_approx_ftz(self, 0, NAN)));
    EXPECT_EQ(heddle_sim_lg2_approx_ftz(self, 0, 8.0f), 3.0f);
    EXPECT_EQ(heddle_sim_lg2_approx_ftz(self, 0, 1e-40f), -infinity);
    EXPECT_EQ(heddle_sim_rcp_approx_ftz(self, 0, 4.0f), 0.25f);
    EXPECT_EQ(heddle_sim_rcp_approx_ftz(self, 0, -1e-40f), -infinity);
    EXPECT_EQ(heddle_sim_rsqrt_approx_ftz(self, 0, 16.0f), 0.25f);
    EXPECT_NEAR(heddle_sim_tanh_approx(self, 0, 0.5f), 0.46211716f, 1e-6f);
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(result->class_instructions[HEDDLE_SIM_SPECIAL], 11u);
}

} // namespace
