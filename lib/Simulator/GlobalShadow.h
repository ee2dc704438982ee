//===- GlobalShadow.h - who touched each piece of global memory -*- C++ -*-===//
//
// Nothing orders the CTAs of a launch, so two accesses of the same byte by different CTAs, one of them a write, are a race; threads of one
// CTA are ordered by its barriers, as for shared memory. Buffers that the kernel may not write are not followed, which leaves out most
// accesses: a kernel reads its inputs many times and writes its results once.
//
// Memory is followed in pages, made when they are first touched, that consist of words; a page in which something smaller than a word
// is accessed is followed by bytes from then on. Each piece has its last writer and two readers since: any further access is in conflict
// with one of two different threads if it is with any. 12 bytes of shadow for a byte, 48 in pages of bytes.
//
// Atomics are not in conflict with each other. Kernels that order threads on their own, by a fence and a flag, are not understood: once a
// thread of the launch has run a fence, nothing is followed any more.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H
#define HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H

#include "Shadow.h"
#include <atomic>
#include <memory>
#include <mutex>

namespace heddle::sim {

/// A thread of a CTA at some time.
struct GlobalActor {
  uint32_t cta;   ///< number of the CTA + 1; 0: nobody
  uint32_t epoch; ///< whole-CTA barriers before
  uint32_t clock, op;
  uint16_t warp, lane;
  bool atomic;
};

/// The earlier access that a later one is in conflict with; `other.cta` is 0 if there is none.
struct GlobalConflict {
  GlobalActor other;
  bool earlierIsWrite;
};

/// One writable buffer. Used by all host threads of a launch.
class GlobalShadow {
public:
  GlobalShadow(uint64_t bytes) : numPages((bytes + kPageBytes - 1) / kPageBytes) {
    pages.reset(new std::atomic<Page *>[numPages]());
  }
  ~GlobalShadow() {
    for (uint64_t i = 0; i < numPages; ++i)
      delete pages[i].load(std::memory_order_relaxed);
  }

  /// Records an access of [offset, offset + size), which lies in the buffer, and returns the first conflict.
  GlobalConflict access(AccessKind kind, uint64_t offset, uint32_t size, const GlobalActor &actor,
                        const WarpClock &clock);

private:
  static constexpr uint64_t kPageBytes = 4096;

  struct Piece {
    GlobalActor writer, reader, otherReader;
  };
  struct Page {
    std::mutex mutex;
    uint32_t unit = 4; ///< bytes of a piece
    std::vector<Piece> pieces = std::vector<Piece>(kPageBytes / 4);

    void splitWords();
  };

  Page &pageAt(uint64_t number);

  uint64_t numPages;
  std::unique_ptr<std::atomic<Page *>[]> pages;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H
