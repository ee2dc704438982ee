//===- Atomics.cpp - read-modify-write of global and shared memory --------===//
//
// CTAs run on several host threads, so atomics on global memory are atomics of the host. Each lets
// the other threads of its CTA run afterwards: a loop that polls by an atomic must come to an end.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include <cstring>

using namespace heddle::sim;

static float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static uint32_t asBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

template <typename T> static T combine(uint32_t kind, T old, T operand) {
  switch (kind) {
  case HEDDLE_SIM_ATOMIC_ADD_I32:
  case HEDDLE_SIM_ATOMIC_ADD_I64:
    return old + operand;
  case HEDDLE_SIM_ATOMIC_ADD_F32:
    return asBits(asFloat(uint32_t(old)) + asFloat(uint32_t(operand)));
  case HEDDLE_SIM_ATOMIC_MIN_S32:
    return int32_t(old) < int32_t(operand) ? old : operand;
  case HEDDLE_SIM_ATOMIC_MAX_S32:
    return int32_t(old) > int32_t(operand) ? old : operand;
  case HEDDLE_SIM_ATOMIC_MIN_U32:
    return std::min(old, operand);
  case HEDDLE_SIM_ATOMIC_MAX_U32:
    return std::max(old, operand);
  case HEDDLE_SIM_ATOMIC_AND_B32:
    return old & operand;
  case HEDDLE_SIM_ATOMIC_OR_B32:
    return old | operand;
  case HEDDLE_SIM_ATOMIC_XOR_B32:
    return old ^ operand;
  default: // exchange
    return operand;
  }
}

struct Outcome {
  uint64_t old;
  bool changed;
};

template <typename T> static Outcome update(void *address, uint32_t kind, T operand) {
  T *target = static_cast<T *>(address);
  T old = __atomic_load_n(target, __ATOMIC_RELAXED), desired;
  do
    desired = combine(kind, old, operand);
  while (!__atomic_compare_exchange_n(target, &old, desired, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED));
  return {old, old != desired};
}

template <typename T>
static Outcome exchangeIf(void *address, uint64_t expected, uint64_t desired) {
  T old = T(expected);
  bool stored = __atomic_compare_exchange_n(static_cast<T *>(address), &old, T(desired), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return {old, stored && T(expected) != T(desired)};
}

/// What all atomics do around their effect.
template <typename Effect>
static uint64_t runAtomic(Thread &self, const AccessInfo &access, uint32_t order, Effect effect) {
  Located located = locate(self, access);
  if (!located.host)
    return 0;
  bool isShared = access.space == HEDDLE_SIM_SHARED;
  Outcome outcome = perform(self, access, order, [&] { return effect(located.host); });
  if (outcome.changed)
    self.cta->noteProgress();
  self.cta->log(self, {isShared ? 0 : located.counted, uint32_t(access.address), access.op,
                       uint8_t(isShared ? HEDDLE_SIM_ATOMIC_SHARED : HEDDLE_SIM_ATOMIC_GLOBAL),
                       uint8_t(access.size), 0});
  self.cta->yield(self);
  return outcome.old;
}

extern "C" uint64_t heddle_sim_atomic(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                      uint32_t kind, uint32_t order, uint64_t address,
                                      uint64_t operand) {
  bool wide = kind == HEDDLE_SIM_ATOMIC_ADD_I64 || kind == HEDDLE_SIM_ATOMIC_EXCH_I64;
  AccessInfo access = {AccessKind::Atomic, space, address, wide ? 8u : 4u, op, operand, 0};
  return runAtomic(*self, access, order, [&](void *host) {
    return wide ? update<uint64_t>(host, kind, operand)
                : update<uint32_t>(host, kind, uint32_t(operand));
  });
}

extern "C" uint64_t heddle_sim_atomic_cas(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                          uint32_t size, uint32_t order, uint64_t address,
                                          uint64_t expected, uint64_t desired) {
  AccessInfo access = {AccessKind::Atomic, space, address, size == 8 ? 8u : 4u, op, desired, 0};
  return runAtomic(*self, access, order, [&](void *host) {
    return size == 8 ? exchangeIf<uint64_t>(host, expected, desired)
                     : exchangeIf<uint32_t>(host, expected, desired);
  });
}
