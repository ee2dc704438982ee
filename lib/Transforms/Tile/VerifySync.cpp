//===- VerifySync.cpp - tile-verify-sync ----------------------------------===//
//
// Follows each access of shared memory, from each state in which the kernel may make it, along all ways of the event graph until a
// barrier orders it, and reports whatever touches its bytes on the way:
//
//   copy            in flight until a wait leaves fewer groups pending than were committed since, its own included
//   other access    done at once
//   barrier         ends the way if the access is done
//   warp_barrier    from here on only other warps may conflict
//
// Which threads touch the same element is found by looking at every element. None of this is shared with tile-insert-sync.
//
//===----------------------------------------------------------------------===//

#include "EventGraph.h"

#include "heddle/Transforms/Tile/Passes.h"

#include <set>

using namespace mlir;
using namespace heddle::tile_nv;

namespace heddle {

#define GEN_PASS_DEF_TILEVERIFYSYNCPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

/// For each element, or each row, which threads hold it.
struct Owners {
  std::vector<uint32_t> warps;
  /// The thread, if it is only one; else -1.
  std::vector<int64_t> thread;
};

struct Access {
  Operation *op;
  OpOperand *operand;
  bool isWrite, isCopy;
  int64_t begin, end;
  /// Who touches which element of `tile`, or of its rows; null if not known.
  tile::LayoutAttr layout;
  bool onlyRows;
  Value tile;
};

/// How far an access that is followed has come.
struct Status {
  std::optional<int64_t> commits; // since the copy, if it is in flight
  bool warpOrdered = false;
  bool operator<(const Status &other) const {
    return std::tie(commits, warpOrdered) < std::tie(other.commits, other.warpOrdered);
  }
};

/// A state of the event graph with what it leads to and touches.
struct Node {
  const Event *event;
  SmallVector<size_t, 2> next;
  SmallVector<Access, 2> accesses;
};

class SyncVerifier {
public:
  SyncVerifier(tile::KernelOp kernel, const EventGraph &graph);
  LogicalResult run();

private:
  SmallVector<Access, 2> accessesOf(const EventState &state) const;
  void follow(size_t from, const Access &access);
  /// Reports the pair unless it is ordered, or known already.
  void check(const Access &first, const Status &status, const Access &second);
  bool isOrdered(const Access &first, const Status &status, const Access &second);
  const Owners &ownersOf(tile::LayoutAttr layout, bool onlyRows);

  const EventGraph &graph;
  std::vector<Node> nodes;
  int64_t warps;
  /// First byte of each buffer; those without an offset come behind all others.
  llvm::DenseMap<Operation *, int64_t> begins;
  std::map<std::pair<const void *, bool>, Owners> owners;
  std::set<std::tuple<OpOperand *, OpOperand *, bool>> reported;
};

} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

SyncVerifier::SyncVerifier(tile::KernelOp kernel, const EventGraph &graph) : graph(graph) {
  tile::ConfigAttr config = kernel.getConfigAttr();
  warps = config ? config.getWarps().value_or(0) : 0;
  int64_t unplaced = int64_t(1) << 40;
  kernel.walk([&](AllocOp alloc) {
    begins[alloc] = alloc.getOffset() ? int64_t(*alloc.getOffset()) : unplaced;
    unplaced += alloc.getBuffer().getType().getBytes();
  });
}

SmallVector<Access, 2> SyncVerifier::accessesOf(const EventState &state) const {
  const Event &event = graph.events[state.event];
  auto effectful = dyn_cast_or_null<MemoryEffectOpInterface>(event.op);
  if (event.kind != Event::Operation || !effectful)
    return {};
  SmallVector<MemoryEffects::EffectInstance> effects;
  effectful.getEffects(effects);
  SmallVector<Access, 2> accesses;
  for (MemoryEffects::EffectInstance &effect : effects) {
    auto *operand = effect.getEffectValue<OpOperand *>();
    if (!operand || !isa<BufferType>(operand->get().getType()))
      continue;
    Access access{event.op,
                  operand,
                  isa<MemoryEffects::Write>(effect.getEffect()),
                  isa<CopyAsyncOp>(event.op),
                  0,
                  std::numeric_limits<int64_t>::max(),
                  nullptr,
                  false,
                  operand->get()};
    Value buffer = operand->get();
    auto slot = buffer.getDefiningOp<SlotOp>();
    if (auto alloc = (slot ? Value(slot.getRing()) : buffer).getDefiningOp<AllocOp>()) {
      BufferType type = alloc.getBuffer().getType();
      access.begin = begins.lookup(alloc);
      access.end = access.begin + type.getBytes();
      access.tile = alloc;
      std::optional<int64_t> index =
          slot ? graph.evaluate(slot.getIndex(), state.counters) : std::nullopt;
      if (index && *index >= 0 && *index < type.getSlots()) {
        access.begin += *index * type.getSlotBytes();
        access.end = access.begin + type.getTileBytes();
      }
    }
    if (auto load = dyn_cast<LoadOp>(event.op)) {
      access.layout = tile::layoutOf(load.getType());
    } else if (auto store = dyn_cast<StoreOp>(event.op)) {
      access.layout = tile::layoutOf(store.getTile().getType());
    } else if (auto dot = dyn_cast<DotOp>(event.op);
               dot && operand == &dot.getAMutable() && !dot.getTransposeA()) {
      // A warp reads the rows of the operand that it has in the result.
      access.layout = tile::layoutOf(dot.getType());
      access.onlyRows = true;
    }
    accesses.push_back(access);
  }
  return accesses;
}

const Owners &SyncVerifier::ownersOf(tile::LayoutAttr attr, bool onlyRows) {
  auto [known, isNew] = owners.try_emplace({attr.getAsOpaquePointer(), onlyRows});
  Owners &result = known->second;
  if (!isNew)
    return result;
  const layout::Layout &map = attr.getLayout();
  int64_t rows = map.outSize(layout::Dim::Coord0);
  int64_t columns = onlyRows ? 1 : map.outSize(layout::Dim::Coord1);
  result.warps.assign(rows * columns, 0);
  result.thread.assign(rows * columns, -2);
  int64_t itsLanes = map.inSize(layout::Dim::Lane), itsWarps = map.inSize(layout::Dim::Warp);
  map.forEach([&](const layout::Point &position, const layout::Point &element) {
    int64_t place = valueOf(element, layout::Dim::Coord0) * columns;
    if (!onlyRows)
      place += valueOf(element, layout::Dim::Coord1);
    // Lanes and warps that a layout does not name hold copies.
    for (int64_t warp = valueOf(position, layout::Dim::Warp); warp < warps; warp += itsWarps) {
      result.warps[place] |= uint32_t(1) << warp;
      for (int64_t lane = valueOf(position, layout::Dim::Lane); lane < 32; lane += itsLanes) {
        int64_t thread = warp * 32 + lane;
        int64_t &owner = result.thread[place];
        owner = owner == -2 || owner == thread ? thread : -1;
      }
    }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

bool SyncVerifier::isOrdered(const Access &first, const Status &status, const Access &second) {
  if (status.commits || first.tile != second.tile || first.begin != second.begin ||
      first.end != second.end || !first.layout || !second.layout || first.isCopy || second.isCopy ||
      warps == 0)
    return false;
  for (tile::LayoutAttr layout : {first.layout, second.layout})
    if (layout.getLayout().inSize(layout::Dim::Warpgroup) != 1)
      return false;
  bool onlyRows = first.onlyRows || second.onlyRows;
  const Owners &x = ownersOf(first.layout, onlyRows), &y = ownersOf(second.layout, onlyRows);
  bool sameThread = !onlyRows && x.thread == y.thread && !llvm::is_contained(x.thread, -1);
  bool sameWarp = x.warps == y.warps && llvm::all_of(x.warps, llvm::isPowerOf2_64);
  return sameThread || (sameWarp && status.warpOrdered);
}

void SyncVerifier::check(const Access &first, const Status &status, const Access &second) {
  if ((!first.isWrite && !second.isWrite) || first.begin >= second.end ||
      second.begin >= first.end || isOrdered(first, status, second) ||
      !reported.insert({first.operand, second.operand, status.commits.has_value()}).second)
    return;
  auto verb = [](const Access &access) { return access.isWrite ? "writes to" : "reads"; };
  InFlightDiagnostic error = second.op->emitOpError() << verb(second) << " shared memory ["
                                                      << std::max(first.begin, second.begin) << ", "
                                                      << std::min(first.end, second.end) << ")";
  if (status.commits)
    error << " that a copy in flight writes to; expected a wait and a barrier between them";
  else
    error << " that other threads may not have " << (first.isWrite ? "written" : "read")
          << " yet; expected a barrier between them";
  error.attachNote(first.op->getLoc())
      << (first.isCopy ? "this copy " : "this operation ") << verb(first) << " them";
}

void SyncVerifier::follow(size_t from, const Access &access) {
  Status start;
  if (access.isCopy)
    start.commits = 0;
  std::vector<std::pair<size_t, Status>> open{{from, start}};
  std::set<std::pair<size_t, Status>> seen;
  while (!open.empty()) {
    auto [place, status] = open.back();
    open.pop_back();
    for (size_t next : nodes[place].next) {
      for (const Access &second : nodes[next].accesses)
        check(access, status, second);
      Status after = status;
      Operation *op = nodes[next].event->op;
      if (nodes[next].event->kind == Event::Operation) {
        if (isa<BarrierOp>(op) && !after.commits)
          continue;
        if (isa<WarpBarrierOp>(op) && !after.commits)
          after.warpOrdered = true;
        if (auto wait = dyn_cast<WaitGroupOp>(op);
            wait && after.commits && *after.commits > int64_t(wait.getPending()))
          after.commits.reset();
        // More commits than any wait can leave make no difference.
        if (isa<CommitGroupOp>(op) && after.commits && *after.commits < 64)
          ++*after.commits;
      }
      if (seen.insert({next, after}).second)
        open.push_back({next, after});
    }
  }
}

LogicalResult SyncVerifier::run() {
  std::vector<EventState> states = graph.reachable();
  std::map<EventState, size_t> numbers;
  for (const EventState &state : states)
    numbers.insert({state, numbers.size()});
  for (const EventState &state : states) {
    Node &node = nodes.emplace_back(Node{&graph.events[state.event], {}, accessesOf(state)});
    for (const EventState &next : graph.successors(state))
      node.next.push_back(numbers.at(next));
  }
  for (size_t place = 0; place < nodes.size(); ++place)
    for (const Access &access : nodes[place].accesses)
      follow(place, access);
  return success(reported.empty());
}

namespace {

struct TileVerifySync : impl::TileVerifySyncPassBase<TileVerifySync> {
  void runOnOperation() override {
    FailureOr<EventGraph> graph = EventGraph::create(getOperation());
    if (failed(graph) || failed(SyncVerifier(getOperation(), *graph).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace heddle
