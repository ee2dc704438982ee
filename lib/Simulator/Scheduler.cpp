//===- Scheduler.cpp - who runs next, and how lanes meet ------------------===//

#include "Machine.h"
#include <cstring>

using namespace heddle::sim;

/// Jumps of threads that only poll before that counts as a deadlock.
static constexpr uint64_t kMaxIdleYields = uint64_t(1) << 24;

bool CTA::prepare(const LaunchState &launch) {
  state = &launch;
#ifdef HEDDLE_SIM_ASAN
  constexpr uint32_t defaultStack = 256 << 10;
#else
  constexpr uint32_t defaultStack = 64 << 10;
#endif
  uint32_t stackBytes = launch.options.stack_bytes;
  if (!stacks.reserve(launch.numThreads, stackBytes ? stackBytes : defaultStack))
    return false;
  if (threads.size() < launch.numThreads)
    threads = std::vector<Thread>(launch.numThreads);
  if (warps.size() < launch.numWarps)
    warps = std::vector<Warp>(launch.numWarps);
  sharedMemory.resize(launch.config.shared_bytes + 128);
  uint64_t address = reinterpret_cast<uintptr_t>(sharedMemory.data());
  shared = sharedMemory.data() + (128 - address % 128);
  shadowInUse =
      checks(HEDDLE_SIM_CHECK_UNINITIALIZED | HEDDLE_SIM_CHECK_RACES | HEDDLE_SIM_CHECK_ASYNC) &&
      launch.config.shared_bytes;
  counters = launch.options.count ? std::make_unique<Counters>(launch.kernel.num_ops) : nullptr;
  reports = ReportList();
  return true;
}

void CTA::startThreads() {
  const uint32_t *block = state->config.block;
  uint64_t seed = state->options.seed;
  SplitMix random = {seed ^ (linearIndex * 0x9e3779b97f4a7c15)};
  auto nextSeed = [&] { return seed ? random.next() | 1 : 0; };

  makeOrder(warpAt, state->numWarps, nextSeed());
  for (uint32_t i = 0; i < state->numWarps; ++i)
    warpPosition[warpAt[i]] = uint8_t(i);
  readyWarps = state->numWarps == 32 ? ~0u : (1u << state->numWarps) - 1;
  yieldedWarps = 0;
  liveWarps = state->numWarps;

  for (uint32_t i = 0; i < state->numWarps; ++i) {
    Warp &warp = warps[i];
    uint32_t lanes = std::min(32u, state->numThreads - i * 32);
    warp.cta = this;
    warp.index = i;
    warp.lanes = &threads[i * 32];
    warp.exists = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.live = warp.ready = warp.exists;
    warp.yielded = warp.logFull = 0;
    makeOrder(warp.laneAt, lanes, nextSeed());
    for (uint32_t lane = 0; lane < lanes; ++lane)
      warp.positionOf[warp.laneAt[lane]] = uint8_t(lane);
    warp.inOrder = seed == 0;
    warp.hasLog = warp.atBarrier = false;
    warp.numMeetings = 0;
    warp.clock.reset();
  }
  for (uint32_t i = 0; i < state->numThreads; ++i) {
    Thread &thread = threads[i];
    thread.cta = this;
    thread.warp = &warps[i / 32];
    thread.lane = i % 32;
    thread.index = i;
    thread.tid[0] = i % block[0];
    thread.tid[1] = i / block[0] % block[1];
    thread.tid[2] = i / block[0] / block[1];
    thread.bufferHint = 0;
    thread.releases = thread.released = 0;
    thread.order.reset();
    thread.async.clear();
    thread.log.clear();
    stacks.prepare(thread, i, fiberMain);
  }
}

void CTA::run(const uint32_t (&ctaId)[3], uint64_t index) {
  std::copy(ctaId, ctaId + 3, id);
  linearIndex = index;
  abandoned = false;
  idleYields = 0;
  epoch = 0;
  sharesOrder = false;
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  std::memset(shared, 0xff, state->config.shared_bytes);
  if (shadowInUse)
    shadow.reset(state->config.shared_bytes, state->numWarps, checks(HEDDLE_SIM_CHECK_RACES),
                 checks(HEDDLE_SIM_CHECK_UNINITIALIZED));
  startThreads();
  jump(host, nextFiber(warps[warpAt[0]]));
  if (!abandoned && liveWarps)
    reportDeadlock();
  else if (!abandoned && checks(HEDDLE_SIM_CHECK_SYNC))
    reportLeftovers();
  for (uint32_t i = 0; i < state->numWarps; ++i)
    if (warps[i].hasLog)
      countWarpLogs(warps[i]);
}

void CTA::fiberMain(boost::context::detail::transfer_t transfer) {
  Thread &self = static_cast<Thread &>(enter(transfer));
  self.cta->state->kernel.function(&self, self.cta->state->args);
  self.cta->exitThread(self);
}

/// Whether a lane of the warp can run now. A warp that never can again ends the CTA.
bool CTA::canRun(Warp &warp) {
  if (warp.ready)
    return true;
  if (warp.yielded) {
    yieldedWarps |= 1u << warpPosition[warp.index];
    return false;
  }
  if (warp.logFull) {
    countWarpLogs(warp);
    warp.ready = warp.logFull;
    warp.logFull = 0;
    return true;
  }
  if (warp.live && !warp.atBarrier && !abandoned) {
    reportDivergence(warp);
    abandoned = true;
  }
  return false;
}

/// The fiber to go on with when a lane of `warp` cannot.
Fiber &CTA::nextFiber(Warp &warp) {
  if (!abandoned && canRun(warp))
    return takeLane(warp);
  readyWarps &= ~(1u << warpPosition[warp.index]);
  while (!abandoned) {
    if (!readyWarps) {
      if (!yieldedWarps)
        break;
      readyWarps = yieldedWarps;
      yieldedWarps = 0;
      for (uint32_t rest = readyWarps; rest; rest &= rest - 1) {
        Warp &other = warps[warpAt[__builtin_ctz(rest)]];
        other.ready |= other.yielded;
        other.yielded = 0;
      }
    }
    Warp &other = warps[warpAt[__builtin_ctz(readyWarps)]];
    if (canRun(other))
      return takeLane(other);
    readyWarps &= readyWarps - 1;
  }
  return host;
}

void CTA::yield(Thread &self) {
  if (++idleYields > kMaxIdleYields) {
    reportLivelock();
    abandon(self);
  }
  self.warp->yielded |= self.warp->positions(1u << self.lane);
  leave(self);
}

void CTA::exitThread(Thread &self) {
  Warp &warp = *self.warp;
  idleYields = 0;
  warp.live &= ~(1u << self.lane);
  if (warp.live == 0) {
    --liveWarps;
    if (warp.hasLog)
      countWarpLogs(warp);
    for (uint32_t i = 0; i < kNumBarriers; ++i)
      if (barriers[i].active)
        completeIfAllCame(i);
  }
  for (uint32_t i = warp.numMeetings; i-- > 0;)
    if (warp.missing(warp.meetings[i]) == 0)
      complete(warp, i);
  jumpForGood(self, nextFiber(warp));
}

void CTA::abandon(Thread &self) {
  abandoned = true;
  jump(self, host);
  __builtin_unreachable();
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

uint32_t Warp::missing(const Meeting &meeting) const {
  switch (meeting.key.kind) {
  case Collective::Mma:
  case Collective::Ldmatrix:
  case Collective::Movmatrix:
    return ~meeting.arrived; // needs a full warp
  default:
    return meeting.key.mask & live & ~meeting.arrived;
  }
}

/// Ends a meeting that nobody misses. Returns whether its lanes can go on.
bool CTA::complete(Warp &warp, uint32_t index) {
  Meeting meeting = warp.meetings[index];
  warp.meetings[index] = warp.meetings[--warp.numMeetings];
  idleYields = 0;
  if (warp.hasLog && meeting.arrived == warp.live)
    countWarpLogs(warp);
  if (!meeting.function(warp, meeting.key, meeting.arrived))
    return false;
  warp.ready |= warp.positions(meeting.arrived);
  return true;
}

void CTA::meet(Thread &self, const MeetingKey &key, void *operands, MeetingFunction function) {
  Warp &warp = *self.warp;
  uint32_t bit = 1u << self.lane;
  if (!(key.mask & bit))
    refuseMask(self, key);
  warp.operands[self.lane] = operands;
  uint32_t index = 0;
  while (index < warp.numMeetings && !(warp.meetings[index].key == key))
    ++index;
  if (index == warp.numMeetings)
    warp.meetings[warp.numMeetings++] = {key, 0, function};
  Meeting &meeting = warp.meetings[index];
  meeting.arrived |= bit;
  if (warp.missing(meeting) == 0 && complete(warp, index)) {
    warp.ready &= ~warp.positions(bit);
    return;
  }
  if (abandoned)
    abandon(self);
  leave(self);
}

//===----------------------------------------------------------------------===//
// Logs
//===----------------------------------------------------------------------===//

void CTA::waitForLogs(Thread &self) {
  self.warp->logFull |= self.warp->positions(1u << self.lane);
  leave(self);
}

void CTA::countWarpLogs(Warp &warp) {
  warp.hasLog = false;
  std::vector<LogEntry> *logs[32] = {};
  for (uint32_t rest = warp.exists; rest; rest &= rest - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(rest));
    logs[lane] = &warp.lanes[lane].log;
  }
  counters->countLogs(logs);
}
