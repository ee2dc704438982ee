//===- GlobalShadow.h - who touched each piece of global memory -*- C++ -*-===//
//
// Two accesses of the same byte, one of them a write, are a race unless something orders them: program order, barriers and warp syncs
// within a CTA, and what is told through memory (GlobalOrder.h). Strong accesses, which are atomics and volatile ones, are not in conflict
// with each other. Buffers that the kernel may not write are not followed, which leaves out most accesses: a kernel reads its inputs many
// times and writes its results once.
//
// Memory is followed in pages, made when they are first touched, that consist of words; a page in which something smaller than a word
// is accessed is followed by bytes from then on. Each piece has its last weak writer and what touched it since, but for accesses that a
// later one stands for: one that comes after it and is in conflict with everything that it is in conflict with. The first touch is kept in
// place, which is the only one of most pieces. 64 bytes of shadow for a word.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H
#define HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H

#include "GlobalOrder.h"
#include "WarpClock.h"
#include <memory>
#include <mutex>

namespace heddle::sim {

/// What the actor, which is one thread, knows of earlier accesses.
struct GlobalView {
  const WarpClock &clock;
  const Knowledge *known; ///< null: nothing
};

/// One writable buffer. Used by all host threads of a launch.
class GlobalShadow {
  static constexpr uint64_t kPageBytes = 4096;

  struct Piece {
    GlobalActor writer;                                ///< the last weak one
    GlobalActor touch;                                 ///< since
    std::unique_ptr<std::vector<GlobalActor>> touches; ///< the rest, by CTA and warp
    bool hasWeak = false, hasWrites = false;           ///< whether some of the rest are

    /// Whether an access may be in conflict with the rest, which may be many.
    bool mayConflict(const GlobalActor &actor) const {
      return actor.writes ? !actor.strong || hasWeak : hasWrites && !actor.strong;
    }
  };
  /// What is left at an address for all CTAs (0), or for the threads of one (its number + 1).
  struct Message {
    uint64_t offset;
    uint32_t cta;
    Ref<Knowledge> knowledge;
  };
  struct Page {
    std::mutex mutex;
    uint32_t unit = 4; ///< bytes of a piece
    std::vector<Piece> pieces = std::vector<Piece>(kPageBytes / 4);
    std::mutex messageMutex;
    std::vector<Message> messages; ///< by offset and CTA

    void splitWords();
  };

public:
  GlobalShadow(uint64_t bytes) : numPages((bytes + kPageBytes - 1) / kPageBytes) {
    pages.reset(new std::atomic<Page *>[numPages]());
  }
  ~GlobalShadow() {
    for (uint64_t i = 0; i < numPages; ++i)
      delete pages[i].load(std::memory_order_relaxed);
  }

  /// Records an access of [offset, offset + size), which lies in the buffer, and returns the first earlier access that it is in conflict
  /// with; that of CTA 0 if there is none.
  GlobalActor access(uint64_t offset, uint32_t size, const GlobalActor &actor,
                     const GlobalView &view);

  /// The messages at an address. Nobody else can read or leave any there as long as this lives.
  class Mailbox {
  public:
    Mailbox(GlobalShadow &shadow, uint64_t offset)
        : page(shadow.pageAt(offset / kPageBytes)), offset(offset), lock(page.messageMutex) {}

    Ref<Knowledge> read(uint32_t cta) const;
    /// Adds to what is there.
    void leave(uint32_t cta, const Ref<Knowledge> &knowledge);
    void clear();

  private:
    /// The first message at or after a place.
    Message *find(uint64_t at, uint32_t cta) const;

    Page &page;
    uint64_t offset;
    std::lock_guard<std::mutex> lock;
  };

private:
  Page &pageAt(uint64_t number);
  static void addTouch(Piece &piece, const GlobalActor &actor, const GlobalView &view);

  uint64_t numPages;
  std::unique_ptr<std::atomic<Page *>[]> pages;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_GLOBALSHADOW_H
