//===- WarpClock.h - which accesses happen before which -------------------===//
//
// Every access to shared memory is stamped with its warp, its lanes and the time on their clocks.
// An earlier access is ordered before a later one of
//
//   the same thread         always;
//   the same warp           if a warp sync of both lanes, or a barrier, came between;
//   another warp            if its stamp lies before the time of that warp that this warp has heard
//                           of at a barrier.
//
// All lanes of a warp have one clock, except after a warp sync of a part of the warp: then each lane
// has its own until the warp is synchronised as a whole.
//
// Barriers that the whole CTA waits at need no clocks: they begin a new epoch of the CTA, and stamps
// of older epochs are ordered before everything.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_WARPCLOCK_H
#define HEDDLE_LIB_SIMULATOR_WARPCLOCK_H

#include <algorithm>
#include <cstdint>
#include <memory>

namespace heddle::sim {

constexpr uint32_t kMaxWarps = 32;

/// What each warp's clock showed at the latest moment known; entries are exclusive bounds.
struct VectorClock {
  uint32_t time[kMaxWarps] = {};

  void join(const VectorClock &other) {
    for (uint32_t warp = 0; warp < kMaxWarps; ++warp)
      time[warp] = std::max(time[warp], other.time[warp]);
  }
};

/// Who accesses: one thread, or a whole warp (ldmatrix).
struct Actor {
  uint32_t warp;
  uint32_t lanes;
  uint32_t clock;
  uint32_t op;
};

class WarpClock {
public:
  void reset() {
    now = synced = 1;
    split = false;
    heard = VectorClock();
  }

  uint32_t time(uint32_t lane) const { return split ? parts->now[lane] : now; }
  /// The same for a collective of the whole warp.
  uint32_t latest() const { return split ? *std::max_element(parts->now, parts->now + 32) : now; }

  /// All lanes synchronise.
  void syncAll() {
    now = latest() + 1;
    synced = now;
    split = false;
  }

  /// The lanes of `mask` synchronise.
  void syncPart(uint32_t mask);

  /// The warp tells others what it has done (bar.arrive), and its lanes nothing to one another.
  void release() {
    uint32_t next = latest() + 1;
    if (split)
      std::fill(parts->now, parts->now + 32, next);
    now = next;
  }

  /// Whether accesses of this warp before `clock` by `earlier` lanes are ordered before what the
  /// lanes `later` do next.
  bool orderedInWarp(uint32_t earlier, uint32_t clock, uint32_t later) const {
    if (clock < synced)
      return true;
    if (earlier == later && (earlier & (earlier - 1)) == 0)
      return true;
    return split && orderedInParts(earlier, clock, later);
  }

  /// The bound of what lane `other` did that is ordered before what `lane` does next.
  uint32_t known(uint32_t lane, uint32_t other) const {
    return split ? parts->known[lane][other] : synced;
  }

  /// The bounds of other warps that this warp has heard of.
  VectorClock heard;

private:
  struct Parts {
    uint32_t now[32];
    /// known[a][b]: accesses of lane b before this time are ordered before what lane a does next.
    uint32_t known[32][32];
  };

  bool orderedInParts(uint32_t earlier, uint32_t clock, uint32_t later) const;

  uint32_t now = 1, synced = 1;
  bool split = false;
  std::unique_ptr<Parts> parts;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_WARPCLOCK_H
