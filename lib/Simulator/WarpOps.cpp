//===- WarpOps.cpp - shuffles, votes and warp syncs -----------------------===//

#include "Machine.h"
#include <cstring>

using namespace heddle::sim;

namespace {

template <typename Function> void forEachLane(uint32_t lanes, Function function) {
  for (; lanes; lanes &= lanes - 1)
    function(uint32_t(__builtin_ctz(lanes)));
}

void count(Warp &warp, const MeetingKey &key, heddle_sim_class opClass, uint32_t lanes) {
  if (warp.cta->counters)
    warp.cta->counters->countInstruction(key.op, opClass, lanes);
}

struct WarpOperand {
  uint32_t value;
  uint32_t lane, clamp; // of shuffles
  uint32_t result;
  bool inRange;
};

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

/// The lane that PTX's formula names, and whether it is in range.
uint32_t sourceLane(uint32_t mode, uint32_t lane, uint32_t b, uint32_t c, bool &inRange) {
  int bound = int(b & 31), clamp = int(c & 31), segment = int(c >> 8 & 31), own = int(lane);
  int maxLane = (own & segment) | (clamp & ~segment & 31);
  int source;
  switch (mode) {
  case HEDDLE_SIM_SHUFFLE_UP:
    source = own - bound;
    inRange = source >= maxLane;
    break;
  case HEDDLE_SIM_SHUFFLE_DOWN:
    source = own + bound;
    inRange = source <= maxLane;
    break;
  case HEDDLE_SIM_SHUFFLE_BFLY:
    source = own ^ bound;
    inRange = source <= maxLane;
    break;
  default:
    source = (own & segment) | (bound & ~segment & 31);
    inRange = source <= maxLane;
    break;
  }
  return inRange ? uint32_t(source) : lane;
}

bool shuffle(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  count(warp, key, HEDDLE_SIM_SHUFFLE, lanes);
  forEachLane(lanes, [&](uint32_t lane) {
    WarpOperand &own = warp.operand<WarpOperand>(lane);
    uint32_t source = sourceLane(key.mode, lane, own.lane, own.clamp, own.inRange);
    if (lanes >> source & 1) {
      own.result = warp.operand<WarpOperand>(source).value;
      return;
    }
    own.result = ~0u;
    if (!warp.cta->checks(HEDDLE_SIM_CHECK_SYNC))
      return;
    Report report = makeReport(HEDDLE_SIM_INVALID_OPERAND);
    report.data.op = key.op;
    report.data.other_thread = warp.index * 32 + source;
    warp.cta->report(std::move(report), &warp.lanes[lane], [&] {
      return "reads from lane " + std::to_string(source) + ", which takes no part";
    });
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Votes, matches, reductions
//===----------------------------------------------------------------------===//

bool vote(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  count(warp, key, HEDDLE_SIM_VOTE, lanes);
  uint32_t ballot = 0;
  forEachLane(lanes, [&](uint32_t lane) {
    ballot |= uint32_t(warp.operand<WarpOperand>(lane).value != 0) << lane;
  });
  uint32_t result = ballot;
  if (key.mode == HEDDLE_SIM_VOTE_ALL)
    result = ballot == lanes;
  else if (key.mode == HEDDLE_SIM_VOTE_ANY)
    result = ballot != 0;
  else if (key.mode == HEDDLE_SIM_VOTE_UNI)
    result = ballot == lanes || ballot == 0;
  forEachLane(lanes, [&](uint32_t lane) { warp.operand<WarpOperand>(lane).result = result; });
  return true;
}

bool match(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  count(warp, key, HEDDLE_SIM_VOTE, lanes);
  forEachLane(lanes, [&](uint32_t lane) {
    WarpOperand &own = warp.operand<WarpOperand>(lane);
    uint32_t equal = 0;
    forEachLane(lanes, [&](uint32_t other) {
      equal |= uint32_t(warp.operand<WarpOperand>(other).value == own.value) << other;
    });
    own.result = key.kind == Collective::MatchAny || equal == lanes ? equal : 0;
  });
  return true;
}

uint32_t combine(uint32_t kind, uint32_t a, uint32_t b) {
  switch (kind) {
  case HEDDLE_SIM_REDUX_ADD:
    return a + b;
  case HEDDLE_SIM_REDUX_MIN_S32:
    return int32_t(a) < int32_t(b) ? a : b;
  case HEDDLE_SIM_REDUX_MAX_S32:
    return int32_t(a) > int32_t(b) ? a : b;
  case HEDDLE_SIM_REDUX_MIN_U32:
    return std::min(a, b);
  case HEDDLE_SIM_REDUX_MAX_U32:
    return std::max(a, b);
  case HEDDLE_SIM_REDUX_AND:
    return a & b;
  case HEDDLE_SIM_REDUX_OR:
    return a | b;
  default:
    return a ^ b;
  }
}

bool redux(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  count(warp, key, HEDDLE_SIM_VOTE, lanes);
  uint32_t first = uint32_t(__builtin_ctz(lanes));
  uint32_t result = warp.operand<WarpOperand>(first).value;
  forEachLane(lanes & (lanes - 1), [&](uint32_t lane) {
    result = combine(key.mode, result, warp.operand<WarpOperand>(lane).value);
  });
  forEachLane(lanes, [&](uint32_t lane) { warp.operand<WarpOperand>(lane).result = result; });
  return true;
}

bool syncWarp(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  count(warp, key, HEDDLE_SIM_WARP_SYNC, lanes);
  if (lanes == warp.live)
    warp.clock.syncAll();
  else
    warp.clock.syncPart(lanes);
  if (warp.cta->sharesOrder) {
    GlobalOrder order;
    forEachLane(lanes, [&](uint32_t lane) { warp.cta->tell(order, warp.lanes[lane]); });
    forEachLane(lanes, [&](uint32_t lane) { warp.cta->hear(warp.lanes[lane], order); });
  }
  return true;
}

WarpOperand meet(Thread &self, Collective kind, uint32_t mode, uint32_t op, uint32_t mask,
                 WarpOperand operand, MeetingFunction function) {
  self.cta->meet(self, {kind, uint8_t(mode), op, mask}, &operand, function);
  return operand;
}

} // namespace

extern "C" uint32_t heddle_sim_shuffle_i32(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                           uint32_t mask, uint32_t value, uint32_t lane,
                                           uint32_t clamp, uint8_t *inRange) {
  WarpOperand operand =
      meet(*self, Collective::Shuffle, mode, op, mask, {value, lane, clamp, 0, false}, shuffle);
  if (inRange)
    *inRange = operand.inRange;
  return operand.result;
}

extern "C" float heddle_sim_shuffle_f32(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                        uint32_t mask, float value, uint32_t lane, uint32_t clamp,
                                        uint8_t *inRange) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = heddle_sim_shuffle_i32(self, op, mode, mask, bits, lane, clamp, inRange);
  std::memcpy(&value, &bits, 4);
  return value;
}

extern "C" uint32_t heddle_sim_vote(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                    uint32_t mask, uint32_t predicate) {
  return meet(*self, Collective::Vote, mode, op, mask, {predicate, 0, 0, 0, false}, vote).result;
}

extern "C" uint32_t heddle_sim_match_any(heddle_sim_thread *self, uint32_t op, uint32_t mask,
                                         uint32_t value) {
  return meet(*self, Collective::MatchAny, 0, op, mask, {value, 0, 0, 0, false}, match).result;
}

extern "C" uint32_t heddle_sim_match_all(heddle_sim_thread *self, uint32_t op, uint32_t mask,
                                         uint32_t value) {
  return meet(*self, Collective::MatchAll, 0, op, mask, {value, 0, 0, 0, false}, match).result;
}

extern "C" uint32_t heddle_sim_redux(heddle_sim_thread *self, uint32_t op, uint32_t kind,
                                     uint32_t mask, uint32_t value) {
  return meet(*self, Collective::Redux, kind, op, mask, {value, 0, 0, 0, false}, redux).result;
}

extern "C" void heddle_sim_warp_sync(heddle_sim_thread *self, uint32_t op, uint32_t mask) {
  meet(*self, Collective::WarpSync, 0, op, mask, {0, 0, 0, 0, false}, syncWarp);
}
