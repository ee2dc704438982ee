//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
//
// The hardware may do a copy at any time between its issue and the wait for its group. Here it is
// done as late as is legal, at the wait, with the source as it is then: code that reads too early
// finds the old contents.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include <cstring>

using namespace heddle::sim;

static Actor actorOf(Thread &self, uint32_t op) {
  return {self.warp->index, 1u << self.lane, self.warp->clock.time(self.lane), op};
}

extern "C" void heddle_sim_cp_async(heddle_sim_thread *self, uint32_t op, uint32_t destination,
                                    uint64_t source, uint32_t copySize, uint32_t sourceSize) {
  CTA &cta = *self->cta;
  if ((copySize != 4 && copySize != 8 && copySize != 16) || sourceSize > copySize) {
    Report report = makeReport(HEDDLE_SIM_INVALID_OPERAND);
    report.data.op = op;
    cta.report(std::move(report), self, [&] {
      return "copies " + std::to_string(copySize) + " bytes, of which " +
             std::to_string(sourceSize) +
             " come from the source; a copy has 4, 8 or 16 bytes and no more source bytes";
    });
    return;
  }
  Located to =
      locate(*self, {AccessKind::Write, HEDDLE_SIM_SHARED, destination, copySize, op, 0, copySize});
  // A source of which nothing is read may be anywhere.
  Located from = {nullptr, 0};
  if (sourceSize)
    from =
        locate(*self, {AccessKind::Read, HEDDLE_SIM_GLOBAL, source, sourceSize, op, 0, copySize});
  if (!to.host || (sourceSize && !from.host))
    return;
  if (sourceSize)
    followGlobal(*self, {AccessKind::Read, HEDDLE_SIM_GLOBAL, source, sourceSize, op, 0, copySize});

  if (cta.hasShadow() && cta.checks(HEDDLE_SIM_CHECK_ASYNC)) {
    Conflict conflict = cta.shadow.startCopy(destination - cta.state->config.shared_base, copySize,
                                             actorOf(*self, op), self->warp->clock);
    if (conflict.kind != Conflict::None) {
      uint64_t value = 0;
      if (from.host)
        std::memcpy(&value, from.host, std::min(sourceSize, 8u));
      cta.reportConflict(conflict, *self, AccessKind::Write, destination, copySize, op, value);
    }
  }
  self->async.copies.push_back({source, destination, op, uint8_t(copySize), uint8_t(sourceSize)});
  cta.log(*self, {from.counted, destination, op, HEDDLE_SIM_CP_ASYNC, uint8_t(copySize),
                  uint8_t(sourceSize)});
}

/// Does the oldest `count` copies of a thread.
static void land(Thread &self, size_t count) {
  CTA &cta = *self.cta;
  for (size_t i = 0; i < count; ++i) {
    const AsyncCopy &copy = self.async.copies[i];
    char *to = cta.sharedPointer(copy.destination, copy.copySize);
    if (cta.hasShadow()) {
      if (cta.checks(HEDDLE_SIM_CHECK_ASYNC))
        cta.shadow.finishCopy(copy.destination - cta.state->config.shared_base, copy.copySize,
                              actorOf(self, copy.op));
      else
        cta.follow(self, AccessKind::Write, copy.destination, copy.copySize, false, copy.op, 0);
    }
    std::memcpy(to, reinterpret_cast<const void *>(uintptr_t(copy.source)), copy.sourceSize);
    std::memset(to + copy.sourceSize, 0, copy.copySize - copy.sourceSize);
  }
  self.async.copies.erase(self.async.copies.begin(), self.async.copies.begin() + long(count));
}

extern "C" void heddle_sim_cp_async_commit_group(heddle_sim_thread *self, uint32_t op) {
  self->async.groupEnds.push_back(self->async.copies.size());
  self->cta->log(*self, {0, 0, op, HEDDLE_SIM_CP_ASYNC_GROUP, 0, 0});
}

extern "C" void heddle_sim_cp_async_wait_group(heddle_sim_thread *self, uint32_t op,
                                               uint32_t pending) {
  std::vector<size_t> &ends = self->async.groupEnds;
  if (ends.size() > pending) {
    size_t groups = ends.size() - pending;
    size_t count = ends[groups - 1];
    land(*self, count);
    ends.erase(ends.begin(), ends.begin() + long(groups));
    for (size_t &end : ends)
      end -= count;
  }
  self->cta->log(*self, {0, 0, op, HEDDLE_SIM_CP_ASYNC_GROUP, 0, 0});
}

extern "C" void heddle_sim_cp_async_wait_all(heddle_sim_thread *self, uint32_t op) {
  land(*self, self->async.copies.size());
  self->async.groupEnds.clear();
  self->cta->log(*self, {0, 0, op, HEDDLE_SIM_CP_ASYNC_GROUP, 0, 0});
}
