//===- GlobalShadow.cpp - conflicts between accesses of global memory -----===//

#include "GlobalShadow.h"
#include <algorithm>

using namespace heddle::sim;

void GlobalShadow::Page::splitWords() {
  std::vector<Piece> bytes(kPageBytes);
  for (uint64_t i = 0; i < kPageBytes; ++i) {
    const Piece &word = pieces[i / 4];
    bytes[i].writer = word.writer;
    bytes[i].touch = word.touch;
    bytes[i].hasWeak = word.hasWeak;
    bytes[i].hasWrites = word.hasWrites;
    if (word.touches)
      bytes[i].touches = std::make_unique<std::vector<GlobalActor>>(*word.touches);
  }
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

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static bool isOrdered(const GlobalActor &earlier, const GlobalActor &actor,
                      const GlobalView &view) {
  if (!earlier.cta)
    return true;
  if (earlier.cta == actor.cta) {
    if (earlier.epoch != actor.epoch)
      return true;
    bool isHeardOf = earlier.warp == actor.warp
                         ? view.clock.orderedInWarp(earlier.lanes, earlier.clock, actor.lanes)
                         : earlier.clock < view.clock.heard.time[earlier.warp];
    if (isHeardOf)
      return true;
  }
  return view.known && view.known->covers(earlier);
}

static bool areInConflict(const GlobalActor &a, const GlobalActor &b) {
  return (a.writes || b.writes) && !(a.strong && b.strong);
}

static bool isSameWarp(const GlobalActor &a, const GlobalActor &b) {
  return a.cta == b.cta && a.warp == b.warp;
}

/// Lets `later` stand for what it can of an earlier access. Returns whether nothing is left of that.
static bool replace(GlobalActor &earlier, const GlobalActor &later, const GlobalView &view) {
  if (earlier.writes > later.writes || earlier.strong < later.strong)
    return false;
  if (isOrdered(earlier, later, view))
    return true;
  if (isSameWarp(earlier, later))
    earlier.lanes &= ~later.lanes;
  return earlier.lanes == 0;
}

/// Makes one of two accesses at one time by lanes of a warp.
static bool merge(GlobalActor &earlier, const GlobalActor &later) {
  if (!isSameWarp(earlier, later) || earlier.epoch != later.epoch || earlier.clock != later.clock ||
      earlier.releases != later.releases || earlier.writes != later.writes ||
      earlier.strong != later.strong)
    return false;
  earlier.lanes |= later.lanes;
  return true;
}

void GlobalShadow::addTouch(Piece &piece, const GlobalActor &actor, const GlobalView &view) {
  if (replace(piece.touch, actor, view))
    piece.touch = {};
  bool isAdded = merge(piece.touch, actor);
  if (!isAdded && !piece.touch.cta) {
    piece.touch = actor;
    isAdded = true;
  }
  if (!piece.touches) {
    if (isAdded)
      return;
    piece.touches = std::make_unique<std::vector<GlobalActor>>();
  }
  std::vector<GlobalActor> &touches = *piece.touches;
  auto isBefore = [](const GlobalActor &a, const GlobalActor &b) {
    return a.cta < b.cta || (a.cta == b.cta && a.warp < b.warp);
  };
  auto own = std::equal_range(touches.begin(), touches.end(), actor, isBefore);
  auto end = std::remove_if(own.first, own.second,
                            [&](GlobalActor &touch) { return replace(touch, actor, view); });
  for (auto touch = own.first; touch != end && !isAdded; ++touch)
    isAdded = merge(*touch, actor);
  end = touches.erase(end, own.second);
  if (!isAdded)
    touches.insert(end, actor);
  piece.hasWeak |= !actor.strong;
  piece.hasWrites |= actor.writes;
}

GlobalActor GlobalShadow::access(uint64_t offset, uint32_t size, const GlobalActor &actor,
                                 const GlobalView &view) {
  GlobalActor conflict = {};
  auto compare = [&](const GlobalActor &earlier) {
    if (!conflict.cta && areInConflict(earlier, actor) && !isOrdered(earlier, actor, view))
      conflict = earlier;
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
      compare(piece.writer);
      compare(piece.touch);
      if (piece.touches && piece.mayConflict(actor))
        for (const GlobalActor &touch : *piece.touches)
          compare(touch);
      if (!actor.writes || actor.strong) {
        addTouch(piece, actor, view);
        continue;
      }
      piece = {actor, {}, nullptr};
    }
    begin = stop;
  }
  return conflict;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

GlobalShadow::Message *GlobalShadow::Mailbox::find(uint64_t at, uint32_t cta) const {
  auto found = std::lower_bound(page.messages.begin(), page.messages.end(), std::pair(at, cta),
                                [](const Message &message, std::pair<uint64_t, uint32_t> key) {
                                  return std::pair(message.offset, message.cta) < key;
                                });
  return page.messages.data() + (found - page.messages.begin());
}

Ref<Knowledge> GlobalShadow::Mailbox::read(uint32_t cta) const {
  const Message *message = find(offset, cta);
  return message < find(offset, cta + 1) ? message->knowledge : Ref<Knowledge>();
}

void GlobalShadow::Mailbox::leave(uint32_t cta, const Ref<Knowledge> &knowledge) {
  Message *message = find(offset, cta);
  if (message < find(offset, cta + 1))
    message->knowledge = Knowledge::join(message->knowledge, knowledge);
  else if (knowledge)
    page.messages.insert(page.messages.begin() + (message - page.messages.data()),
                         {offset, cta, knowledge});
}

void GlobalShadow::Mailbox::clear() {
  Message *first = page.messages.data();
  auto begin = page.messages.begin();
  page.messages.erase(begin + (find(offset, 0) - first), begin + (find(offset + 1, 0) - first));
}
