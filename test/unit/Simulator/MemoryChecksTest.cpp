//===- MemoryChecksTest.cpp - bounds, alignment, unwritten memory ---------===//

#include "Kernels.h"
#include <gmock/gmock.h>

using namespace heddle::test;
using testing::HasSubstr;

namespace {

struct Quad {
  float values[4];
};

TEST(MemoryChecksTest, AccessesInsideAreClean) {
  std::vector<float> in(128), out(128);
  for (int i = 0; i < 128; ++i)
    in[i] = float(i);
  Launch launch;
  launch.shared = 512;
  launch.buffers = {bufferOf("in", in, false), bufferOf("out", out)};
  Result result = run(launch, [&](Lane lane) {
    Quad quad = lane.load<Quad>(0, reinterpret_cast<Quad *>(&in[lane.tid() * 4]));
    lane.storeShared(1, lane.tid() * 16, quad);
    lane.store(2, reinterpret_cast<Quad *>(&out[lane.tid() * 4]),
               lane.loadShared<Quad>(3, lane.tid() * 16));
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(in, out);
}

TEST(MemoryChecksTest, GlobalReadPastTheEnd) {
  std::vector<float> in(30);
  Launch launch;
  launch.buffers = {bufferOf("in", in)};
  float got = 1;
  Result result = run(launch, [&](Lane lane) {
    float value = lane.load(3, &in[0] + lane.tid());
    if (lane.tid() == 31)
      got = value;
  });
  const heddle_sim_report &report = result.only(HEDDLE_SIM_OUT_OF_BOUNDS);
  EXPECT_EQ(report.thread, 30u);
  EXPECT_EQ(report.op, 3u);
  EXPECT_EQ(report.count, 2u);
  EXPECT_EQ(report.address, uint64_t(uintptr_t(in.data() + 30)));
  EXPECT_EQ(got, 0.0f);
  EXPECT_THAT(result.text(), HasSubstr("thread 30 (warp 0, lane 30) at op 3 'd' reads 4 bytes"));
  EXPECT_THAT(result.text(), HasSubstr("0 bytes past the end of buffer 'in' of 120 bytes"));
}

TEST(MemoryChecksTest, GlobalWriteBeforeTheBeginning) {
  std::vector<float> out(8, 5.0f);
  Launch launch;
  launch.threads = 1;
  launch.buffers = {{"out", out.data() + 4, 16, 1}};
  Result result = run(launch, [&](Lane lane) { lane.store(0, &out[3], 1.0f); });
  result.only(HEDDLE_SIM_OUT_OF_BOUNDS);
  EXPECT_THAT(result.text(), HasSubstr("4 bytes before buffer 'out'"));
  EXPECT_EQ(out[3], 5.0f);
}

TEST(MemoryChecksTest, WideAccessAcrossTheEnd) {
  std::vector<float> in(6);
  Launch launch;
  launch.threads = 2;
  launch.buffers = {bufferOf("in", in)};
  Result result = run(launch, [&](Lane lane) {
    lane.load<Quad>(0, reinterpret_cast<Quad *>(&in[lane.tid() * 4]));
  });
  EXPECT_EQ(result.only(HEDDLE_SIM_OUT_OF_BOUNDS).thread, 1u);
  EXPECT_THAT(result.text(), HasSubstr("its last 8 bytes are past the end of buffer 'in'"));
}

TEST(MemoryChecksTest, ReadOnlyBuffersAreNotWritten) {
  std::vector<float> in(4, 2.0f);
  Launch launch;
  launch.threads = 1;
  launch.buffers = {bufferOf("weights", in, false)};
  Result result = run(launch, [&](Lane lane) { lane.store(0, &in[0], lane.load(1, &in[1])); });
  result.only(HEDDLE_SIM_OUT_OF_BOUNDS);
  EXPECT_THAT(result.text(), HasSubstr("buffer 'weights' is read-only"));
}

TEST(MemoryChecksTest, NullIsReportedWithoutBuffers) {
  Launch launch;
  launch.threads = 1;
  Result result = run(launch, [&](Lane lane) { lane.load<float>(0, nullptr); });
  result.only(HEDDLE_SIM_OUT_OF_BOUNDS);
}

TEST(MemoryChecksTest, SharedBounds) {
  Launch launch;
  launch.threads = 1;
  launch.shared = 64;
  launch.sharedBase = 1024;
  EXPECT_TRUE(run(launch, [](Lane lane) {
                lane.storeShared(0, 1024, 1.0f);
                lane.storeShared(0, 1084, 1.0f);
              }).isClean());
  for (uint32_t address : {0u, 1020u, 1088u, 0xfffffffcu})
    run(launch, [&](Lane lane) {
      lane.storeShared(0, address, 1.0f);
    }).only(HEDDLE_SIM_OUT_OF_BOUNDS);
}

TEST(MemoryChecksTest, Misaligned) {
  std::vector<float> in(16);
  Launch launch;
  launch.threads = 1;
  launch.shared = 64;
  launch.buffers = {bufferOf("in", in)};
  run(launch, [&](Lane lane) {
    lane.load<Quad>(0, reinterpret_cast<Quad *>(&in[1]));
  }).only(HEDDLE_SIM_MISALIGNED);
  Result result = run(launch, [&](Lane lane) { lane.storeShared<double>(0, 12, 1.0); });
  result.only(HEDDLE_SIM_MISALIGNED);
  EXPECT_THAT(
      result.text(),
      HasSubstr("writes 8 bytes at shared address 0xc, which is 4 bytes past a multiple of 8"));
  launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_ALIGNMENT);
  EXPECT_TRUE(run(launch, [&](Lane lane) { lane.storeShared<double>(0, 12, 1.0); }).isClean());
}

TEST(MemoryChecksTest, SizesThatNoAccessHas) {
  Launch launch;
  launch.threads = 1;
  launch.shared = 64;
  run(launch, [&](Lane lane) {
    char bytes[12];
    heddle_sim_load(lane.self, 0, HEDDLE_SIM_SHARED, 0, 12, bytes);
  }).only(HEDDLE_SIM_INVALID_OPERAND);
}

TEST(MemoryChecksTest, UnwrittenSharedMemory) {
  Launch launch;
  launch.threads = 1;
  launch.shared = 64;
  Result result = run(launch, [](Lane lane) {
    lane.storeShared<uint32_t>(0, 16, 1);
    lane.storeShared<uint32_t>(0, 20, 1);
    lane.storeShared<uint32_t>(0, 28, 1);
    lane.loadShared<double>(1, 16);
    lane.loadShared<Quad>(2, 16);
  });
  const heddle_sim_report &report = result.only(HEDDLE_SIM_UNINITIALIZED_READ);
  EXPECT_EQ(report.op, 2u);
  EXPECT_THAT(result.text(), HasSubstr("reads 16 bytes at shared address 0x10, of which address "
                                       "0x18 was never written"));
  launch.check &= ~uint32_t(HEDDLE_SIM_CHECK_UNINITIALIZED);
  EXPECT_TRUE(run(launch, [](Lane lane) { lane.loadShared<Quad>(2, 16); }).isClean());
}

TEST(MemoryChecksTest, EachCTABeginsUnwritten) {
  Launch launch;
  launch.threads = 1;
  launch.ctas = 2;
  launch.shared = 16;
  Result result = run(launch, [](Lane lane) {
    if (lane.cta() == 0)
      lane.storeShared<uint32_t>(0, 0, 1);
    lane.loadShared<uint32_t>(1, 0);
  });
  EXPECT_EQ(result.only(HEDDLE_SIM_UNINITIALIZED_READ).cta[0], 1u);
}

TEST(MemoryChecksTest, AtomicsUpdateMemory) {
  std::vector<uint32_t> sums(2);
  std::vector<float> floats(1);
  Launch launch;
  launch.threads = 64;
  launch.ctas = 20;
  launch.workers = 4;
  launch.shared = 4;
  launch.buffers = {bufferOf("sums", sums), bufferOf("floats", floats)};
  Result result = run(launch, [&](Lane lane) {
    auto atomic = [&](uint32_t op, uint32_t space, uint32_t kind, const void *address,
                      uint64_t operand) {
      return heddle_sim_atomic(lane.self, op, space, kind, HEDDLE_SIM_RELAXED,
                               uint64_t(uintptr_t(address)), operand);
    };
    if (lane.tid() == 0)
      lane.storeShared<uint32_t>(0, 0, 0);
    lane.barrier(1);
    atomic(2, HEDDLE_SIM_SHARED, HEDDLE_SIM_ATOMIC_MAX_S32, nullptr, lane.tid());
    lane.barrier(3);
    EXPECT_EQ(lane.loadShared<uint32_t>(4, 0), 63u);
    atomic(5, HEDDLE_SIM_GLOBAL, HEDDLE_SIM_ATOMIC_ADD_I32, &sums[0], lane.tid());
    atomic(6, HEDDLE_SIM_GLOBAL, HEDDLE_SIM_ATOMIC_ADD_F32, &floats[0], 0x3f000000);
    uint64_t address = uint64_t(uintptr_t(&sums[1]));
    uint64_t old = 0;
    for (uint64_t seen = ~uint64_t(0); old != seen;) {
      seen = old;
      old = heddle_sim_atomic_cas(lane.self, 7, HEDDLE_SIM_GLOBAL, 4, HEDDLE_SIM_RELAXED, address,
                                  seen, seen + 2);
    }
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(sums[0], 20u * 63 * 32);
  EXPECT_EQ(sums[1], 20u * 64 * 2);
  EXPECT_EQ(floats[0], 20 * 64 * 0.5f);
}

} // namespace
