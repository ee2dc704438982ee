//===- Memory.cpp - loads, stores and atomics -----------------------------===//

#include "Memory.h"
#include <cstdio>
#include <cstring>

using namespace heddle::sim;

static const char *spaceName(uint32_t space) {
  return space == HEDDLE_SIM_SHARED ? "shared" : "global";
}

static std::string describe(const char *verb, uint32_t space, uint64_t address, uint32_t size) {
  char text[96];
  std::snprintf(text, sizeof(text), "%s %u byte%s at %s address 0x%llx", verb, size,
                size == 1 ? "" : "s", spaceName(space), static_cast<unsigned long long>(address));
  return text;
}

static const char *verbFor(AccessKind kind) {
  return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "updates";
}

static Report accessReport(heddle_sim_report_kind kind, const AccessInfo &access) {
  Report report = makeReport(kind);
  report.data.space = access.space;
  report.data.op = access.op;
  report.data.address = access.address;
  report.data.size = access.size;
  report.data.new_value = access.newValue;
  return report;
}

Located heddle::sim::locateWithReports(Thread &self, AccessInfo access) {
  CTA &cta = *self.cta;
  Located located = {nullptr, access.address};
  auto text = [&](const std::string &rest) {
    return describe(verbFor(access.kind), access.space, access.address, access.size) + rest;
  };
  if (access.space == HEDDLE_SIM_SHARED) {
    located.host = cta.sharedPointer(access.address, access.size);
    if (!located.host) {
      cta.report(accessReport(HEDDLE_SIM_OUT_OF_BOUNDS, access), &self, [&] {
        return text("; the CTA has " + std::to_string(cta.state->config.shared_bytes) +
                    " bytes from address " + std::to_string(cta.state->config.shared_base));
      });
      return located;
    }
  } else {
    located.host = reinterpret_cast<char *>(uintptr_t(access.address));
    if (!located.host)
      cta.report(accessReport(HEDDLE_SIM_OUT_OF_BOUNDS, access), &self,
                 [&] { return text(", which is null"); });
    else if (cta.state->buffers.isChecked()) {
      const GlobalBuffers::Range *range =
          cta.state->buffers.find(access.address, access.size, self.bufferHint);
      bool refused = !range || (access.kind != AccessKind::Read && !range->writable);
      if (refused && cta.checks(HEDDLE_SIM_CHECK_BOUNDS)) {
        cta.report(accessReport(HEDDLE_SIM_OUT_OF_BOUNDS, access), &self, [&] {
          return range ? text("; buffer '" + range->name + "' is read-only")
                       : text(": " + cta.state->buffers.describe(access.address, access.size));
        });
        located.host = nullptr;
        return located;
      }
      if (range)
        located.counted =
            GlobalBuffers::deviceAddress(self.bufferHint, access.address - range->begin);
    }
  }
  uint32_t alignment = access.alignment ? access.alignment : access.size;
  uint64_t past = located.counted % alignment;
  if (cta.checks(HEDDLE_SIM_CHECK_ALIGNMENT) && past != 0) {
    cta.report(accessReport(HEDDLE_SIM_MISALIGNED, access), &self, [&] {
      return text(", which is " + std::to_string(past) + " bytes past a multiple of " +
                  std::to_string(alignment));
    });
    located.host = nullptr;
  }
  return located;
}

static __attribute__((noinline)) bool refuseSize(Thread &self, AccessInfo access) {
  uint32_t size = access.size;
  self.cta->report(accessReport(HEDDLE_SIM_INVALID_OPERAND, access), &self, [&] {
    return describe(verbFor(access.kind), access.space, access.address, size) +
           "; the size must be 1, 2, 4, 8 or 16";
  });
  return false;
}

/// Refuses sizes that no access has.
static bool isSize(Thread &self, const AccessInfo &access) {
  uint32_t size = access.size;
  return (size && size <= 16 && (size & (size - 1)) == 0) || refuseSize(self, access);
}

static void copy(void *to, const void *from, uint32_t size) {
  switch (size) {
  case 16:
    std::memcpy(to, from, 16);
    break;
  case 8:
    std::memcpy(to, from, 8);
    break;
  case 4:
    std::memcpy(to, from, 4);
    break;
  case 2:
    std::memcpy(to, from, 2);
    break;
  default:
    std::memcpy(to, from, size);
  }
}

static void log(Thread &self, const AccessInfo &access, const Located &located,
                heddle_sim_class globalClass, heddle_sim_class sharedClass) {
  bool isShared = access.space == HEDDLE_SIM_SHARED;
  self.cta->log(self, {isShared ? 0 : located.counted, uint32_t(access.address), access.op,
                       uint8_t(isShared ? sharedClass : globalClass), uint8_t(access.size), 0});
}

/// `order` is a heddle_sim_order of strong accesses.
static void load(Thread &self, const AccessInfo &access, uint32_t order, void *value) {
  Located located = {nullptr, 0};
  if (isSize(self, access))
    located = locate(self, access);
  if (!located.host) {
    std::memset(value, 0, access.size);
    return;
  }
  perform(self, access, order, [&] {
    copy(value, located.host, access.size);
    return true;
  });
  log(self, access, located, HEDDLE_SIM_LOAD_GLOBAL, HEDDLE_SIM_LOAD_SHARED);
}

static void store(Thread &self, AccessInfo access, uint32_t order, const void *value) {
  if (!isSize(self, access))
    return;
  copy(&access.newValue, value, access.size < 8 ? access.size : 8);
  self.cta->noteProgress();
  Located located = locate(self, access);
  if (!located.host)
    return;
  perform(self, access, order, [&] {
    copy(located.host, value, access.size);
    return true;
  });
  log(self, access, located, HEDDLE_SIM_STORE_GLOBAL, HEDDLE_SIM_STORE_SHARED);
}

extern "C" void heddle_sim_load(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                uint64_t address, uint32_t size, void *value) {
  load(*self, {AccessKind::Read, space, address, size, op, 0, 0}, HEDDLE_SIM_RELAXED, value);
}

extern "C" void heddle_sim_store(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                 uint64_t address, uint32_t size, const void *value) {
  store(*self, {AccessKind::Write, space, address, size, op, 0, 0}, HEDDLE_SIM_RELAXED, value);
}

extern "C" void heddle_sim_load_strong(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                       uint32_t order, uint64_t address, uint32_t size,
                                       void *value) {
  load(*self, {AccessKind::Read, space, address, size, op, 0, 0, true}, order, value);
  self->cta->yield(*self);
}

extern "C" void heddle_sim_store_strong(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                        uint32_t order, uint64_t address, uint32_t size,
                                        const void *value) {
  store(*self, {AccessKind::Write, space, address, size, op, 0, 0, true}, order, value);
}

extern "C" void heddle_sim_fence(heddle_sim_thread *self, uint32_t op, uint32_t scope) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  runFence(*self, scope);
  self->cta->log(*self, {0, 0, op, HEDDLE_SIM_FENCE, 0, 0});
  self->cta->yield(*self);
}

extern "C" void heddle_sim_trap(heddle_sim_thread *self, uint32_t op) {
  Report report = makeReport(HEDDLE_SIM_TRAP);
  report.data.op = op;
  self->cta->report(std::move(report), self, [] { return std::string("is reached"); });
  self->cta->abandon(*self);
}
