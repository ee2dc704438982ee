//===- EventGraph.h - what a kernel does with shared memory -----*- C++ -*-===//
//
// The operations of a kernel that matter to shared memory, as a graph of what may run after what. Loops that count slots of rings are
// followed with the values of their counters, by folding what computes them: a state is an event and the counters' values.
//
// Used by tile-verify-sync, and written apart from what tile-insert-sync uses.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_EVENTGRAPH_H
#define HEDDLE_LIB_TRANSFORMS_TILE_EVENTGRAPH_H

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle {

struct Event {
  /// Enter, Head (of a trip), Back and Leave are steps of a loop; Operation is one that touches shared memory or orders accesses.
  enum Kind { Start, Operation, Enter, Head, Back, Leave };
  Kind kind;
  mlir::Operation *op;
  llvm::SmallVector<unsigned, 2> next;
};

/// Values of the counters, in the order of EventGraph::counters; those of loops that do not run are unknown.
using Counters = std::vector<std::optional<int64_t>>;

struct EventState {
  unsigned event;
  Counters counters;
  bool operator<(const EventState &other) const {
    return std::tie(event, counters) < std::tie(other.event, other.counters);
  }
};

class EventGraph {
public:
  /// Nothing, after an error, if shared memory is used below operations other than scf.for and scf.if.
  static mlir::FailureOr<EventGraph> create(tile::KernelOp kernel);

  std::vector<Event> events;

  /// The states in which the events that may come after `state` are reached.
  llvm::SmallVector<EventState, 2> successors(const EventState &state) const;

  /// All states that a run of the kernel may reach.
  std::vector<EventState> reachable() const;

  /// The value of an index in a state; nothing if it does not follow from the counters.
  std::optional<int64_t> evaluate(mlir::Value index, const Counters &counters) const;

private:
  mlir::LogicalResult add(mlir::Block &block, llvm::SmallVector<unsigned> &last);
  unsigned append(Event::Kind kind, mlir::Operation *op, llvm::ArrayRef<unsigned> previous);
  void findCounters(mlir::Value index);
  void step(const Event &event, Counters &counters) const;

  /// Values that loops carry and slots' indices depend on.
  llvm::SmallVector<mlir::BlockArgument> counters;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_EVENTGRAPH_H
