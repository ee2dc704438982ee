//===- Machine.h - threads, warps and CTAs in execution -------------------===//
//
// A CTA is run by one host thread. Its fibers jump to one another directly: a lane that must wait
// jumps to the next lane of its warp that can run, then to the next warp; when nobody can run, to
// the host thread, which finds out why.
//
// How lanes meet: the first lane at a collective opens a meeting, the others join it by giving the
// same key, and the last one does the work of all and goes on; the rest can run again. A meeting
// that lacks lanes when no lane of the warp can run any more is a divergence. Barriers are meetings
// too; what the last lane does there may be to leave the warp waiting.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_MACHINE_H
#define HEDDLE_LIB_SIMULATOR_MACHINE_H

#include "Counters.h"
#include "Fiber.h"
#include "GlobalBuffers.h"
#include "GlobalOrder.h"
#include "GlobalShadow.h"
#include "Reports.h"
#include "Shadow.h"
#include "WarpClock.h"
#include "heddle/Simulator/Device.h"
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

class CTA;
struct AccessInfo;
struct Warp;

struct AsyncCopy {
  uint64_t source;
  uint32_t destination;
  uint32_t op;
  uint8_t copySize, sourceSize;
};

/// The copies of one thread, oldest first.
struct AsyncQueue {
  std::vector<AsyncCopy> copies;
  std::vector<size_t> groupEnds; // of committed groups, as indices into copies

  void clear() {
    copies.clear();
    groupEnds.clear();
  }
};

} // namespace heddle::sim

/// A thread; generated code holds pointers to it.
struct alignas(64) heddle_sim_thread : heddle::sim::Fiber {
  heddle::sim::CTA *cta;
  heddle::sim::Warp *warp;
  uint32_t lane;
  uint32_t index; // in the CTA
  uint32_t tid[3];
  uint32_t bufferHint; // of GlobalBuffers::find
  uint32_t releases;   // fences and releases so far
  uint32_t released;   // their number at the last that strong writes leave; 0: none
  std::unique_ptr<heddle::sim::GlobalOrder>
      order; // null: nothing but barriers has told it anything
  heddle::sim::AsyncQueue async;
  std::vector<heddle::sim::LogEntry> log;
};

namespace heddle::sim {

using Thread = heddle_sim_thread;

enum class Collective : uint8_t {
  Mma,
  Ldmatrix,
  Movmatrix,
  Shuffle,
  Vote,
  MatchAny,
  MatchAll,
  Redux,
  WarpSync,
  BarrierSync,
  BarrierArrive,
  BarrierReduce
};

/// Lanes meet if they agree on all of this.
struct MeetingKey {
  Collective kind;
  uint8_t mode; // what the instruction's name says beyond the kind
  uint32_t op;
  uint32_t mask;

  bool operator==(const MeetingKey &other) const {
    return kind == other.kind && mode == other.mode && op == other.op && mask == other.mask;
  }
};

/// Does the work of all `lanes`, whose operands are in warp.operands. False: they have to wait.
using MeetingFunction = bool (*)(Warp &warp, const MeetingKey &key, uint32_t lanes);

struct Meeting {
  MeetingKey key;
  uint32_t arrived;
  MeetingFunction function;
};

struct Warp {
  CTA *cta;
  uint32_t index;
  Thread *lanes; // 32, or fewer in the last warp
  uint32_t exists;
  uint32_t live;
  // The next three are sets of positions in the order that lanes run in.
  uint32_t ready;
  uint32_t yielded; // can run, but let others go first
  uint32_t logFull;
  uint8_t laneAt[32], positionOf[32];
  bool inOrder; // lane = position
  bool hasLog;
  bool atBarrier;
  uint32_t barrier; // where it waits
  uint32_t numMeetings;
  Meeting meetings[32];
  void *operands[32];
  WarpClock clock;

  uint32_t positions(uint32_t laneSet) const {
    if (inOrder || laneSet == ~0u)
      return laneSet;
    uint32_t result = 0;
    for (; laneSet; laneSet &= laneSet - 1)
      result |= 1u << positionOf[__builtin_ctz(laneSet)];
    return result;
  }
  /// Lanes that a meeting still waits for.
  uint32_t missing(const Meeting &meeting) const;
  template <typename T> T &operand(uint32_t lane) { return *static_cast<T *>(operands[lane]); }
};

struct Barrier {
  bool active;
  bool wholeCTA; // no count was given
  bool reduces;
  uint32_t expected, arrived; // in threads
  uint32_t waiting, arriving; // sets of warps
  uint32_t op, firstWarp;
  uint32_t reduction;
  uint32_t votes, voters; // of bar.red
  VectorClock told;
  GlobalOrder order;
};

/// What each lane brings to a barrier.
struct BarrierOperands {
  uint32_t barrier, threads, reduction, predicate;
  uint32_t result;
};

constexpr uint32_t kNumBarriers = 16;

/// What all CTAs of a launch share.
struct LaunchState {
  heddle_sim_kernel kernel;
  heddle_sim_config config;
  heddle_sim_options options;
  void **args;
  uint32_t numThreads, numWarps; // of a CTA
  GlobalBuffers buffers;
  std::vector<std::unique_ptr<GlobalShadow>> globalShadows; // of writable buffers, by number
  mutable std::atomic<bool> ordersByMemory; // some thread has run a fence or a release
};

class CTA {
public:
  /// Gets stacks and memory for a launch; false if there are none.
  bool prepare(const LaunchState &launch);

  /// Runs a CTA from start to end.
  void run(const uint32_t (&id)[3], uint64_t linearIndex);

  //===-- Called by running threads --------------------------------------===//

  /// The calling lane comes to a collective of the lanes key.mask; see above.
  void meet(Thread &self, const MeetingKey &key, void *operands, MeetingFunction function);

  /// Lets all other threads that can run go first. A CTA whose threads do nothing else for long
  /// is ended: they poll for what never comes.
  void yield(Thread &self);
  void noteProgress() { idleYields = 0; }

  /// A warp comes to a barrier as a whole; false: it has to wait. Operands are BarrierOperands.
  bool comeToBarrier(Warp &warp, const MeetingKey &key, uint32_t lanes);

  /// Host address of [address, address + size) of shared memory, or null.
  char *sharedPointer(uint64_t address, uint32_t size) {
    uint64_t offset = address - state->config.shared_base;
    uint64_t bytes = state->config.shared_bytes;
    if (address < state->config.shared_base || offset > bytes || size > bytes - offset)
      return nullptr;
    return shared + offset;
  }

  bool checks(uint32_t bits) const { return state->options.check & bits; }
  bool hasShadow() const { return shadowInUse; }

  /// Records an access of shared memory, which must be inside it, and reports a conflict.
  void follow(Thread &self, AccessKind kind, uint32_t address, uint32_t size, bool wholeWarp,
              uint32_t op, uint64_t newValue);
  void reportConflict(const Conflict &conflict, Thread &self, AccessKind kind, uint32_t address,
                      uint32_t size, uint32_t op, uint64_t newValue);
  /// The same for global memory, of which writable buffers are followed.
  /// `releases`: that the access counts as one before.
  void followGlobal(Thread &self, const AccessInfo &access, uint32_t releases);

  /// What threads share at a barrier or warp sync.
  static void tell(GlobalOrder &order, const Thread &self) {
    if (self.order)
      order.join(*self.order);
  }
  static void hear(Thread &self, const GlobalOrder &order) {
    if (!self.order)
      self.order = std::make_unique<GlobalOrder>();
    self.order->join(order);
  }

  /// Notes what a lane did by itself. May let other lanes run.
  void log(Thread &self, const LogEntry &entry) {
    if (!counters)
      return;
    self.log.push_back(entry);
    self.warp->hasLog = true;
    if (self.log.size() >= kMaxLog)
      waitForLogs(self);
  }

  /// Adds a report about `self` (null: none). `text` makes what comes after the thread and its
  /// operation; it is called only where the report is new.
  void report(Report report, const Thread *self, const std::function<std::string()> &text);
  /// Ends the CTA as soon as the caller jumps.
  void endAfterReport() { abandoned = true; }
  /// Ends the CTA.
  [[noreturn]] void abandon(Thread &self);

  std::string nameThread(uint32_t thread) const;
  std::string nameOp(uint32_t op) const;

  const LaunchState *state = nullptr;
  uint32_t id[3];
  uint64_t linearIndex = 0;
  char *shared = nullptr;
  Shadow shadow;
  uint32_t epoch = 0;       // barriers of the whole CTA
  bool sharesOrder = false; // some thread has a GlobalOrder
  std::unique_ptr<Counters> counters;
  ReportList reports;
  Barrier barriers[kNumBarriers];
  std::vector<Warp> warps;
  CTA *nextSpare = nullptr; // of CTAs that no launch uses

private:
  static void fiberMain(boost::context::detail::transfer_t transfer);
  void startThreads();

  Fiber &nextFiber(Warp &warp);
  static Fiber &takeLane(Warp &warp) {
    uint32_t position = uint32_t(__builtin_ctz(warp.ready));
    warp.ready &= warp.ready - 1;
    return warp.lanes[warp.laneAt[position]];
  }
  bool canRun(Warp &warp);
  void leave(Thread &self) {
    Warp &warp = *self.warp;
    jump(self, warp.ready && !abandoned ? takeLane(warp) : nextFiber(warp));
  }
  [[noreturn]] void exitThread(Thread &self);
  [[noreturn]] void refuseMask(Thread &self, const MeetingKey &key);
  bool complete(Warp &warp, uint32_t meeting);
  void waitForLogs(Thread &self);
  void countWarpLogs(Warp &warp);

  void completeIfAllCame(uint32_t barrier);
  void releaseWarp(Warp &warp);

  void reportDivergence(Warp &warp);
  void reportDeadlock();
  void reportLivelock();
  void reportLeftovers();

  FiberStacks stacks;
  std::vector<Thread> threads;
  std::vector<char> sharedMemory;
  Fiber host;
  // Sets of positions in the order that warps run in.
  uint32_t readyWarps = 0, yieldedWarps = 0;
  uint8_t warpAt[kMaxWarps], warpPosition[kMaxWarps];
  uint32_t liveWarps = 0;
  uint64_t idleYields = 0; // since anything but polling happened
  bool abandoned = false;
  bool shadowInUse = false;
};

/// A random sequence that depends on the seed only.
struct SplitMix {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

/// Fills order with 0 ... count-1, permuted unless the seed is 0.
template <typename T> void makeOrder(T *order, uint64_t count, uint64_t seed) {
  for (uint64_t i = 0; i < count; ++i)
    order[i] = T(i);
  SplitMix random = {seed};
  for (uint64_t i = count; seed && i > 1; --i)
    std::swap(order[i - 1], order[random.next() % i]);
}

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_MACHINE_H
