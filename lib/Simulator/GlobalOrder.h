//===- GlobalOrder.h - what threads know of others' accesses ----*- C++ -*-===//
//
// Barriers order the threads of one CTA; all else that orders accesses of global memory is told through memory:
//
//   1. A fence of thread A takes down what A knows: its own accesses so far, those that a barrier or warp sync has ordered before, and
//      what A has learnt from others.
//   2. The next strong write of A (an atomic or a volatile store) to an address leaves that knowledge there. An atomic adds it to what
//      others have left, a store replaces it. A release needs no fence.
//   3. A thread B that reads the address by an atomic, or by an acquiring load, knows from then on what was left there; after a volatile
//      load it does with its next fence.
//   4. Barriers and warp syncs share among their threads what each of them knows, has taken down and has read.
//
// For example, each CTA writes a result, its thread 0 runs a fence and adds 1 to a counter; who finds the counter at its last value knows
// the writes of all CTAs, and after a barrier so do the other threads of its CTA.
//
// An access counts as known if its CTA, epoch, time and number of fences before lie below the bounds that were told for its thread. An
// atomic belongs to the fence before it: who knows of the fence may access the counter plainly.
//
// A fence of the scope of a CTA works in the same way between threads of one CTA.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_GLOBALORDER_H
#define HEDDLE_LIB_SIMULATOR_GLOBALORDER_H

#include "WarpClock.h"
#include "heddle/Simulator/Device.h"
#include <atomic>
#include <utility>
#include <vector>

namespace heddle::sim {

/// Counts its owners, which may be several host threads.
struct Shared {
  mutable std::atomic<uint32_t> owners{0};
};

/// An owner of an immutable object, or null.
template <typename T> class Ref {
public:
  Ref() = default;
  explicit Ref(const T *object) : object(object) {
    if (object)
      object->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(const Ref &other) : Ref(other.object) {}
  Ref(Ref &&other) : object(std::exchange(other.object, nullptr)) {}
  Ref &operator=(Ref other) {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() {
    if (object && object->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete object;
  }

  const T *get() const { return object; }
  const T *operator->() const { return object; }
  explicit operator bool() const { return object; }

private:
  const T *object = nullptr;
};

/// A thread of a CTA at some time, or several lanes of a warp at one.
struct GlobalActor {
  uint32_t cta;      ///< number of the CTA + 1; 0: nobody
  uint32_t epoch;    ///< whole-CTA barriers before
  uint32_t clock;    ///< of the warp
  uint32_t releases; ///< fences of the thread before
  uint32_t op;
  uint32_t lanes;
  uint16_t warp;
  bool writes;
  bool strong; ///< atomic or volatile
};

/// Accesses of one CTA that are known: all of earlier epochs, and those below a thread's bounds.
struct KnownThreads : Shared {
  struct Bounds {
    uint32_t clock;    ///< in the epoch
    uint32_t releases; ///< in any
  };
  uint32_t epoch;
  std::vector<Bounds> threads; ///< by number in the CTA
};

class Knowledge : public Shared {
public:
  /// All lanes of `actor`.
  bool covers(const GlobalActor &actor) const;

  /// What is in one of both.
  static Ref<Knowledge> join(const Ref<Knowledge> &a, const Ref<Knowledge> &b);
  /// What is known of the threads of one CTA.
  static Ref<Knowledge> of(uint32_t cta, KnownThreads *threads);

private:
  using Entry = std::pair<uint32_t, Ref<KnownThreads>>;
  std::vector<Entry> entries; // by rising CTA
};

/// What a thread can share at a barrier.
struct GlobalOrder {
  Ref<Knowledge> known;
  // By heddle_sim_scope:
  Ref<Knowledge> released[2]; ///< taken down by fences, to be left by strong writes
  Ref<Knowledge> read[2];     ///< found by strong loads, to be known by fences

  void join(const GlobalOrder &other);
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_GLOBALORDER_H
