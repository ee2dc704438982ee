//===- ThreadPool.cpp - the threads that share a module's work ------------===//
//
// How a job runs:
//   1. The calling thread takes a free slot, fills in the job, opens the slot and wakes workers.
//   2. Workers look through the slots. One that finds an open slot with a free seat takes part, as
//      the calling thread does. Each has a share of consecutive tasks, which it takes in order:
//      what a task fetches ahead is then what the thread's next task needs. A thread whose share is
//      empty takes the later half of what another one has left. Single tasks are what changes
//      hands last: tasks may differ in length by much, as the query blocks of causal attention do,
//      and whoever gets the last ones should not be late.
//   3. When no share has tasks any more the calling thread closes the slot and waits for the workers
//      that are still inside. Nobody holds a lock while tasks run.
//
// Several calling threads use slots of their own; with no slot free a call runs on its own thread.
// Entering a slot is safe without a lock because a worker first announces itself (visitors), then
// looks whether the slot is open, while the owner first closes the slot, then waits for visitors to
// leave: with sequentially consistent accesses at least one of them sees the other.
//
// Workers are created when first needed, spin for some microseconds after a job, then sleep. When
// the module is unloaded they are stopped and joined, since their code disappears with it. A child
// made by fork() has none of them and starts over with an empty pool.
//
// Linux wakes a thread where it ran last. A worker that once ran on the processor of the calling
// thread, because all others were busy, would share it from then on, with a processor idle beside
// them: jobs of less than a scheduler's tick would take twice as long. So the calling thread takes
// its own processor out of the affinity mask of such a worker before it wakes it, and the worker
// puts it back.
//
//===----------------------------------------------------------------------===//

#include "Message.h"
#include "Processors.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include <atomic>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int maxWorkers = 255;
constexpr int numSlots = 8;
constexpr int64_t spinNanoseconds = 50000; // about what it costs to sleep and be woken

/// A thread runs this part of its share at once; others can't take it any more.
constexpr uint32_t chunksOfShare = 4;
constexpr int maxShares = 32;

/// Tasks [first, end) of a job, in the high and the low half of a word. A range that was taken never comes
/// back, so equal words are equal ranges.
struct alignas(64) Share {
  std::atomic<uint64_t> left;
};

struct Range {
  uint32_t first, end;

  explicit Range(uint64_t word) : first(uint32_t(word >> 32)), end(uint32_t(word)) {}
  Range(uint32_t first, uint32_t end) : first(first), end(end) {}
  bool isEmpty() const { return first >= end; }
  uint64_t word() const { return uint64_t(first) << 32 | end; }
};

/// One running job. What all threads write has cache lines of its own.
struct alignas(64) Slot {
  std::atomic<int> owned;
  std::atomic<int> open;
  int64_t tasks;
  int64_t unit; // tasks that shares count as one
  int threads, numShares;
  heddle_task_fn task;
  void *data;
  alignas(64) std::atomic<uint32_t> visitors;
  std::atomic<int> seats;
  std::atomic<int> ownerSleeps;
  Share shares[maxShares];
};

struct alignas(64) Worker {
  pthread_t thread;
  std::atomic<int> id;        // the kernel's number of the thread
  std::atomic<int> processor; // 1 + the one that it went to sleep on, 0 while it is awake
  enum Placement { Free, BeingMoved, Moved };
  std::atomic<int> placement;
  cpu_set_t allowed; // if Moved: its affinity mask without the change
};

struct Pool {
  Slot slots[numSlots];
  alignas(64) std::atomic<uint32_t> epoch; // rises with every job opened
  std::atomic<int> sleeping;
  alignas(64) std::atomic<int> numWorkers;
  std::atomic<int> processors;
  std::atomic<int> full; // the system refused to create another worker
  std::atomic<int> stopping;
  pthread_mutex_t growing;
  Worker workers[maxWorkers];
};

/// All zero bits is a valid state for every member under glibc and musl.
Pool pool;

/// Process that the pool's state belongs to; the negative value while it is being reset.
std::atomic<int> poolProcess;

/// Whether this thread is inside a task.
thread_local bool insideTask;

int knownProcessors() {
  int known = pool.processors.load(std::memory_order_relaxed);
  if (known == 0) {
    known = heddle::rt::countProcessors();
    pool.processors.store(known, std::memory_order_relaxed);
  }
  return known;
}

inline void pauseSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/// Whether `done` becomes true within the time that spinning is worth.
template <typename Condition> bool spinUntil(Condition done) {
  constexpr int roundsPerLook = 32;
  int64_t end = nanoseconds() + spinNanoseconds;
  do {
    for (int round = 0; round < roundsPerLook; ++round) {
      if (done())
        return true;
      pauseSpinning();
    }
  } while (nanoseconds() < end);
  return false;
}

/// Sleeps while `word` is `value`; may return early.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

/// Wakes up to `count` threads that sleep on `word`.
void wakeSleepers(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Starts over in a child process: the memory of the parent's pool is here, its threads are not.
void adoptPool() {
  int process = int(getpid());
  for (;;) {
    int owner = poolProcess.load(std::memory_order_acquire);
    if (owner == process)
      return;
    if (owner == -process) {
      pauseSpinning();
      continue;
    }
    if (!poolProcess.compare_exchange_strong(owner, -process))
      continue;
    memset(static_cast<void *>(&pool), 0, sizeof(pool));
    pthread_mutex_init(&pool.growing, nullptr);
    poolProcess.store(process, std::memory_order_release);
    return;
  }
}

/// Takes tasks of a share: some of the first, or the later half; none if it is empty.
Range take(Share &share, bool first) {
  uint64_t word = share.left.load(std::memory_order_relaxed);
  for (;;) {
    Range left(word);
    if (left.isEmpty())
      return left;
    uint32_t count = left.end - left.first, chunk = count / chunksOfShare;
    uint32_t cut = left.first + (first ? (chunk > 1 ? chunk : 1) : count / 2);
    Range head(left.first, cut), tail(cut, left.end);
    if (share.left.compare_exchange_weak(word, (first ? tail : head).word(),
                                         std::memory_order_relaxed))
      return first ? head : tail;
  }
}

void runRange(const Slot &slot, Range range) {
  int64_t begin = range.first * slot.unit, end = range.end * slot.unit;
  slot.task(slot.data, begin, end < slot.tasks ? end : slot.tasks);
}

/// Takes tasks of other shares to an empty one, or runs them if it is not empty any more; false if there are none.
bool takeFromOthers(Slot &slot, int own) {
  Share &share = slot.shares[own];
  uint64_t empty = share.left.load(std::memory_order_relaxed);
  for (int i = 1; i < slot.numShares; ++i) {
    Range taken = take(slot.shares[(own + i) % slot.numShares], /*first=*/false);
    if (taken.isEmpty())
      continue;
    bool isEmpty = Range(empty).isEmpty();
    if (!isEmpty ||
        !share.left.compare_exchange_strong(empty, taken.word(), std::memory_order_relaxed))
      runRange(slot, taken);
    return true;
  }
  return false;
}

/// Runs tasks until there are none. More threads than shares have the same ones.
void takePart(Slot &slot, int seat) {
  bool outer = insideTask;
  insideTask = true;
  int own = seat % slot.numShares;
  do {
    for (;;) {
      Range range = take(slot.shares[own], /*first=*/true);
      if (range.isEmpty())
        break;
      runRange(slot, range);
    }
  } while (takeFromOthers(slot, own));
  insideTask = outer;
}

void visit(Slot &slot) {
  if (!slot.open.load(std::memory_order_relaxed))
    return;
  slot.visitors.fetch_add(1);
  if (slot.open.load())
    if (int seats = slot.seats.fetch_sub(1); seats > 0)
      takePart(slot, slot.threads - seats);
  if (slot.visitors.fetch_sub(1) == 1 && slot.ownerSleeps.load())
    wakeSleepers(slot.visitors, 1);
}

/// Keeps a sleeping worker off a processor when it wakes. Without permission, or with no other
/// processor in its mask, all stays as it is.
void moveAway(Worker &worker, int processor) {
  int state = Worker::Free;
  if (!worker.placement.compare_exchange_strong(state, Worker::BeingMoved))
    return;
  int id = worker.id.load();
  bool moved = false;
  if (sched_getaffinity(id, sizeof(worker.allowed), &worker.allowed) == 0) {
    cpu_set_t others = worker.allowed;
    CPU_CLR(processor, &others);
    moved = CPU_COUNT(&others) > 0 && sched_setaffinity(id, sizeof(others), &others) == 0;
  }
  worker.placement.store(moved ? Worker::Moved : Worker::Free);
}

/// Waits until the epoch differs from `seen`: first spinning, then asleep.
void awaitWork(Worker &self, uint32_t seen) {
  if (spinUntil([&] { return pool.epoch.load(std::memory_order_acquire) != seen; }))
    return;
  self.processor.store(1 + sched_getcpu());
  pool.sleeping.fetch_add(1);
  while (pool.epoch.load() == seen)
    sleepWhile(pool.epoch, seen);
  pool.sleeping.fetch_sub(1);
  self.processor.store(0);
  if (self.placement.load() == Worker::Moved) {
    sched_setaffinity(0, sizeof(self.allowed), &self.allowed);
    self.placement.store(Worker::Free);
  }
}

void *workerMain(void *argument) {
  Worker &self = *static_cast<Worker *>(argument);
  self.id.store(int(syscall(SYS_gettid)));
  while (!pool.stopping.load()) {
    uint32_t seen = pool.epoch.load(std::memory_order_acquire);
    for (Slot &slot : pool.slots)
      visit(slot);
    if (!pool.stopping.load())
      awaitWork(self, seen);
  }
  return nullptr;
}

/// Creates workers until there are `wanted`, or as many as the system allows.
void growPool(int wanted) {
  if (pool.numWorkers.load(std::memory_order_acquire) >= wanted || pool.full.load())
    return;
  // Workers take no signals: the application's own threads handle those.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&pool.growing);
  int count = pool.numWorkers.load();
  while (count < wanted && !pool.stopping.load() &&
         pthread_create(&pool.workers[count].thread, nullptr, workerMain, &pool.workers[count]) ==
             0)
    ++count;
  if (count < wanted)
    pool.full.store(1);
  pool.numWorkers.store(count, std::memory_order_release);
  pthread_mutex_unlock(&pool.growing);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Slot *takeSlot() {
  for (Slot &slot : pool.slots) {
    int free = 0;
    if (!slot.owned.load(std::memory_order_relaxed) && slot.owned.compare_exchange_strong(free, 1))
      return &slot;
  }
  return nullptr;
}

void wakeWorkers(int helpers) {
  pool.epoch.fetch_add(1);
  if (pool.sleeping.load() == 0)
    return;
  int here = sched_getcpu();
  for (int i = 0, count = pool.numWorkers.load(); i < count; ++i)
    if (here >= 0 && pool.workers[i].processor.load() == 1 + here)
      moveAway(pool.workers[i], here);
  wakeSleepers(pool.epoch, helpers);
}

void awaitVisitors(Slot &slot) {
  if (spinUntil([&] { return slot.visitors.load() == 0; }))
    return;
  slot.ownerSleeps.store(1);
  while (uint32_t visitors = slot.visitors.load())
    sleepWhile(slot.visitors, visitors);
  slot.ownerSleeps.store(0);
}

void runOnPool(int threads, int64_t tasks, heddle_task_fn task, void *data) {
  growPool(threads - 1 < maxWorkers ? threads - 1 : maxWorkers);
  Slot *slot = pool.numWorkers.load() > 0 ? takeSlot() : nullptr;
  if (!slot)
    return task(data, 0, tasks);
  slot->tasks = tasks;
  slot->unit = 1 + tasks / INT32_MAX;
  slot->threads = threads;
  slot->numShares = threads < maxShares ? threads : maxShares;
  slot->task = task;
  slot->data = data;
  int64_t units = (tasks + slot->unit - 1) / slot->unit;
  auto boundary = [&](int share) { return uint32_t(units * share / slot->numShares); };
  for (int i = 0; i < slot->numShares; ++i)
    slot->shares[i].left.store(Range(boundary(i), boundary(i + 1)).word(),
                               std::memory_order_relaxed);
  slot->seats.store(threads - 1, std::memory_order_relaxed);
  slot->open.store(1);
  wakeWorkers(threads - 1);
  takePart(*slot, /*seat=*/0);
  slot->open.store(0);
  awaitVisitors(*slot);
  slot->owned.store(0, std::memory_order_release);
}

/// A task with the mark that nested calls look at, for thread pools that are not ours.
struct MarkedTask {
  heddle_task_fn task;
  void *data;
  static void run(void *self, int64_t begin, int64_t end) {
    auto *marked = static_cast<MarkedTask *>(self);
    bool outer = insideTask;
    insideTask = true;
    marked->task(marked->data, begin, end);
    insideTask = outer;
  }
};

/// Runs when the module is unloaded or the process ends.
__attribute__((destructor)) void stopPool() {
  if (poolProcess.load() != int(getpid()))
    return;
  pthread_mutex_lock(&pool.growing);
  pool.stopping.store(1);
  int count = pool.numWorkers.exchange(0);
  pthread_mutex_unlock(&pool.growing);
  pool.epoch.fetch_add(1);
  wakeSleepers(pool.epoch, count);
  for (int i = 0; i < count; ++i)
    if (!pthread_equal(pool.workers[i].thread, pthread_self()))
      pthread_join(pool.workers[i].thread, nullptr);
}

} // namespace

extern "C" void heddle_rt_parallel_for(heddle_context *ctx, int64_t tasks, heddle_task_fn task,
                                       void *data) {
  if (tasks <= 0)
    return;
  bool usable = heddle::rt::isUsable(ctx);
  if (tasks == 1 || insideTask || (usable && ctx->num_threads == 1))
    return task(data, 0, tasks);
  if (usable && ctx->parallel_for) {
    MarkedTask marked{task, data};
    return ctx->parallel_for(ctx->parallel_for_user, tasks, MarkedTask::run, &marked);
  }
  adoptPool();
  int threads = usable && ctx->num_threads > 0 ? ctx->num_threads : knownProcessors();
  if (threads > tasks)
    threads = int(tasks);
  if (threads > maxWorkers + 1)
    threads = maxWorkers + 1;
  if (threads == 1)
    return task(data, 0, tasks);
  runOnPool(threads, tasks, task, data);
}
