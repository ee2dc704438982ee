//===- InsertSync.cpp - tile-insert-sync ----------------------------------===//
//
//   1. As long as there are hazards (Hazards.h), a barrier is put in front of the second access of the first one. If the first access
//      stands outside of the loop or branch that the second one is in, the barrier stands in front of that loop or branch.
//   2. A barrier without which there is no hazard either is removed again, those in the innermost loops first: one that was needed
//      when it was placed may have become needless by another one.
//
//   3. Memory that a kernel both loads from and stores to is not looked at more closely: a barrier stands on both sides of each such
//      store, since another thread may load the element before or after it.
//
// Example: a loop waits for K, copies V, reads K, and reads V at its end. K needs a barrier between wait and read, V one between the
// read in one trip and the copy in the next; the one in front of the copy serves both.
//
//===----------------------------------------------------------------------===//

#include "GlobalMemory.h"
#include "Hazards.h"

#include "heddle/Transforms/Tile/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace heddle::tile_nv;

namespace heddle {

#define GEN_PASS_DEF_TILEINSERTSYNCPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

/// The operation in front of which a barrier orders the two accesses.
Operation *placeOf(const Hazard &hazard) {
  Operation *place = hazard.second.op;
  while (!place->getParentOp()->isAncestor(hazard.completion))
    place = place->getParentOp();
  // In a branch or loop that both accesses are in, it stands before the second one.
  return place;
}

int64_t depthOf(Operation *op) {
  int64_t depth = 0;
  for (; !isa<tile::KernelOp>(op); op = op->getParentOp())
    ++depth;
  return depth;
}

LogicalResult reportInFlight(const Hazard &hazard) {
  InFlightDiagnostic error =
      hazard.second.op->emitOpError()
      << (hazard.second.isWrite ? "writes to" : "reads")
      << " bytes of shared memory that a copy in flight writes; expected a wait for its group";
  error.attachNote(hazard.first.op->getLoc()) << "this copy";
  return error;
}

/// The memory that a kernel loads from.
MemoryRoots findReads(tile::KernelOp kernel) {
  MemoryRoots reads;
  kernel.walk([&](Operation *op) {
    if (isa<tile::LoadOp, tile::GatherOp, CopyAsyncOp, memref::LoadOp>(op))
      addReads(op->getOperand(0), reads);
  });
  return reads;
}

struct TileInsertSync : impl::TileInsertSyncPassBase<TileInsertSync> {
  void runOnOperation() override {
    orderStores();
    HazardAnalysis analysis(getOperation());
    SmallVector<Operation *> inserted;
    if (failed(insert(analysis, inserted)))
      return signalPassFailure();
    prune(analysis, inserted);
  }

private:
  void orderStores() {
    MemoryRoots reads = findReads(getOperation());
    SmallVector<tile::StoreOp> stores;
    getOperation().walk([&](tile::StoreOp store) {
      MemoryRoots writes;
      addWrites(store, writes);
      if (llvm::any_of(writes, [&](Value root) { return reads.contains(root); }))
        stores.push_back(store);
    });
    for (tile::StoreOp store : stores) {
      OpBuilder builder(store);
      BarrierOp::create(builder, store.getLoc());
      builder.setInsertionPointAfter(store);
      BarrierOp::create(builder, store.getLoc());
      numBarriers += 2;
    }
  }

  LogicalResult insert(HazardAnalysis &analysis, SmallVector<Operation *> &inserted) {
    while (true) {
      FailureOr<SmallVector<Hazard>> hazards = analysis.run();
      if (failed(hazards))
        return failure();
      if (hazards->empty())
        return success();
      const Hazard &hazard = hazards->front();
      if (hazard.inFlight)
        return reportInFlight(hazard);
      OpBuilder builder(placeOf(hazard));
      Location loc = hazard.second.op->getLoc();
      if (hazard.inWarp)
        inserted.push_back(WarpBarrierOp::create(builder, loc));
      else
        inserted.push_back(BarrierOp::create(builder, loc));
    }
  }

  void prune(HazardAnalysis &analysis, ArrayRef<Operation *> inserted) {
    // By depth, and in the order in which they were placed.
    std::multimap<int64_t, Operation *, std::greater<>> order;
    for (Operation *barrier : inserted)
      order.insert({depthOf(barrier), barrier});
    for (auto [depth, barrier] : order) {
      Operation *next = barrier->getNextNode();
      barrier->remove();
      FailureOr<SmallVector<Hazard>> hazards = analysis.run();
      if (succeeded(hazards) && hazards->empty()) {
        barrier->destroy();
        ++numRemoved;
      } else {
        next->getBlock()->getOperations().insert(next->getIterator(), barrier);
        ++numBarriers;
      }
    }
  }
};

} // namespace
} // namespace heddle
