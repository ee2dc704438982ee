//===- ThreadPool.cpp - the threads that share a module's work ------------===//
//
// How a job runs:
//   1. The calling thread takes a free slot, fills in the job, opens the slot and wakes workers.
//   2. Workers look through the slots. One that finds an open slot with a free seat takes chunks of
//      tasks from the slot's counter until none is left. The calling thread does the same.
//   3. When the counter is exhausted the calling thread closes the slot and waits for the workers
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
//===----------------------------------------------------------------------===//

#include "Message.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr int maxWorkers = 255;
constexpr int numSlots = 8;
constexpr int spinRounds = 2000;   // about 50 us of pause instructions
constexpr int chunksPerThread = 8; // enough to even out tasks of different length

inline void pauseSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// One running job. The counter that all threads write has a cache line of its own.
struct alignas(64) Slot {
  std::atomic<int> owned;
  std::atomic<int> open;
  std::atomic<int> seats;
  std::atomic<int> ownerSleeps;
  int64_t tasks;
  int64_t chunk;
  heddle_task_fn task;
  void *data;
  alignas(64) std::atomic<int64_t> next;
  alignas(64) std::atomic<int> visitors;
};

struct Pool {
  Slot slots[numSlots];
  alignas(64) std::atomic<uint32_t> epoch; // rises with every job opened
  std::atomic<int> sleeping;
  std::atomic<int> numWorkers;
  std::atomic<int> processors;
  std::atomic<int> full; // the system refused to create another worker
  std::atomic<int> stopping;
  pthread_mutex_t mutex;
  pthread_cond_t wake; // workers: a new epoch
  pthread_cond_t done; // owners: the last visitor left
  pthread_t workers[maxWorkers];
};

/// All zero bits is a valid state for every member under glibc and musl.
Pool pool;

/// Process that the pool's state belongs to; the negative value while it is being reset.
std::atomic<int> poolProcess;

/// Whether this thread is inside a task.
thread_local bool insideTask;

/// The number of processors that this process may run on.
int countProcessors() {
  int known = pool.processors.load(std::memory_order_relaxed);
  if (known > 0)
    return known;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    known = CPU_COUNT(&set);
  else // more processors than a cpu_set_t holds
    known = int(sysconf(_SC_NPROCESSORS_ONLN));
  known = known < 1 ? 1 : known;
  pool.processors.store(known, std::memory_order_relaxed);
  return known;
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
    pthread_mutex_init(&pool.mutex, nullptr);
    pthread_cond_init(&pool.wake, nullptr);
    pthread_cond_init(&pool.done, nullptr);
    poolProcess.store(process, std::memory_order_release);
    return;
  }
}

void runChunks(Slot &slot) {
  bool outer = insideTask;
  insideTask = true;
  for (;;) {
    int64_t begin = slot.next.fetch_add(slot.chunk, std::memory_order_relaxed);
    if (begin >= slot.tasks)
      break;
    int64_t left = slot.tasks - begin;
    slot.task(slot.data, begin, begin + (left < slot.chunk ? left : slot.chunk));
  }
  insideTask = outer;
}

void visit(Slot &slot) {
  if (!slot.open.load(std::memory_order_relaxed))
    return;
  slot.visitors.fetch_add(1);
  if (slot.open.load() && slot.seats.fetch_sub(1) > 0)
    runChunks(slot);
  if (slot.visitors.fetch_sub(1) == 1 && slot.ownerSleeps.load()) {
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.done);
    pthread_mutex_unlock(&pool.mutex);
  }
}

/// Waits until the epoch differs from `seen`: first spinning, then asleep.
void awaitWork(uint32_t seen) {
  for (int round = 0; round < spinRounds; ++round) {
    if (pool.epoch.load(std::memory_order_acquire) != seen)
      return;
    pauseSpinning();
  }
  pthread_mutex_lock(&pool.mutex);
  pool.sleeping.fetch_add(1);
  while (pool.epoch.load() == seen)
    pthread_cond_wait(&pool.wake, &pool.mutex);
  pool.sleeping.fetch_sub(1);
  pthread_mutex_unlock(&pool.mutex);
}

void *workerMain(void *) {
  while (!pool.stopping.load()) {
    uint32_t seen = pool.epoch.load(std::memory_order_acquire);
    for (Slot &slot : pool.slots)
      visit(slot);
    if (!pool.stopping.load())
      awaitWork(seen);
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
  pthread_mutex_lock(&pool.mutex);
  int count = pool.numWorkers.load();
  while (count < wanted && !pool.stopping.load() &&
         pthread_create(&pool.workers[count], nullptr, workerMain, nullptr) == 0)
    ++count;
  if (count < wanted)
    pool.full.store(1);
  pool.numWorkers.store(count, std::memory_order_release);
  pthread_mutex_unlock(&pool.mutex);
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
  int sleeping = pool.sleeping.load();
  if (sleeping == 0)
    return;
  pthread_mutex_lock(&pool.mutex);
  if (helpers >= sleeping)
    pthread_cond_broadcast(&pool.wake);
  else
    for (int i = 0; i < helpers; ++i)
      pthread_cond_signal(&pool.wake);
  pthread_mutex_unlock(&pool.mutex);
}

void awaitVisitors(Slot &slot) {
  for (int round = 0; round < spinRounds; ++round) {
    if (slot.visitors.load() == 0)
      return;
    pauseSpinning();
  }
  pthread_mutex_lock(&pool.mutex);
  slot.ownerSleeps.store(1);
  while (slot.visitors.load() != 0)
    pthread_cond_wait(&pool.done, &pool.mutex);
  slot.ownerSleeps.store(0);
  pthread_mutex_unlock(&pool.mutex);
}

void runOnPool(int threads, int64_t tasks, heddle_task_fn task, void *data) {
  growPool(threads - 1 < maxWorkers ? threads - 1 : maxWorkers);
  Slot *slot = pool.numWorkers.load() > 0 ? takeSlot() : nullptr;
  if (!slot)
    return task(data, 0, tasks);
  int64_t chunk = tasks / (int64_t(threads) * chunksPerThread);
  slot->tasks = tasks;
  slot->chunk = chunk > 0 ? chunk : 1;
  slot->task = task;
  slot->data = data;
  slot->next.store(0, std::memory_order_relaxed);
  slot->seats.store(threads - 1, std::memory_order_relaxed);
  slot->open.store(1);
  wakeWorkers(threads - 1);
  runChunks(*slot);
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
  pthread_mutex_lock(&pool.mutex);
  pool.stopping.store(1);
  int count = pool.numWorkers.exchange(0);
  pool.epoch.fetch_add(1);
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.mutex);
  for (int i = 0; i < count; ++i)
    if (!pthread_equal(pool.workers[i], pthread_self()))
      pthread_join(pool.workers[i], nullptr);
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
  int threads = usable && ctx->num_threads > 0 ? ctx->num_threads : countProcessors();
  if (threads > tasks)
    threads = int(tasks);
  if (threads > maxWorkers + 1)
    threads = maxWorkers + 1;
  if (threads == 1)
    return task(data, 0, tasks);
  runOnPool(threads, tasks, task, data);
}
