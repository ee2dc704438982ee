//===- Diagnostics.cpp - texts of reports ---------------------------------===//

#include "Memory.h"
#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace heddle::sim;

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

static std::string plural(uint64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// What a set of lanes or warps does, such as "lanes 0-15, 17 wait".
static std::string clause(const char *noun, uint32_t set, const char *oneDoes, const char *manyDo) {
  std::string text;
  for (uint32_t i = 0; i < 32; ++i) {
    if (!(set >> i & 1))
      continue;
    uint32_t last = i;
    while (last + 1 < 32 && (set >> (last + 1) & 1))
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(i);
    if (last > i)
      text += "-" + std::to_string(last);
    i = last;
  }
  bool single = (set & (set - 1)) == 0;
  return std::string(noun) + (single ? " " : "s ") + text + " " + (single ? oneDoes : manyDo);
}

static const char *verbFor(AccessKind kind) {
  return kind == AccessKind::Read ? "reads " : kind == AccessKind::Write ? "writes " : "updates ";
}

static uint32_t lowest(uint32_t set) { return uint32_t(__builtin_ctz(set)); }

std::string CTA::nameThread(uint32_t thread) const {
  return "thread " + std::to_string(thread) + " (warp " + std::to_string(thread / 32) + ", lane " +
         std::to_string(thread % 32) + ")";
}

std::string CTA::nameOp(uint32_t op) const {
  std::string text = "op " + std::to_string(op);
  const heddle_sim_kernel &kernel = state->kernel;
  if (kernel.op_names && op < kernel.num_ops && kernel.op_names[op])
    text += std::string(" '") + kernel.op_names[op] + "'";
  return text;
}

void CTA::refuseMask(Thread &self, const MeetingKey &key) {
  Report defect = makeReport(HEDDLE_SIM_INVALID_OPERAND);
  defect.data.op = key.op;
  report(std::move(defect), &self,
         [&] { return "is not in the mask " + hex(key.mask) + " that it gives"; });
  abandon(self);
}

void CTA::report(Report report, const Thread *self, const std::function<std::string()> &text) {
  heddle_sim_report &data = report.data;
  std::copy(id, id + 3, data.cta);
  report.ctaIndex = linearIndex;
  if (self)
    data.thread = self->index;
  if (!reports.isRepetition(data, linearIndex)) {
    report.text = std::string(heddle_sim_report_kind_name(data.kind)) + " in CTA (" +
                  std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " +
                  std::to_string(id[2]) + "): ";
    if (self)
      report.text += nameThread(self->index) + " at " + nameOp(data.op) + " ";
    report.text += text();
  }
  reports.add(std::move(report));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void CTA::follow(Thread &self, AccessKind kind, uint32_t address, uint32_t size, bool wholeWarp,
                 uint32_t op, uint64_t newValue) {
  Warp &warp = *self.warp;
  Actor actor = {warp.index, 1u << self.lane, warp.clock.time(self.lane), op};
  if (wholeWarp) {
    actor.lanes = warp.exists;
    actor.clock = warp.clock.latest();
  }
  uint32_t offset = address - state->config.shared_base;
  Conflict conflict = shadow.access(kind, offset, size, actor, warp.clock);
  if (conflict.kind != Conflict::None)
    reportConflict(conflict, self, kind, address, size, op, newValue);
}

void CTA::reportConflict(const Conflict &conflict, Thread &self, AccessKind kind, uint32_t address,
                         uint32_t size, uint32_t op, uint64_t newValue) {
  bool reads = kind == AccessKind::Read;
  heddle_sim_report_kind reportKind = HEDDLE_SIM_RACE;
  if (conflict.kind == Conflict::Uninitialized)
    reportKind = HEDDLE_SIM_UNINITIALIZED_READ;
  else if (conflict.kind == Conflict::InFlight)
    reportKind = reads ? HEDDLE_SIM_ASYNC_READ : HEDDLE_SIM_ASYNC_OVERWRITE;

  Report defect = makeReport(reportKind);
  heddle_sim_report &data = defect.data;
  data.space = HEDDLE_SIM_SHARED;
  data.op = op;
  data.address = address;
  data.size = size;
  std::memcpy(&data.value, sharedPointer(address, size), std::min(size, 8u));
  data.new_value = reads ? 0 : newValue;
  uint32_t other = conflict.warp * 32 + conflict.lane;
  if (conflict.kind != Conflict::Uninitialized) {
    data.other_thread = other;
    data.other_op = conflict.op;
  }
  report(std::move(defect), &self, [&] {
    std::string text =
        verbFor(kind) + plural(size, "byte") + " at shared address " + hex(address) + ", ";
    std::string where =
        conflict.address + state->config.shared_base == address
            ? "which "
            : "of which address " + hex(conflict.address + state->config.shared_base) + " ";
    switch (conflict.kind) {
    case Conflict::Uninitialized:
      return text + where + "was never written";
    case Conflict::InFlight:
      return text + where + "is the destination of a copy that " + nameThread(other) +
             " started at " + nameOp(conflict.op) + " and has not waited for";
    default:
      return text + where + "was " + (conflict.earlierIsWrite ? "written" : "read") + " by " +
             nameThread(other) + " at " + nameOp(conflict.op) + " with no barrier in between";
    }
  });
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void CTA::followGlobal(Thread &self, const AccessInfo &access, uint32_t releases) {
  const GlobalBuffers::Range &range = state->buffers.at(self.bufferHint);
  if (!range.holds(access.address, access.size))
    return;
  uint64_t offset = access.address - range.begin;
  const Warp &warp = *self.warp;
  GlobalActor actor = {uint32_t(linearIndex + 1),
                       epoch,
                       warp.clock.time(self.lane),
                       releases,
                       access.op,
                       1u << self.lane,
                       uint16_t(warp.index),
                       access.kind != AccessKind::Read,
                       access.isStrong || access.kind == AccessKind::Atomic};
  GlobalView view = {warp.clock, self.order ? self.order->known.get() : nullptr};
  GlobalActor other =
      state->globalShadows[self.bufferHint]->access(offset, access.size, actor, view);
  if (!other.cta)
    return;
  // Name a lane other than the thread itself.
  uint32_t others =
      other.cta == actor.cta && other.warp == actor.warp ? other.lanes & ~actor.lanes : other.lanes;
  uint32_t thread = other.warp * 32u + lowest(others);
  Report defect = makeReport(HEDDLE_SIM_RACE);
  heddle_sim_report &data = defect.data;
  data.space = HEDDLE_SIM_GLOBAL;
  data.op = access.op;
  data.address = access.address;
  data.size = access.size;
  std::memcpy(&data.value, reinterpret_cast<const void *>(uintptr_t(access.address)),
              std::min(access.size, 8u));
  data.new_value = access.newValue;
  data.other_thread = thread;
  data.other_op = other.op;
  report(std::move(defect), &self, [&] {
    std::string text = verbFor(access.kind) + plural(access.size, "byte") + " at byte " +
                       std::to_string(offset) + " of '" + range.name + "', which " +
                       (access.size > 1 ? "were " : "was ") + (other.writes ? "written" : "read") +
                       " by " + nameThread(thread);
    if (other.cta == actor.cta)
      return text + " at " + nameOp(other.op) + " with no barrier in between";
    uint64_t index = other.cta - 1;
    const uint32_t *grid = state->config.grid;
    return text + " of CTA (" + std::to_string(index % grid[0]) + ", " +
           std::to_string(index / grid[0] % grid[1]) + ", " +
           std::to_string(index / grid[0] / grid[1]) + ") at " + nameOp(other.op) +
           (state->ordersByMemory.load(std::memory_order_relaxed)
                ? "; no fence with an atomic after it has told of that"
                : "; nothing orders CTAs");
  });
}

//===----------------------------------------------------------------------===//
// Threads that cannot go on
//===----------------------------------------------------------------------===//

static bool isBarrier(Collective kind) {
  return kind == Collective::BarrierSync || kind == Collective::BarrierArrive ||
         kind == Collective::BarrierReduce;
}

void CTA::reportDivergence(Warp &warp) {
  Meeting *begin = warp.meetings, *end = begin + warp.numMeetings;
  std::sort(begin, end, [](const Meeting &a, const Meeting &b) {
    return lowest(a.arrived) < lowest(b.arrived);
  });
  bool barrier = std::any_of(begin, end, [](const Meeting &m) { return isBarrier(m.key.kind); });
  Report defect =
      makeReport(barrier ? HEDDLE_SIM_DIVERGENT_BARRIER : HEDDLE_SIM_DIVERGENT_COLLECTIVE);
  defect.data.op = begin->key.op;
  const Thread &self = warp.lanes[lowest(begin->arrived)];
  uint32_t gone = ~warp.live;
  if (warp.numMeetings > 1) {
    defect.data.other_op = begin[1].key.op;
    defect.data.other_thread = warp.index * 32 + lowest(begin[1].arrived);
  } else if (gone) {
    defect.data.other_thread = warp.index * 32 + lowest(gone);
  }
  report(std::move(defect), &self, [&] {
    std::string text = "waits for lanes that cannot come: in warp " + std::to_string(warp.index);
    const char *separator = " ";
    for (Meeting *meeting = begin; meeting != end; ++meeting) {
      text += separator + clause("lane", meeting->arrived, "waits", "wait") + " at " +
              nameOp(meeting->key.op);
      if (meeting->key.mask != ~0u)
        text += " with mask " + hex(meeting->key.mask);
      separator = "; ";
    }
    if (gone & warp.exists)
      text += separator + clause("lane", gone & warp.exists, "has exited", "have exited");
    if (~warp.exists)
      text += "; " + clause("lane", ~warp.exists, "does not exist", "do not exist");
    return text;
  });
}

void CTA::reportDeadlock() {
  Report defect = makeReport(HEDDLE_SIM_DEADLOCK);
  uint32_t exited = 0, waiting = 0;
  for (uint32_t i = 0; i < state->numWarps; ++i)
    (warps[i].live ? waiting : exited) |= 1u << i;
  const Warp &first = warps[lowest(waiting)];
  const Barrier &barrier = barriers[first.barrier];
  defect.data.op = barrier.op;
  defect.data.thread = first.index * 32 + lowest(first.live);
  report(std::move(defect), nullptr, [&] {
    std::string text = "all threads wait: ";
    const char *separator = "";
    for (uint32_t i = 0; i < kNumBarriers; ++i) {
      const Barrier &barrier = barriers[i];
      if (!barrier.waiting)
        continue;
      text += separator + clause("warp", barrier.waiting, "waits", "wait") + " at barrier " +
              std::to_string(i) + ", first come to at " + nameOp(barrier.op) + ", where " +
              std::to_string(barrier.arrived) + " of " + std::to_string(barrier.expected) +
              " threads have come";
      if (barrier.arriving)
        text += "; " + clause("warp", barrier.arriving, "came", "came") + " without waiting";
      separator = "; ";
    }
    if (exited)
      text += "; " + clause("warp", exited, "has exited", "have exited");
    return text;
  });
}

void CTA::reportLivelock() {
  Report defect = makeReport(HEDDLE_SIM_DEADLOCK);
  report(std::move(defect), nullptr, [&] {
    uint32_t polling = 0, waiting = 0;
    for (uint32_t i = 0; i < state->numWarps; ++i)
      if (warps[i].live)
        (warps[i].atBarrier ? waiting : polling) |= 1u << i;
    std::string text = clause("warp", polling, "polls", "poll") + " memory that nobody changes";
    if (waiting)
      text += "; " + clause("warp", waiting, "waits", "wait") + " at a barrier";
    return text;
  });
}

void CTA::reportLeftovers() {
  for (uint32_t i = 0; i < kNumBarriers; ++i) {
    if (!barriers[i].active)
      continue;
    Report defect = makeReport(HEDDLE_SIM_BARRIER_MISUSE);
    defect.data.op = barriers[i].op;
    defect.data.thread = barriers[i].firstWarp * 32;
    report(std::move(defect), nullptr, [&] {
      return "all threads have exited, but at barrier " + std::to_string(i) +
             ", first come to at " + nameOp(barriers[i].op) + ", " +
             std::to_string(barriers[i].arrived) + " of " + std::to_string(barriers[i].expected) +
             " threads have come";
    });
  }
}
