//===- PipelineRing.cpp - copies to the slots of a ring -------------------===//
//
// A ring of S slots (stages = S > 1). All copies of trip t are one group and go to slot t mod S:
//
//   for s in 0 .. S - 2: if there is a trip s, copy to slot s; commit
//   for each trip t
//     wait until at most S - 2 groups are pending          the group of trip t has arrived
//     if there is a trip t + S - 1, copy to its slot       which trip t - 1 has read; commit
//     ...                                                  reads slot t mod S
//   wait
//
// A trip commits one group whether it copies or not, so that the number of groups behind that of a trip is the same in all trips.
//
//===----------------------------------------------------------------------===//

#include "Pipeliner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

void Pipeliner::useRing(int64_t stages) {
  Location loc = loop.getLoc();
  llvm::SmallDenseMap<Value, Value> rings;
  for (const LoopCopy &copy : found.copies) {
    auto alloc = copy.buffer().getDefiningOp<AllocOp>();
    BufferType type = alloc.getType();
    builder.setInsertionPointAfter(alloc);
    rings[alloc] = AllocOp::create(builder, alloc.getLoc(),
                                   BufferType::get(type.getContext(), type.getShape(),
                                                   type.getElementType(), type.getLayout(), stages),
                                   IntegerAttr());
  }
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto slotOf = [&](const LoopCopy &copy, Value index) -> Value {
    return SlotOp::create(builder, loc, cast<BufferType>(copy.buffer().getType()),
                          rings[copy.buffer()], index);
  };
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, x, y);
  };

  builder.setInsertionPoint(moveReadsBehind());
  for (int64_t trip = 0; trip < stages - 1; ++trip) {
    guarded(hasTrip(trip), [&] {
      Value slot = constant(trip);
      found.emit(builder, found.copies, advance(loop.getLowerBound(), trip),
                 [&](const LoopCopy &copy) { return slotOf(copy, slot); });
    });
    commit();
  }
  builder.setInsertionPoint(loop);
  Value zero = constant(0), one = constant(1), lastSlot = constant(stages - 1);
  Value limit = advance(loop.getUpperBound(), 1 - stages);

  // The slot that is read counts from 0 to S - 1 and again; the one before it, which the trip before has read, is copied to.
  auto nextSlot = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> slots) -> SmallVector<Value> {
    Value next = arith::AddIOp::create(b, loc, slots.front(), one);
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, slots.front(), lastSlot);
    return {arith::SelectOp::create(b, loc, isLast, zero, next)};
  };
  found.loop = loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      builder, zero, /*replaceInitOperandUsesInLoop=*/false, nextSlot));

  builder.setInsertionPointToStart(loop.getBody());
  Value read = loop.getRegionIterArgs().back(), iv = loop.getInductionVar();
  wait(stages - 2);
  guarded(isLess(iv, limit), [&] {
    Value previous = arith::SubIOp::create(builder, loc, read, one);
    Value write = arith::SelectOp::create(builder, loc, isEqual(read, zero), lastSlot, previous);
    found.emit(builder, found.copies, advance(iv, stages - 1),
               [&](const LoopCopy &copy) { return slotOf(copy, write); });
  });
  commit();
  for (const LoopCopy &copy : found.copies) {
    Value slot = slotOf(copy, read);
    copy.buffer().replaceUsesWithIf(slot, [&](OpOperand &use) {
      return loop->isAncestor(use.getOwner()) && use.getOwner() != copy.op;
    });
  }
  builder.setInsertionPointAfter(loop);
  wait(0);
  SmallVector<Value> buffers = llvm::map_to_vector(found.copies, sameBuffer);
  found.erase();
  for (Value buffer : buffers)
    if (buffer.use_empty())
      buffer.getDefiningOp()->erase();
}
