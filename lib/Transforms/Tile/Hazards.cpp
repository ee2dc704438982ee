//===- Hazards.cpp - accesses that no barrier orders ----------------------===//
//
// A forward analysis over structured control flow. The state at a point is the set of accesses that no barrier has ordered yet:
//
//   copy in flight   from the copy on, with its age: the number of commits since, its own included
//   done             other accesses at once, copies at the wait that leaves fewer than `age` groups pending
//
//   1. An access that overlaps one of the state, one of the two being a write, is a hazard.
//   2. commit: copies in flight grow older. wait n: those older than n are done. barrier: done ones go. warp_barrier: done ones
//      stay, for conflicts between warps only.
//   3. scf.if: the union of both ways. scf.for: the state at the body's start is the union of those before the loop and at the body's
//      end, found by iteration; behind the loop, of those before it and at the body's end.
//   4. A slot that was (t + n) mod slots in trip t is (t' + n - 1) mod slots in the next trip t'. Behind the loop it may be any slot.
//
//===----------------------------------------------------------------------===//

#include "Hazards.h"

#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

namespace {

/// An access that later ones may conflict with.
struct Pending {
  /// Position in the analysis' list of accesses.
  size_t access;
  SlotReference slot;
  /// Of a copy in flight, else nothing.
  std::optional<int64_t> age;
  Operation *completion;
  /// A barrier of each warp came after it.
  bool warpOrdered;

  bool operator<(const Pending &other) const {
    return std::tie(access, slot, age, completion, warpOrdered) <
           std::tie(other.access, other.slot, other.age, other.completion, other.warpOrdered);
  }
  bool operator==(const Pending &other) const { return !(*this < other) && !(other < *this); }
};

using State = std::set<Pending>;

/// Ages beyond the largest number of groups that a wait may leave are all alike.
constexpr int64_t oldest = 64;

State transformed(const State &state, function_ref<std::optional<Pending>(Pending)> change) {
  State result;
  for (const Pending &pending : state)
    if (std::optional<Pending> changed = change(pending))
      result.insert(*changed);
  return result;
}

} // namespace

class HazardAnalysis::Impl {
public:
  explicit Impl(tile::KernelOp kernel);

  LogicalResult run(Block &block, State &state);

  tile::KernelOp kernel;
  SmallVector<Hazard> hazards;

private:
  LogicalResult runLoop(scf::ForOp loop, State &state);
  LogicalResult runIf(scf::IfOp branch, State &state);
  void runAccesses(Operation *op, State &state);
  void check(const Pending &pending, size_t second);
  Sharing sharing(size_t first, size_t second);

  int64_t warps;
  /// Hazards are noted in the last visit of a loop's body only.
  int silent = 0;
  std::vector<SharedAccess> accesses;
  /// Of each operation, the positions of its accesses: from the first on, so many.
  llvm::DenseMap<Operation *, std::pair<size_t, size_t>> accessesOf;
  /// Rings whose slots a loop counts.
  llvm::DenseMap<Operation *, llvm::SmallPtrSet<Operation *, 4>> ringsOf;
  std::map<std::pair<size_t, size_t>, Sharing> sharings;
};

HazardAnalysis::Impl::Impl(tile::KernelOp kernel) : kernel(kernel) {
  tile::ConfigAttr config = kernel.getConfigAttr();
  warps = config ? config.getWarps().value_or(0) : 0;
  kernel.walk([&](Operation *op) {
    SmallVector<SharedAccess, 2> made = sharedAccesses(op);
    if (made.empty())
      return;
    accessesOf[op] = {accesses.size(), made.size()};
    accesses.insert(accesses.end(), made.begin(), made.end());
    for (SharedAccess &access : made)
      if (access.slot.loop)
        ringsOf[access.slot.loop].insert(access.alloc);
  });
}

Sharing HazardAnalysis::Impl::sharing(size_t first, size_t second) {
  auto [known, isNew] = sharings.try_emplace({first, second}, Sharing::CTA);
  if (isNew)
    known->second = sharingOf(accesses[first], accesses[second], warps);
  return known->second;
}

void HazardAnalysis::Impl::check(const Pending &pending, size_t second) {
  const SharedAccess &before = accesses[pending.access], &now = accesses[second];
  if ((!before.isWrite && !now.isWrite) ||
      !mayOverlap(before.alloc, pending.slot, now.alloc, now.slot))
    return;
  // Layouts tell about one slot; a copy's threads are not known.
  Sharing shared = Sharing::CTA;
  if (!pending.age && pending.slot == now.slot)
    shared = sharing(pending.access, second);
  if (shared == Sharing::Thread || (shared == Sharing::Warp && pending.warpOrdered))
    return;
  if (silent == 0)
    hazards.push_back(
        {before, now, pending.completion, pending.age.has_value(), shared == Sharing::Warp});
}

void HazardAnalysis::Impl::runAccesses(Operation *op, State &state) {
  auto made = accessesOf.find(op);
  if (made == accessesOf.end())
    return;
  auto [first, count] = made->second;
  for (size_t access = first; access < first + count; ++access)
    for (const Pending &pending : state)
      check(pending, access);
  for (size_t access = first; access < first + count; ++access) {
    std::optional<int64_t> age;
    if (accesses[access].isAsync)
      age = 0;
    state.insert({access, accesses[access].slot, age, op, false});
  }
}

LogicalResult HazardAnalysis::Impl::runLoop(scf::ForOp loop, State &state) {
  auto slotsOf = [&](const Pending &pending) {
    AllocOp alloc = accesses[pending.access].alloc;
    return alloc ? alloc.getType().getSlots() : 1;
  };
  // Only slots of rings that the loop goes round are counted by its trips.
  const llvm::SmallPtrSet<Operation *, 4> &rings = ringsOf[loop];
  State start = transformed(state, [&](Pending pending) {
    AllocOp alloc = accesses[pending.access].alloc;
    if (alloc && rings.contains(alloc) && pending.slot.kind == SlotReference::Fixed)
      pending.slot = {SlotReference::Cyclic, pending.slot.number, loop};
    return pending;
  });
  auto nextTrip = [&](Pending pending) {
    int64_t slots = slotsOf(pending);
    if (pending.slot.loop == loop)
      pending.slot.number = (pending.slot.number + slots - 1) % slots;
    return pending;
  };
  State end;
  for (bool isStable = false; !isStable;) {
    ++silent;
    end = start;
    LogicalResult result = run(*loop.getBody(), end);
    --silent;
    if (failed(result))
      return failure();
    size_t before = start.size();
    State next = transformed(end, nextTrip);
    start.insert(next.begin(), next.end());
    isStable = start.size() == before;
  }
  end = start;
  if (failed(run(*loop.getBody(), end)))
    return failure();
  State left = transformed(end, [&](Pending pending) {
    if (pending.slot.loop == loop)
      pending.slot = {};
    return pending;
  });
  if (std::optional<APInt> trips = loop.getStaticTripCount(); trips && !trips->isZero())
    state.clear();
  state.insert(left.begin(), left.end());
  return success();
}

LogicalResult HazardAnalysis::Impl::runIf(scf::IfOp branch, State &state) {
  State otherwise = state;
  if (failed(run(*branch.thenBlock(), state)))
    return failure();
  if (branch.elseBlock() && failed(run(*branch.elseBlock(), otherwise)))
    return failure();
  state.insert(otherwise.begin(), otherwise.end());
  return success();
}

LogicalResult HazardAnalysis::Impl::run(Block &block, State &state) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(runLoop(loop, state)))
        return failure();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (failed(runIf(branch, state)))
        return failure();
    } else if (op.getNumRegions() != 0) {
      bool isUsed = false;
      op.walk([&](Operation *inner) { isUsed |= isa<TileNVDialect>(inner->getDialect()); });
      if (isUsed)
        return op.emitOpError() << "uses shared memory in its regions; expected scf.for or scf.if";
    } else if (isa<CommitGroupOp>(op)) {
      state = transformed(state, [](Pending pending) {
        if (pending.age)
          pending.age = std::min(*pending.age + 1, oldest);
        return pending;
      });
    } else if (auto wait = dyn_cast<WaitGroupOp>(op)) {
      state = transformed(state, [&](Pending pending) {
        if (pending.age && *pending.age > int64_t(wait.getPending())) {
          pending.age.reset();
          pending.completion = wait;
        }
        return pending;
      });
    } else if (isa<BarrierOp, WarpBarrierOp>(op)) {
      bool isWarp = isa<WarpBarrierOp>(op);
      state = transformed(state, [&](Pending pending) -> std::optional<Pending> {
        if (pending.age)
          return pending;
        pending.warpOrdered = true;
        return isWarp ? std::optional(pending) : std::nullopt;
      });
    } else {
      runAccesses(&op, state);
    }
  }
  return success();
}

HazardAnalysis::HazardAnalysis(tile::KernelOp kernel) : impl(std::make_unique<Impl>(kernel)) {}

HazardAnalysis::~HazardAnalysis() = default;

FailureOr<SmallVector<Hazard>> HazardAnalysis::run() {
  impl->hazards.clear();
  State state;
  if (failed(impl->run(impl->kernel.getBody().front(), state)))
    return failure();
  return std::move(impl->hazards);
}
