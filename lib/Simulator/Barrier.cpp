//===- Barrier.cpp - the sixteen named barriers of a CTA ------------------===//
//
// A barrier counts in warps: one that comes adds 32 threads. It is complete when as many threads
// came as its users say; those that wait go on and the barrier can be used anew. Without a count it
// waits for the whole CTA, less the warps that have exited.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

using namespace heddle::sim;

namespace {

/// Reports misuse of a barrier by a warp and ends the CTA.
bool misuse(Warp &warp, const MeetingKey &key, const Barrier *barrier, const std::string &text) {
  Report report = makeReport(HEDDLE_SIM_BARRIER_MISUSE);
  report.data.op = key.op;
  if (barrier && barrier->active) {
    report.data.other_op = barrier->op;
    report.data.other_thread = barrier->firstWarp * 32;
  }
  const Thread &first = warp.lanes[__builtin_ctz(warp.live)];
  warp.cta->report(std::move(report), &first, [&] { return text; });
  warp.cta->endAfterReport();
  return false;
}

std::string number(uint32_t value) { return std::to_string(value); }

} // namespace

bool CTA::comeToBarrier(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  bool arrives = key.kind == Collective::BarrierArrive;
  bool reduces = key.kind == Collective::BarrierReduce;
  const auto &first = warp.operand<BarrierOperands>(uint32_t(__builtin_ctz(lanes)));
  uint32_t votes = 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    const auto &own = warp.operand<BarrierOperands>(uint32_t(__builtin_ctz(rest)));
    if (own.barrier != first.barrier || own.threads != first.threads)
      return misuse(warp, key, nullptr,
                    "lanes of the warp name different barriers or counts: barrier " +
                        number(first.barrier) + " of " + number(first.threads) +
                        " threads and barrier " + number(own.barrier) + " of " +
                        number(own.threads));
    votes += own.predicate != 0;
  }
  if (first.barrier >= kNumBarriers)
    return misuse(warp, key, nullptr,
                  "barrier " + number(first.barrier) + " does not exist; ids are 0 to 15");
  Barrier &barrier = barriers[first.barrier];
  std::string name = "barrier " + number(first.barrier);
  if (first.threads % 32 || (arrives && first.threads == 0))
    return misuse(warp, key, nullptr,
                  name + ": the count " + number(first.threads) +
                      " is not a positive multiple of 32");
  uint32_t wholeCTA = state->numWarps * 32;
  uint32_t expected = first.threads ? first.threads : wholeCTA;
  if (expected > wholeCTA)
    return misuse(warp, key, nullptr,
                  name + ": the count " + number(expected) + " is more than the CTA's " +
                      number(wholeCTA) + " threads");

  if (barrier.active && barrier.expected != expected)
    return misuse(warp, key, &barrier,
                  name + " is for " + number(expected) + " threads here, but for " +
                      number(barrier.expected) + " at " + nameOp(barrier.op));
  if (barrier.active && barrier.reduces != reduces)
    return misuse(warp, key, &barrier,
                  name + " is used by bar.red and by bar.sync or bar.arrive at once, at " +
                      nameOp(barrier.op));
  uint32_t bit = 1u << warp.index;
  if ((barrier.waiting | barrier.arriving) & bit)
    return misuse(warp, key, &barrier,
                  "warp " + number(warp.index) + " comes to " + name +
                      " again before it is complete: " + number(barrier.arrived) + " of " +
                      number(expected) + " threads have come");

  if (!barrier.active) {
    barrier = Barrier();
    barrier.active = true;
    barrier.wholeCTA = true;
    barrier.reduces = reduces;
    barrier.reduction = key.mode;
    barrier.expected = expected;
    barrier.op = key.op;
    barrier.firstWarp = warp.index;
  }
  barrier.wholeCTA &= first.threads == 0;
  barrier.arrived += 32;
  barrier.votes += votes;
  barrier.voters += uint32_t(__builtin_popcount(lanes));
  barrier.told.join(warp.clock.heard);
  if (sharesOrder)
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
      tell(barrier.order, warp.lanes[__builtin_ctz(rest)]);
  if (arrives) {
    warp.clock.release();
    barrier.arriving |= bit;
  } else {
    warp.clock.syncAll();
    barrier.waiting |= bit;
    warp.atBarrier = true;
    warp.barrier = first.barrier;
  }
  barrier.told.time[warp.index] = warp.clock.latest();
  if (counters)
    counters->countInstruction(key.op, HEDDLE_SIM_BARRIER, lanes).barrier_waits += !arrives;
  completeIfAllCame(first.barrier);
  return !warp.atBarrier;
}

void CTA::completeIfAllCame(uint32_t index) {
  Barrier &barrier = barriers[index];
  uint32_t exited = barrier.wholeCTA ? (state->numWarps - liveWarps) * 32 : 0;
  if (barrier.arrived + exited < barrier.expected)
    return;
  uint32_t result = barrier.votes;
  if (barrier.reduction == HEDDLE_SIM_BARRIER_AND)
    result = barrier.votes == barrier.voters;
  else if (barrier.reduction == HEDDLE_SIM_BARRIER_OR)
    result = barrier.votes != 0;

  // Clocks need not tell what a new epoch does.
  bool everybody = uint32_t(__builtin_popcount(barrier.waiting)) == liveWarps;
  if (everybody) {
    shadow.nextEpoch();
    ++epoch;
  }
  barrier.active = false;
  for (uint32_t rest = barrier.waiting; rest; rest &= rest - 1) {
    Warp &warp = warps[uint32_t(__builtin_ctz(rest))];
    if (!everybody)
      warp.clock.heard.join(barrier.told);
    if (sharesOrder)
      for (uint32_t lanes = warp.live; lanes; lanes &= lanes - 1)
        hear(warp.lanes[__builtin_ctz(lanes)], barrier.order);
    if (barrier.reduces)
      for (uint32_t lanes = warp.live; lanes; lanes &= lanes - 1)
        warp.operand<BarrierOperands>(uint32_t(__builtin_ctz(lanes))).result = result;
    releaseWarp(warp);
  }
  barrier = Barrier();
}

void CTA::releaseWarp(Warp &warp) {
  warp.atBarrier = false;
  warp.ready |= warp.positions(warp.live);
  readyWarps |= 1u << warpPosition[warp.index];
}

static bool comeTogether(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  return warp.cta->comeToBarrier(warp, key, lanes);
}

static uint32_t come(Thread &self, Collective kind, uint32_t op, BarrierOperands operands) {
  self.cta->meet(self, {kind, uint8_t(operands.reduction), op, ~0u}, &operands, comeTogether);
  return operands.result;
}

extern "C" void heddle_sim_barrier_sync(heddle_sim_thread *self, uint32_t op, uint32_t barrier,
                                        uint32_t threads) {
  come(*self, Collective::BarrierSync, op, {barrier, threads, 0, 0, 0});
}

extern "C" void heddle_sim_barrier_arrive(heddle_sim_thread *self, uint32_t op, uint32_t barrier,
                                          uint32_t threads) {
  come(*self, Collective::BarrierArrive, op, {barrier, threads, 0, 0, 0});
}

extern "C" uint32_t heddle_sim_barrier_reduce(heddle_sim_thread *self, uint32_t op,
                                              uint32_t barrier, uint32_t threads,
                                              uint32_t reduction, uint32_t predicate) {
  return come(*self, Collective::BarrierReduce, op, {barrier, threads, reduction, predicate, 0});
}
