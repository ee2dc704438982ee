//===- GlobalShadow.cpp - conflicts between accesses of global memory -----===//

#include "GlobalShadow.h"

using namespace heddle::sim;

void GlobalShadow::Page::splitWords() {
  std::vector<Piece> bytes(kPageBytes);
  for (uint64_t i = 0; i < kPageBytes; ++i)
    bytes[i] = pieces[i / 4];
  pieces.swap(bytes);
  unit = 1;
}

GlobalShadow::Page &GlobalShadow::pageAt(uint64_t number) {
  Page *page = pages[number].load(std::memory_order_acquire);
  if (page)
    return *page;
  Page *added = new Page;
  if (pages[number].compare_exchange_strong(page, added, std::memory_order_acq_rel))
    return *added;
  delete added; // another host thread was faster
  return *page;
}

static bool isOrdered(const GlobalActor &earlier, const GlobalActor &actor,
                      const WarpClock &clock) {
  if (!earlier.cta)
    return true;
  if (earlier.cta != actor.cta)
    return false;
  if (earlier.epoch != actor.epoch)
    return true;
  if (earlier.warp == actor.warp)
    return clock.orderedInWarp(1u << earlier.lane, earlier.clock, 1u << actor.lane);
  return earlier.clock < clock.heard.time[earlier.warp];
}

static bool isSameThread(const GlobalActor &a, const GlobalActor &b) {
  return a.cta == b.cta && a.warp == b.warp && a.lane == b.lane;
}

GlobalConflict GlobalShadow::access(AccessKind kind, uint64_t offset, uint32_t size,
                                    const GlobalActor &actor, const WarpClock &clock) {
  GlobalConflict conflict = {};
  bool isRead = kind == AccessKind::Read;
  auto compare = [&](const GlobalActor &earlier, bool isWrite) {
    bool areAtomic = earlier.atomic && actor.atomic;
    if (!conflict.other.cta && !areAtomic && !isOrdered(earlier, actor, clock))
      conflict = {earlier, isWrite};
  };
  // An access of 16 bytes may be unaligned where alignment is not checked.
  for (uint64_t begin = offset, end = offset + size; begin < end;) {
    uint64_t number = begin / kPageBytes;
    uint64_t stop = std::min(end, (number + 1) * kPageBytes);
    Page &page = pageAt(number);
    std::lock_guard<std::mutex> lock(page.mutex);
    if (page.unit == 4 && (begin % 4 || stop % 4))
      page.splitWords();
    for (uint64_t at = begin; at < stop; at += page.unit) {
      Piece &piece = page.pieces[at % kPageBytes / page.unit];
      compare(piece.writer, /*isWrite=*/true);
      if (isRead) {
        if (!piece.reader.cta || isSameThread(piece.reader, actor) ||
            isOrdered(piece.reader, actor, clock))
          piece.reader = actor;
        else
          piece.otherReader = actor;
        continue;
      }
      compare(piece.reader, /*isWrite=*/false);
      compare(piece.otherReader, /*isWrite=*/false);
      piece = {actor, {}, {}};
    }
    begin = stop;
  }
  return conflict;
}
