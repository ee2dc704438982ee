//===- Pipeline.cpp - tile-pipeline ---------------------------------------===//
//
// Copies of a loop start before they are needed, with one buffer each (PipelineOneBuffer.cpp) or with a ring of buffers
// (PipelineRing.cpp). Which copies may start earlier is in LoopCopies.cpp. Copies of a tile that all trips share are made once, before the
// loop. Behind the loop there is a wait for all copies, so that none is in flight there.
//
//===----------------------------------------------------------------------===//

#include "Pipeliner.h"

#include "heddle/Transforms/Tile/Passes.h"

using namespace mlir;
using namespace heddle::tile_nv;

namespace heddle {

#define GEN_PASS_DEF_TILEPIPELINEPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

//===----------------------------------------------------------------------===//
// Arithmetic of trips
//===----------------------------------------------------------------------===//

Value Pipeliner::advance(Value x, int64_t factor) {
  if (factor == 0)
    return x;
  Location loc = loop.getLoc();
  Value distance = loop.getStep();
  if (factor != 1 && factor != -1) {
    Value count = arith::ConstantOp::create(builder, loc,
                                            builder.getIntegerAttr(x.getType(), std::abs(factor)));
    distance = builder.createOrFold<arith::MulIOp>(loc, distance, count);
  }
  return factor > 0 ? builder.createOrFold<arith::AddIOp>(loc, x, distance)
                    : builder.createOrFold<arith::SubIOp>(loc, x, distance);
}

Value Pipeliner::isLess(Value x, Value y) {
  return arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::slt, x, y);
}

Value Pipeliner::hasTrip(int64_t trip) {
  if (std::optional<APInt> count = loop.getStaticTripCount(); count && count->sgt(trip))
    return nullptr;
  // Not begin + trip step < end: the sum may be too large for the type.
  return isLess(loop.getLowerBound(), advance(loop.getUpperBound(), -trip));
}

void Pipeliner::guarded(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loop.getLoc(), condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Before the loop
//===----------------------------------------------------------------------===//

/// Waits for copies, reads of shared memory and what is computed from them, if they stand right before the loop, are moved behind the
/// place for the loop's first copies, which need not wait for them. Returns the operation in front of which that place is. A wait with
/// nothing but the loop behind it goes: the loop waits before it reads, and again at its end.
Operation *Pipeliner::moveReadsBehind() {
  llvm::SmallPtrSet<Value, 4> buffers;
  for (const LoopCopy &copy : found.copies)
    buffers.insert(copy.buffer());
  auto mayPass = [&](Operation *op) {
    // The wait at the end of a loop stays there, so that the buffers of the two loops may share bytes.
    if (auto wait = dyn_cast<WaitGroupOp>(op))
      return wait.getPending() == 0 && !isa_and_present<scf::ForOp>(op->getPrevNode());
    if (auto load = dyn_cast<LoadOp>(op))
      return !buffers.contains(load.getBuffer());
    if (isa<DotOp>(op) || op->getNumRegions() != 0)
      return false;
    return isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op);
  };
  Operation *start = loop;
  while (Operation *previous = start->getPrevNode()) {
    if (!mayPass(previous))
      break;
    start = previous;
  }
  SmallVector<Operation *> moved;
  llvm::SmallPtrSet<Operation *, 16> isMoved;
  bool reads = false;
  for (Operation *op = start; op != loop; op = op->getNextNode()) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return isMoved.contains(operand.getDefiningOp());
    });
    if (!depends && !isa<WaitGroupOp, LoadOp>(op))
      continue;
    reads |= isa<LoadOp>(op);
    isMoved.insert(op);
    moved.push_back(op);
  }
  // What the first copies need must not be among them.
  auto needs = [&](Value value) { return isMoved.contains(value.getDefiningOp()); };
  auto copyNeeds = [&](const LoopCopy &copy) {
    return llvm::any_of(copy.op->getOperands(), needs) ||
           llvm::any_of(copy.address,
                        [&](Operation *op) { return llvm::any_of(op->getOperands(), needs); });
  };
  if (needs(loop.getLowerBound()) || needs(loop.getUpperBound()) || needs(loop.getStep()) ||
      llvm::any_of(found.copies, copyNeeds))
    return loop;
  if (!reads) {
    for (Operation *op : moved)
      if (isa<WaitGroupOp>(op))
        op->erase();
    return loop;
  }
  for (Operation *op : moved)
    op->moveBefore(loop);
  return moved.empty() ? loop : moved.front();
}

bool Pipeliner::hoistInvariant() {
  SmallVector<LoopCopy> once, others;
  for (LoopCopy &copy : found.copies)
    (copy.isInvariant ? once : others).push_back(copy);
  if (!once.empty()) {
    builder.setInsertionPoint(loop);
    guarded(hasTrip(0), [&] { found.emit(builder, once, loop.getLowerBound(), sameBuffer); });
    commit();
    wait(0);
    // They are removed with the others.
    LoopCopies hoisted = found;
    hoisted.copies = once;
    if (!others.empty())
      hoisted.groupOps.clear();
    hoisted.erase();
    found.copies = others;
  }
  return others.empty();
}

namespace {

struct TilePipeline : impl::TilePipelinePassBase<TilePipeline> {
  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    tile::ConfigAttr config = kernel.getConfigAttr();
    int64_t stages = config ? config.getStages().value_or(1) : 1;
    // A wait that counts groups would be wrong if one of its loop moved.
    llvm::SmallPtrSet<Operation *, 4> counting;
    kernel.walk([&](WaitGroupOp wait) {
      for (Operation *op = wait; wait.getPending() != 0 && op != kernel; op = op->getParentOp())
        counting.insert(op);
    });
    SmallVector<scf::ForOp> loops;
    kernel.walk<WalkOrder::PostOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      if (counting.contains(loop)) {
        remarkMissed(loop.getLoc(), "the loop stays: it has a wait for some groups only");
        continue;
      }
      LoopCopies found = findLoopCopies(loop, /*takeBuffers=*/stages > 1);
      if (found.copies.empty())
        continue;
      if (loop.getUnsignedCmp()) {
        remarkMissed(loop.getLoc(), "the loop stays: it compares unsigned");
        continue;
      }
      Pipeliner pipeliner(found);
      if (pipeliner.hoistInvariant())
        continue;
      if (stages > 1)
        pipeliner.useRing(stages);
      else
        pipeliner.useOneBuffer();
    }
  }
};

} // namespace
} // namespace heddle
