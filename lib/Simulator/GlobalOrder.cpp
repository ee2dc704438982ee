//===- GlobalOrder.cpp - knowledge is joined, told and looked up ----------===//

#include "Memory.h"

using namespace heddle::sim;

static bool isKnown(const KnownThreads &known, const GlobalActor &actor) {
  if (actor.epoch < known.epoch)
    return true;
  for (uint32_t rest = actor.lanes; rest; rest &= rest - 1) {
    const KnownThreads::Bounds &bounds =
        known.threads[actor.warp * 32 + uint32_t(__builtin_ctz(rest))];
    bool isBefore = actor.epoch == known.epoch && actor.clock < bounds.clock;
    if (!isBefore && actor.releases >= bounds.releases)
      return false;
  }
  return true;
}

bool Knowledge::covers(const GlobalActor &actor) const {
  auto entry = std::lower_bound(entries.begin(), entries.end(), actor.cta,
                                [](const Entry &entry, uint32_t cta) { return entry.first < cta; });
  return entry != entries.end() && entry->first == actor.cta &&
         isKnown(*entry->second.get(), actor);
}

/// Joins what is known of one CTA. Gives back `a` or `b` where that says it all.
static Ref<KnownThreads> join(const Ref<KnownThreads> &a, const Ref<KnownThreads> &b) {
  if (a.get() == b.get())
    return a;
  if (a->epoch < b->epoch)
    return join(b, a);
  auto *joined = new KnownThreads;
  Ref<KnownThreads> owner(joined);
  joined->epoch = a->epoch;
  joined->threads = a->threads;
  bool isA = true, isB = a->epoch == b->epoch;
  for (size_t i = 0; i < a->threads.size(); ++i) {
    KnownThreads::Bounds &bounds = joined->threads[i];
    const KnownThreads::Bounds &of = a->threads[i], &other = b->threads[i];
    if (a->epoch == b->epoch)
      bounds.clock = std::max(bounds.clock, other.clock);
    bounds.releases = std::max(bounds.releases, other.releases);
    isA &= bounds.clock == of.clock && bounds.releases == of.releases;
    isB &= bounds.clock == other.clock && bounds.releases == other.releases;
  }
  return isA ? a : isB ? b : owner;
}

Ref<Knowledge> Knowledge::join(const Ref<Knowledge> &a, const Ref<Knowledge> &b) {
  if (!a || !b || a.get() == b.get())
    return a ? a : b;
  auto *joined = new Knowledge;
  Ref<Knowledge> owner(joined);
  joined->entries.reserve(std::max(a->entries.size(), b->entries.size()));
  bool isA = true, isB = true;
  auto i = a->entries.begin(), endA = a->entries.end();
  auto j = b->entries.begin(), endB = b->entries.end();
  while (i != endA || j != endB) {
    if (j == endB || (i != endA && i->first < j->first)) {
      joined->entries.push_back(*i++);
      isB = false;
    } else if (i == endA || j->first < i->first) {
      joined->entries.push_back(*j++);
      isA = false;
    } else {
      Ref<KnownThreads> threads = ::join(i->second, j->second);
      isA &= threads.get() == i->second.get();
      isB &= threads.get() == j->second.get();
      joined->entries.push_back({i->first, std::move(threads)});
      ++i;
      ++j;
    }
  }
  return isA ? a : isB ? b : owner;
}

Ref<Knowledge> Knowledge::of(uint32_t cta, KnownThreads *threads) {
  auto *knowledge = new Knowledge;
  knowledge->entries.push_back({cta, Ref<KnownThreads>(threads)});
  return Ref<Knowledge>(knowledge);
}

void GlobalOrder::join(const GlobalOrder &other) {
  known = Knowledge::join(known, other.known);
  for (int scope : {HEDDLE_SIM_SCOPE_GPU, HEDDLE_SIM_SCOPE_CTA}) {
    released[scope] = Knowledge::join(released[scope], other.released[scope]);
    read[scope] = Knowledge::join(read[scope], other.read[scope]);
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static GlobalOrder &orderOf(Thread &self) {
  if (!self.order)
    self.order = std::make_unique<GlobalOrder>();
  self.cta->sharesOrder = true;
  return *self.order;
}

/// Takes down what a thread knows now. What it does next is not part of it.
static Ref<Knowledge> release(Thread &self) {
  CTA &cta = *self.cta;
  const Warp &own = *self.warp;
  auto *threads = new KnownThreads;
  threads->epoch = cta.epoch;
  threads->threads.resize(cta.state->numThreads);
  for (uint32_t i = 0; i < cta.state->numThreads; ++i)
    threads->threads[i].clock =
        i / 32 == own.index ? own.clock.known(self.lane, i % 32) : own.clock.heard.time[i / 32];
  threads->threads[self.index].releases = ++self.releases;
  return Knowledge::join(orderOf(self).known,
                         Knowledge::of(uint32_t(cta.linearIndex + 1), threads));
}

uint32_t heddle::sim::leaveReleased(Thread &self, GlobalShadow::Mailbox &mailbox, AccessKind kind,
                                    uint32_t order) {
  if (kind == AccessKind::Read)
    return self.releases;
  if (kind == AccessKind::Write) // what was there can no longer be read
    mailbox.clear();
  uint32_t releases = self.released ? self.released - 1 : self.releases;
  Ref<Knowledge> forAll, forOwn;
  if (self.order) {
    forAll = self.order->released[HEDDLE_SIM_SCOPE_GPU];
    forOwn = self.order->released[HEDDLE_SIM_SCOPE_CTA];
  }
  if (order & HEDDLE_SIM_RELEASE) {
    releases = self.releases;
    forAll = release(self);
  }
  mailbox.leave(0, forAll);
  mailbox.leave(uint32_t(self.cta->linearIndex + 1), forOwn);
  return releases;
}

void heddle::sim::takeOver(Thread &self, const GlobalShadow::Mailbox &mailbox, AccessKind kind,
                           uint32_t order) {
  if (kind == AccessKind::Write)
    return;
  Ref<Knowledge> fromAll = mailbox.read(0);
  Ref<Knowledge> fromOwn = mailbox.read(uint32_t(self.cta->linearIndex + 1));
  if (!fromAll && !fromOwn)
    return;
  GlobalOrder &own = orderOf(self);
  if (kind == AccessKind::Atomic || (order & HEDDLE_SIM_ACQUIRE)) {
    own.known = Knowledge::join(own.known, Knowledge::join(fromAll, fromOwn));
    return;
  }
  own.read[HEDDLE_SIM_SCOPE_GPU] = Knowledge::join(own.read[HEDDLE_SIM_SCOPE_GPU], fromAll);
  own.read[HEDDLE_SIM_SCOPE_CTA] = Knowledge::join(own.read[HEDDLE_SIM_SCOPE_CTA], fromOwn);
}

void heddle::sim::runFence(Thread &self, uint32_t scope) {
  const LaunchState &launch = *self.cta->state;
  if (launch.globalShadows.empty())
    return;
  launch.ordersByMemory.store(true, std::memory_order_release);
  GlobalOrder &order = orderOf(self);
  order.known = Knowledge::join(order.known, order.read[HEDDLE_SIM_SCOPE_CTA]);
  order.read[HEDDLE_SIM_SCOPE_CTA] = {};
  if (scope == HEDDLE_SIM_SCOPE_GPU) {
    order.known = Knowledge::join(order.known, order.read[HEDDLE_SIM_SCOPE_GPU]);
    order.read[HEDDLE_SIM_SCOPE_GPU] = {};
  }
  order.released[scope] = release(self);
  if (scope == HEDDLE_SIM_SCOPE_GPU) {
    order.released[HEDDLE_SIM_SCOPE_CTA] = {}; // is told to the own CTA, too
  }
  if (scope == HEDDLE_SIM_SCOPE_GPU || !self.released)
    self.released = self.releases;
}
