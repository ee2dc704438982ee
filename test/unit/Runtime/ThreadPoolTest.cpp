//===- ThreadPoolTest.cpp - heddle_rt_parallel_for ------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

heddle_context makeContext(int32_t threads) {
  heddle_context ctx = {};
  ctx.struct_size = sizeof(ctx);
  ctx.num_threads = threads;
  return ctx;
}

/// Counts how often each task is done.
struct Counts {
  std::vector<std::atomic<int>> done;
  explicit Counts(int64_t tasks) : done(size_t(tasks)) {}
  static void run(void *data, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      static_cast<Counts *>(data)->done[size_t(i)].fetch_add(1);
  }
  bool allAre(int expected) const {
    for (const std::atomic<int> &count : done)
      if (count != expected)
        return false;
    return true;
  }
};

TEST(ThreadPoolTest, DoesEveryTaskOnce) {
  for (int32_t threads = 0; threads <= 8; ++threads)
    for (int64_t tasks : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
      heddle_context ctx = makeContext(threads);
      Counts counts(tasks);
      heddle_rt_parallel_for(&ctx, tasks, Counts::run, &counts);
      EXPECT_TRUE(counts.allAre(1)) << threads << " threads, " << tasks << " tasks";
    }
}

TEST(ThreadPoolTest, ManyShortJobs) {
  heddle_context ctx = makeContext(4);
  Counts counts(16);
  for (int i = 0; i < 20000; ++i)
    heddle_rt_parallel_for(&ctx, 16, Counts::run, &counts);
  EXPECT_TRUE(counts.allAre(20000));
}

TEST(ThreadPoolTest, WakesAfterSleeping) {
  heddle_context ctx = makeContext(4);
  Counts counts(64);
  for (int i = 0; i < 20; ++i) {
    heddle_rt_parallel_for(&ctx, 64, Counts::run, &counts);
    usleep(2000); // long past the spinning
  }
  EXPECT_TRUE(counts.allAre(20));
}

TEST(ThreadPoolTest, UsesOtherThreads) {
  heddle_context ctx = makeContext(4);
  struct Meeting {
    std::atomic<int> arrived{0};
    static void run(void *data, int64_t begin, int64_t end) {
      // Each task waits for the others, so four threads must be at work.
      auto *self = static_cast<Meeting *>(data);
      EXPECT_EQ(end, begin + 1);
      self->arrived.fetch_add(1);
      while (self->arrived.load() < 4)
        std::this_thread::yield();
    }
  } meeting;
  heddle_rt_parallel_for(&ctx, 4, Meeting::run, &meeting);
  EXPECT_EQ(meeting.arrived, 4);
}

TEST(ThreadPoolTest, RunsDirectlyOnOneThread) {
  heddle_context ctx = makeContext(1);
  struct Here {
    std::thread::id caller = std::this_thread::get_id();
    int64_t calls = 0;
    static void run(void *data, int64_t begin, int64_t end) {
      auto *self = static_cast<Here *>(data);
      EXPECT_EQ(std::this_thread::get_id(), self->caller);
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 100);
      ++self->calls;
    }
  } here;
  heddle_rt_parallel_for(&ctx, 100, Here::run, &here);
  EXPECT_EQ(here.calls, 1);
}

struct Nested {
  heddle_context *ctx;
  Counts inner{64};
  std::atomic<int> splits{0};
  static void runInner(void *data, int64_t begin, int64_t end) {
    auto *self = static_cast<Nested *>(data);
    self->splits += begin != 0 || end != 64;
    Counts::run(&self->inner, begin, end);
  }
  static void runOuter(void *data, int64_t begin, int64_t end) {
    auto *self = static_cast<Nested *>(data);
    for (int64_t i = begin; i < end; ++i)
      heddle_rt_parallel_for(self->ctx, 64, runInner, self);
  }
};

TEST(ThreadPoolTest, NestedCallsRunDirectly) {
  heddle_context ctx = makeContext(4);
  Nested nested{&ctx};
  heddle_rt_parallel_for(&ctx, 100, Nested::runOuter, &nested);
  EXPECT_TRUE(nested.inner.allAre(100));
  EXPECT_EQ(nested.splits, 0);
}

TEST(ThreadPoolTest, ManyCallersAtOnce) {
  // More callers than the pool has slots.
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 12; ++caller)
    callers.emplace_back([&, caller] {
      heddle_context ctx = makeContext(1 + caller % 8);
      for (int i = 0; i < 500; ++i) {
        Counts counts(1 + (i * 7) % 50);
        heddle_rt_parallel_for(&ctx, int64_t(counts.done.size()), Counts::run, &counts);
        wrong += !counts.allAre(1);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPoolTest, UsesTheCallersParallelFor) {
  heddle_context ctx = makeContext(0);
  static int64_t calls;
  calls = 0;
  static char user;
  ctx.parallel_for_user = &user;
  ctx.parallel_for = [](void *given, int64_t tasks, heddle_task_fn task, void *data) {
    EXPECT_EQ(given, &user);
    ++calls;
    for (int64_t i = tasks; i-- > 0;)
      task(data, i, i + 1);
  };
  Nested nested{&ctx};
  heddle_rt_parallel_for(&ctx, 10, Nested::runOuter, &nested);
  EXPECT_TRUE(nested.inner.allAre(10));
  EXPECT_EQ(nested.splits, 0);
  EXPECT_EQ(calls, 1);
  ctx.num_threads = 1;
  heddle_rt_parallel_for(&ctx, 10, Nested::runOuter, &nested);
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPoolTest, WorksInAForkedChild) {
  heddle_context ctx = makeContext(4);
  Counts before(100);
  heddle_rt_parallel_for(&ctx, 100, Counts::run, &before);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counts counts(1000);
    heddle_rt_parallel_for(&ctx, 1000, Counts::run, &counts);
    _exit(counts.allAre(1) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  heddle_rt_parallel_for(&ctx, 100, Counts::run, &before);
  EXPECT_TRUE(before.allAre(2));
}

} // namespace
