//===- Memory.h - checks that all kinds of accesses share -----------------===//

#ifndef HEDDLE_LIB_SIMULATOR_MEMORY_H
#define HEDDLE_LIB_SIMULATOR_MEMORY_H

#include "Machine.h"

namespace heddle::sim {

struct AccessInfo {
  AccessKind kind;
  uint32_t space;
  uint64_t address;
  uint32_t size;
  uint32_t op;
  uint64_t newValue;
  uint32_t alignment;    // 0: the size
  bool isStrong = false; // volatile, or with an order
};

struct Located {
  char *host;       // null: refused, and reported
  uint64_t counted; // the address that counters and alignment go by
};

/// Fences of a heddle_sim_scope.
void runFence(Thread &self, uint32_t scope);
/// Leaves what the thread has released, if the access writes. Returns the number of releases that the access counts as one before.
uint32_t leaveReleased(Thread &self, GlobalShadow::Mailbox &mailbox, AccessKind kind,
                       uint32_t order);
/// Takes over what others have left, if the access reads.
void takeOver(Thread &self, const GlobalShadow::Mailbox &mailbox, AccessKind kind, uint32_t order);

/// The same as locate(), for accesses that may have to be reported.
Located locateWithReports(Thread &self, AccessInfo access);

/// Finds the memory of an access after checking its bounds and alignment.
inline Located locate(Thread &self, const AccessInfo &access) {
  uint64_t mask = (access.alignment ? access.alignment : access.size) - 1;
  if (access.space == HEDDLE_SIM_SHARED) {
    if ((access.address & mask) == 0)
      if (char *host = self.cta->sharedPointer(access.address, access.size))
        return {host, access.address};
  } else if (const GlobalBuffers::Range *range = self.cta->state->buffers.recall(self.bufferHint)) {
    uint64_t offset = access.address - range->begin;
    if (range->holds(access.address, access.size) && (offset & mask) == 0 &&
        (access.kind == AccessKind::Read || range->writable))
      return {reinterpret_cast<char *>(uintptr_t(access.address)),
              GlobalBuffers::deviceAddress(self.bufferHint, offset)};
  } else if (access.address && (access.address & mask) == 0 &&
             !self.cta->state->buffers.isChecked()) {
    return {reinterpret_cast<char *>(uintptr_t(access.address)), access.address};
  }
  return locateWithReports(self, access);
}

/// The shadow of what an access that was located touches; null: it is not followed.
inline GlobalShadow *globalShadow(const Thread &self) {
  const auto &shadows = self.cta->state->globalShadows;
  return self.bufferHint < shadows.size() ? shadows[self.bufferHint].get() : nullptr;
}

/// Looks for races of an access of global memory that was located.
inline void followGlobal(Thread &self, const AccessInfo &access) {
  if (globalShadow(self))
    self.cta->followGlobal(self, access, self.releases);
}

/// Does a strong access of global memory by `effect`: looks for races, leaves what the thread has released, and takes over what others
/// have left there. `order` is a heddle_sim_order.
template <typename Effect>
auto accessInOrder(Thread &self, const AccessInfo &access, uint32_t order, Effect effect) {
  GlobalShadow *shadow = globalShadow(self);
  if (!shadow)
    return effect();
  const LaunchState &launch = *self.cta->state;
  if (order & HEDDLE_SIM_RELEASE)
    launch.ordersByMemory.store(true, std::memory_order_release);
  uint64_t offset = access.address - launch.buffers.at(self.bufferHint).begin;
  if (launch.ordersByMemory.load(std::memory_order_acquire)) {
    GlobalShadow::Mailbox mailbox(*shadow, offset);
    uint32_t releases = leaveReleased(self, mailbox, access.kind, order);
    self.cta->followGlobal(self, access, releases);
    auto result = effect();
    takeOver(self, mailbox, access.kind, order);
    return result;
  }
  self.cta->followGlobal(self, access, self.releases);
  auto result = effect();
  // Another host thread may have released something that the access has met.
  if (launch.ordersByMemory.load(std::memory_order_acquire))
    takeOver(self, GlobalShadow::Mailbox(*shadow, offset), access.kind, order);
  return result;
}

/// Does a load, store or atomic by `effect`, and looks for races. `order` is a heddle_sim_order of strong accesses and atomics.
template <typename Effect>
auto perform(Thread &self, const AccessInfo &access, uint32_t order, Effect effect) {
  bool isGlobal = access.space == HEDDLE_SIM_GLOBAL;
  if (isGlobal && (access.isStrong || access.kind == AccessKind::Atomic))
    return accessInOrder(self, access, order, effect);
  if (isGlobal)
    followGlobal(self, access);
  else if (self.cta->hasShadow())
    self.cta->follow(self, access.kind, uint32_t(access.address), access.size, false, access.op,
                     access.newValue);
  return effect();
}

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_MEMORY_H
