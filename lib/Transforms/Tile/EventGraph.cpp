//===- EventGraph.cpp - what a kernel does with shared memory -------------===//

#include "EventGraph.h"

#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Operations of the dialect without effects, such as slots, are no events.
static bool isEvent(Operation &op) {
  return isa<TileNVDialect>(op.getDialect()) && !isa<AllocOp>(op) && !isMemoryEffectFree(&op);
}

unsigned EventGraph::append(Event::Kind kind, Operation *op, ArrayRef<unsigned> previous) {
  unsigned added = events.size();
  events.push_back({kind, op, {}});
  for (unsigned event : previous)
    events[event].next.push_back(added);
  return added;
}

LogicalResult EventGraph::add(Block &block, SmallVector<unsigned> &last) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned enter = append(Event::Enter, loop, last);
      SmallVector<unsigned> inside{append(Event::Head, loop, enter)};
      unsigned head = inside.front();
      if (failed(add(*loop.getBody(), inside)))
        return failure();
      unsigned back = append(Event::Back, loop, inside);
      events[back].next.push_back(head);
      last = {back};
      std::optional<APInt> trips = loop.getStaticTripCount();
      if (!trips || trips->isZero())
        last.push_back(enter);
      last = {append(Event::Leave, loop, last)};
    } else if (isa<scf::IfOp, tile::IfAnyOp>(op)) {
      SmallVector<unsigned> otherwise = last;
      bool hasElse = op.getNumRegions() > 1 && !op.getRegion(1).empty();
      if (failed(add(op.getRegion(0).front(), last)) ||
          (hasElse && failed(add(op.getRegion(1).front(), otherwise))))
        return failure();
      for (unsigned event : otherwise)
        if (!llvm::is_contained(last, event))
          last.push_back(event);
    } else if (op.getNumRegions() != 0) {
      WalkResult uses = op.walk([](Operation *inner) {
        return isa<TileNVDialect>(inner->getDialect()) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      });
      if (uses.wasInterrupted())
        return op.emitOpError()
               << "uses shared memory in its regions; expected scf.for, scf.if or tile.if_any";
    } else if (isEvent(op)) {
      last = {append(Event::Operation, &op, last)};
    }
  }
  return success();
}

FailureOr<EventGraph> EventGraph::create(tile::KernelOp kernel) {
  EventGraph graph;
  kernel.walk([&](SlotOp slot) { graph.findCounters(slot.getIndex()); });
  SmallVector<unsigned> last{graph.append(Event::Start, nullptr, {})};
  if (failed(graph.add(kernel.getBody().front(), last)))
    return failure();
  return graph;
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

void EventGraph::findCounters(Value index) {
  SmallVector<Value> open{index};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp()) {
      if (op->getNumRegions() == 0)
        llvm::append_range(open, op->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      continue;
    if (!llvm::is_contained(counters, argument))
      counters.push_back(argument);
    open.push_back(loop.getTiedLoopInit(argument)->get());
    open.push_back(loop.getTiedLoopYieldedValue(argument)->get());
  }
}

std::optional<int64_t> EventGraph::evaluate(Value value, const Counters &values) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const auto *known = llvm::find(counters, argument);
    return known == counters.end() ? std::nullopt : values[known - counters.begin()];
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> known = evaluate(operand, values);
    if (!operand.getType().isIntOrIndex() || !known)
      return std::nullopt;
    operands.push_back(IntegerAttr::get(operand.getType(), *known));
  }
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) || folded.size() != 1)
    return std::nullopt;
  if (auto result = dyn_cast<Value>(folded.front()))
    return result == value ? std::nullopt : evaluate(result, values);
  auto result = dyn_cast<IntegerAttr>(cast<Attribute>(folded.front()));
  return result ? std::optional(result.getValue().getSExtValue()) : std::nullopt;
}

void EventGraph::step(const Event &event, Counters &values) const {
  if (event.kind != Event::Enter && event.kind != Event::Back && event.kind != Event::Leave)
    return;
  auto loop = cast<scf::ForOp>(event.op);
  Counters after = values;
  for (auto [position, counter] : llvm::enumerate(counters)) {
    if (counter.getOwner() != loop.getBody())
      continue;
    if (event.kind == Event::Enter)
      after[position] = evaluate(loop.getTiedLoopInit(counter)->get(), values);
    else if (event.kind == Event::Back)
      after[position] = evaluate(loop.getTiedLoopYieldedValue(counter)->get(), values);
    else
      after[position] = std::nullopt;
  }
  values = std::move(after);
}

SmallVector<EventState, 2> EventGraph::successors(const EventState &state) const {
  EventState after = state;
  step(events[state.event], after.counters);
  SmallVector<EventState, 2> result;
  for (unsigned next : events[state.event].next)
    result.push_back({next, after.counters});
  return result;
}

std::vector<EventState> EventGraph::reachable() const {
  std::vector<EventState> states{{0, Counters(counters.size())}};
  std::set<EventState> seen(states.begin(), states.end());
  for (size_t i = 0; i < states.size(); ++i)
    for (EventState &next : successors(EventState(states[i])))
      if (seen.insert(next).second)
        states.push_back(std::move(next));
  return states;
}
