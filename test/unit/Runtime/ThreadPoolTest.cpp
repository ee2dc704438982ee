//===- ThreadPoolTest.cpp - heddle_rt_parallel_for ------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <string>
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

/// The ranges of tasks that were run, in their order of tasks, each with its thread.
struct Ranges {
  struct Range {
    int64_t begin, end;
    std::thread::id thread;
  };
  std::mutex mutex;
  std::vector<Range> all;

  static void run(void *data, int64_t begin, int64_t end) {
    auto *self = static_cast<Ranges *>(data);
    std::lock_guard<std::mutex> lock(self->mutex);
    self->all.push_back({begin, end, std::this_thread::get_id()});
  }
  /// All ranges together are tasks 0 to `tasks`.
  void expectWhole(int64_t tasks) {
    std::sort(all.begin(), all.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    int64_t next = 0;
    for (const Range &range : all) {
      EXPECT_EQ(range.begin, next);
      EXPECT_GT(range.end, range.begin);
      next = range.end;
    }
    EXPECT_EQ(next, tasks);
  }
};

// Ranges become smaller down to single tasks, so that the end of a job is shared by all.
TEST(ThreadPoolTest, HandsOutSmallerAndSmallerRanges) {
  heddle_context ctx = makeContext(4);
  Ranges ranges;
  heddle_rt_parallel_for(&ctx, 1000, Ranges::run, &ranges);
  ranges.expectWhole(1000);
  int64_t single = 0;
  for (const Ranges::Range &range : ranges.all) {
    // Never more than a quarter of a thread's share, and only at the share's beginning.
    EXPECT_LE(range.end - range.begin, std::max<int64_t>(1, (250 - range.begin % 250) / 4));
    single += range.end - range.begin == 1;
  }
  EXPECT_GE(single, 16);
}

// Each thread runs consecutive tasks while there are any: two threads that wait for each other's first task begin at the two ends of halves.
TEST(ThreadPoolTest, SharesAreConsecutive) {
  heddle_context ctx = makeContext(2);
  struct Shares {
    std::atomic<int> started{0};
    std::mutex mutex;
    std::vector<std::pair<std::thread::id, int64_t>> firsts;
    static void run(void *data, int64_t begin, int64_t) {
      auto *self = static_cast<Shares *>(data);
      {
        std::lock_guard<std::mutex> lock(self->mutex);
        for (auto &[thread, first] : self->firsts)
          if (thread == std::this_thread::get_id())
            return;
        self->firsts.emplace_back(std::this_thread::get_id(), begin);
      }
      ++self->started;
      while (self->started < 2)
        std::this_thread::yield();
    }
  } shares;
  heddle_rt_parallel_for(&ctx, 64, Shares::run, &shares);
  ASSERT_EQ(shares.firsts.size(), 2u);
  EXPECT_EQ(shares.firsts[0].second + shares.firsts[1].second, 32);
}

TEST(ThreadPoolTest, MoreThreadsThanShares) {
  heddle_context ctx = makeContext(80);
  for (int i = 0; i < 50; ++i) {
    Counts counts(5000);
    heddle_rt_parallel_for(&ctx, 5000, Counts::run, &counts);
    EXPECT_TRUE(counts.allAre(1));
  }
}

TEST(ThreadPoolTest, MoreTasksThan32Bits) {
  heddle_context ctx = makeContext(3);
  for (int64_t tasks : {int64_t(INT32_MAX) + 1, (int64_t(1) << 40) + 5}) {
    Ranges ranges;
    heddle_rt_parallel_for(&ctx, tasks, Ranges::run, &ranges);
    ranges.expectWhole(tasks);
  }
}

// As much work in the first task as in all others: the thread that has it gets no other one. Every task waits until somebody is at work
// on the first, so the outcome does not depend on timing.
TEST(ThreadPoolTest, UnevenTasks) {
  heddle_context ctx = makeContext(2);
  struct Uneven {
    std::atomic<int> others{0};
    std::atomic<bool> begun{false};
    static void run(void *data, int64_t begin, int64_t end) {
      auto *self = static_cast<Uneven *>(data);
      for (int64_t i = begin; i < end; ++i)
        if (i == 0) {
          EXPECT_EQ(end, 1) << "the first task shares its chunk";
          self->begun = true;
          while (self->others < 7)
            std::this_thread::yield();
        } else {
          while (!self->begun)
            std::this_thread::yield();
          ++self->others;
        }
    }
  } uneven;
  heddle_rt_parallel_for(&ctx, 8, Uneven::run, &uneven);
  EXPECT_EQ(uneven.others, 7);
}

TEST(ThreadPoolTest, MoreThreadsThanTasks) {
  for (int64_t tasks : {2, 3, 5}) {
    heddle_context ctx = makeContext(64);
    for (int i = 0; i < 200; ++i) {
      Counts counts(tasks);
      heddle_rt_parallel_for(&ctx, tasks, Counts::run, &counts);
      EXPECT_TRUE(counts.allAre(1)) << tasks;
    }
  }
}

/// Two tasks that wait for each other, so that a worker runs one of them, and where each ran.
struct Meeting {
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  std::atomic<int> callerCPU{-1}, workerCPU{-1}, worker{0};
  cpu_set_t workerMask;
  static void run(void *data, int64_t, int64_t) {
    auto *self = static_cast<Meeting *>(data);
    if (std::this_thread::get_id() == self->caller) {
      self->callerCPU = sched_getcpu();
    } else {
      self->workerCPU = sched_getcpu();
      self->worker = int(gettid());
      sched_getaffinity(0, sizeof(self->workerMask), &self->workerMask);
    }
    ++self->arrived;
    while (self->arrived < 2)
      std::this_thread::yield();
  }
};

/// Waits until a thread of this process sleeps; false if it doesn't for 20 s.
bool awaitSleep(int thread) {
  for (int round = 0; round < 20000; ++round) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    // "12 (name) S ...": the name may hold anything.
    size_t end = text.rfind(')');
    if (end != std::string::npos && text.compare(end, 3, ") S") == 0)
      return true;
    usleep(1000);
  }
  return false;
}

/// Lets a worker go to sleep on the processor of the caller, wakes it, and says what is wrong then.
std::string wakeBesideTheCaller() {
  cpu_set_t all, here;
  if (sched_getaffinity(0, sizeof(all), &all) != 0)
    return "no affinity mask";
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof(here), &here);
  heddle_context ctx = makeContext(2);
  Meeting first, second;
  heddle_rt_parallel_for(&ctx, 2, Meeting::run, &first);
  sched_setaffinity(first.worker, sizeof(here), &here);
  if (!awaitSleep(first.worker))
    return "the worker does not sleep";
  sched_setaffinity(first.worker, sizeof(all), &all);
  heddle_rt_parallel_for(&ctx, 2, Meeting::run, &second);
  if (second.worker != first.worker)
    return "another worker";
  if (second.workerCPU == second.callerCPU)
    return "worker and caller ran on one processor";
  return CPU_EQUAL(&second.workerMask, &all) ? "" : "the worker's mask has changed";
}

// Linux wakes a thread where it ran last. In a child, whose pool has no workers from other tests.
TEST(ThreadPoolTest, AWokenWorkerLeavesTheCallersProcessor) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2)
    GTEST_SKIP() << "needs two processors";
  for (int round = 0; round < 10; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::string wrong = wakeBesideTheCaller();
      fputs(wrong.c_str(), stderr);
      _exit(wrong.empty() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
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
