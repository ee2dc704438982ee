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
  uint32_t alignment; // 0: the size
};

struct Located {
  char *host;       // null: refused, and reported
  uint64_t counted; // the address that counters and alignment go by
};

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

/// Looks for races of an access of global memory that was located.
inline void followGlobal(Thread &self, const AccessInfo &access) {
  const auto &shadows = self.cta->state->globalShadows;
  if (self.bufferHint < shadows.size() && shadows[self.bufferHint])
    self.cta->followGlobal(self, access);
}

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_MEMORY_H
