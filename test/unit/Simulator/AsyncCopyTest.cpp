//===- AsyncCopyTest.cpp - cp.async ---------------------------------------===//

#include "Kernels.h"
#include <gmock/gmock.h>
#include <numeric>

using namespace heddle::test;
using testing::HasSubstr;

namespace {

class AsyncCopyTest : public testing::Test {
protected:
  AsyncCopyTest() : in(256) {
    std::iota(in.begin(), in.end(), 1u);
    launch.shared = 2048;
    launch.buffers = {bufferOf("in", in, false)};
  }

  std::vector<uint32_t> in;
  Launch launch;
};

TEST_F(AsyncCopyTest, CopiesOfAllSizesWithZeroFill) {
  for (uint32_t size : {4u, 8u, 16u})
    for (uint32_t sourceSize = 0; sourceSize <= size; ++sourceSize) {
      Result result = run(launch, [&](Lane lane) {
        uint32_t words = size / 4, to = lane.tid() * size;
        const uint32_t *from = &in[lane.tid() * words];
        // A source of which nothing is read may lie anywhere.
        lane.copyAsync(0, to, sourceSize ? from : in.data() + 4096, size, sourceSize);
        lane.commit(1);
        lane.wait(2, 0);
        for (uint32_t byte = 0; byte < size; ++byte) {
          uint8_t expected = reinterpret_cast<const uint8_t *>(from)[byte];
          EXPECT_EQ(lane.loadShared<uint8_t>(3, to + byte), byte < sourceSize ? expected : 0);
        }
      });
      EXPECT_TRUE(result.isClean()) << size << " " << sourceSize;
    }
}

TEST_F(AsyncCopyTest, LandsAtTheWaitForItsGroup) {
  launch.threads = 1;
  launch.check = 0; // to look at memory while copies are in flight
  Result result = run(launch, [&](Lane lane) {
    auto landed = [&] {
      uint32_t set = 0;
      for (uint32_t i = 0; i < 4; ++i)
        set |= uint32_t(lane.loadShared<uint32_t>(5, i * 4) == in[i]) << i;
      return set;
    };
    lane.copyAsync(0, 0, &in[0], 4, 4);
    lane.copyAsync(0, 4, &in[1], 4, 4);
    lane.commit(1);
    lane.copyAsync(0, 8, &in[2], 4, 4);
    lane.commit(1);
    lane.commit(1); // empty groups count
    EXPECT_EQ(landed(), 0u);
    lane.wait(2, 3);
    EXPECT_EQ(landed(), 0u);
    lane.wait(2, 2);
    EXPECT_EQ(landed(), 3u);
    lane.copyAsync(0, 12, &in[3], 4, 4);
    lane.wait(2, 0);
    EXPECT_EQ(landed(), 7u); // the last copy belongs to no group yet
    heddle_sim_cp_async_wait_all(lane.self, 3);
    EXPECT_EQ(landed(), 15u);
  });
  EXPECT_TRUE(result.isClean());
}

TEST_F(AsyncCopyTest, ReadBeforeTheWait) {
  auto kernel = [&](uint32_t pending) {
    return [&, pending](Lane lane) {
      uint32_t address = lane.tid() * 16;
      lane.copyAsync(0, address, &in[lane.tid() * 4], 16, 16);
      lane.commit(1);
      lane.commit(1);
      lane.wait(2, pending);
      EXPECT_EQ(lane.loadShared<uint32_t>(3, address + 4),
                pending == 1 ? in[lane.tid() * 4 + 1] : ~0u);
    };
  };
  EXPECT_TRUE(run(launch, kernel(1)).isClean());
  Result result = run(launch, kernel(2));
  const heddle_sim_report &report = result.only(HEDDLE_SIM_ASYNC_READ);
  EXPECT_EQ(report.op, 3u);
  EXPECT_EQ(report.other_op, 0u);
  EXPECT_EQ(report.thread, report.other_thread);
  EXPECT_THAT(result.text(), HasSubstr("which is the destination of a copy that thread 0 (warp 0, "
                                       "lane 0) started at op 0 'a' and has not waited for"));
}

TEST_F(AsyncCopyTest, OverwriteBeforeTheWait) {
  auto kernel = [&](bool waits) {
    return [&, waits](Lane lane) {
      lane.copyAsync(0, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
      lane.commit(1);
      if (waits)
        lane.wait(2, 0);
      lane.storeShared<uint32_t>(3, lane.tid() * 16 + 8, 5);
      lane.wait(2, 0);
    };
  };
  EXPECT_TRUE(run(launch, kernel(true)).isClean());
  Result result = run(launch, kernel(false));
  const heddle_sim_report &report = result.only(HEDDLE_SIM_ASYNC_OVERWRITE);
  EXPECT_EQ(report.op, 3u);
  EXPECT_EQ(report.new_value, 5u);
}

TEST_F(AsyncCopyTest, TwoCopiesToOnePlace) {
  auto kernel = [&](bool waits) {
    return [&, waits](Lane lane) {
      for (int i = 0; i < 2; ++i) {
        lane.copyAsync(0, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
        lane.commit(1);
        if (waits)
          lane.wait(2, 0);
      }
      lane.wait(2, 0);
    };
  };
  EXPECT_TRUE(run(launch, kernel(true)).isClean());
  run(launch, kernel(false)).only(HEDDLE_SIM_ASYNC_OVERWRITE);
}

TEST_F(AsyncCopyTest, OthersNeedABarrierAfterTheWait) {
  launch.threads = 64;
  auto kernel = [&](bool barrier) {
    return [&, barrier](Lane lane) {
      lane.copyAsync(0, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
      lane.commit(1);
      lane.wait(2, 0);
      if (barrier)
        lane.barrier(3);
      // Warp 1 reads what warp 0 copied.
      if (lane.warp() == 1)
        EXPECT_EQ(lane.loadShared<uint32_t>(4, lane.lane() * 16), in[lane.lane() * 4]);
    };
  };
  EXPECT_TRUE(run(launch, kernel(true)).isClean());
  run(launch, kernel(false)).only(HEDDLE_SIM_RACE);
}

TEST_F(AsyncCopyTest, TheBarrierAloneIsNotEnough) {
  launch.threads = 64;
  auto kernel = [&](uint32_t pending) {
    return [&, pending](Lane lane) {
      lane.copyAsync(0, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
      lane.commit(1);
      lane.wait(2, pending);
      lane.barrier(3);
      lane.loadShared<uint32_t>(4, (lane.tid() ^ 32) * 16);
      lane.barrier(5);
      lane.wait(6, 0);
    };
  };
  EXPECT_TRUE(run(launch, kernel(0)).isClean());
  run(launch, kernel(1)).only(HEDDLE_SIM_ASYNC_READ);
}

TEST_F(AsyncCopyTest, RefillOfABufferThatIsStillRead) {
  launch.threads = 64;
  auto kernel = [&](bool barrier) {
    return [&, barrier](Lane lane) {
      lane.copyAsync(0, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
      lane.commit(1);
      lane.wait(2, 0);
      lane.barrier(3);
      lane.loadShared<uint32_t>(4, (lane.tid() ^ 32) * 16);
      if (barrier)
        lane.barrier(5);
      if (lane.warp() == 1) {
        lane.copyAsync(6, lane.tid() * 16, &in[lane.tid() * 4], 16, 16);
        lane.commit(1);
        lane.wait(2, 0);
      }
    };
  };
  EXPECT_TRUE(run(launch, kernel(true)).isClean());
  // Found whichever warp comes first: as a write after a read, or as a read of a copy.
  for (uint64_t seed = 0; seed < 6; ++seed) {
    launch.seed = seed;
    Result result = run(launch, kernel(false));
    ASSERT_EQ(result->num_reports, 1u) << result.text();
    EXPECT_EQ(std::max(result->reports[0].op, result->reports[0].other_op), 6u);
  }
}

TEST_F(AsyncCopyTest, BoundsAndAlignment) {
  launch.threads = 1;
  auto copy = [&](uint32_t to, const uint32_t *from, uint32_t size, uint32_t sourceSize) {
    return run(launch, [&](Lane lane) {
      lane.copyAsync(0, to, from, size, sourceSize);
      lane.commit(1);
      lane.wait(2, 0);
    });
  };
  EXPECT_TRUE(copy(2032, &in[252], 16, 16).isClean());
  EXPECT_TRUE(copy(0, &in[252] + 2, 8, 8).isClean());
  copy(2048, &in[0], 16, 16).only(HEDDLE_SIM_OUT_OF_BOUNDS);
  copy(0, in.data() + 256, 16, 16).only(HEDDLE_SIM_OUT_OF_BOUNDS);
  copy(0, in.data() + 256, 16, 1).only(HEDDLE_SIM_OUT_OF_BOUNDS);
  copy(8, &in[0], 16, 16).only(HEDDLE_SIM_MISALIGNED);
  copy(0, &in[1], 8, 4).only(HEDDLE_SIM_MISALIGNED);
  copy(0, &in[0], 12, 12).only(HEDDLE_SIM_INVALID_OPERAND);
  copy(0, &in[0], 8, 16).only(HEDDLE_SIM_INVALID_OPERAND);
}

} // namespace
