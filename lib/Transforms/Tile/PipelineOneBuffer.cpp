//===- PipelineOneBuffer.cpp - copies with one buffer each ----------------===//
//
// The body falls into phases, each with the reads of one group of buffers; a phase that has no product or loop of its own would hide
// nothing and is joined with the next one. The copies of a group are in flight during the phase before:
//
//   if (begin < end) copy group 1 of the first trip
//   for each trip
//     wait                       phase 1 reads group 1
//     copy group 2
//     ...                        last read of group 1
//     wait                       phase 2 reads group 2
//     if there is another trip, copy its group 1
//     ...
//   wait
//
// The wait stands before the copies, so that it waits for none of them, and one barrier behind it serves both: the group that has
// arrived is visible to all threads, and all threads are done with the buffers that are copied to next. That is right because a
// group's buffers are read in one phase only of the body, or the copy is put off until they have been read. Each wait is for all
// groups, so their number may depend on conditions.
//
//===----------------------------------------------------------------------===//

#include "Pipeliner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

/// Whether an operation takes long enough to hide a copy.
static bool isWork(Operation &op) {
  return isa<DotOp, tile::DotOp, tile::SolveTriangularOp, LoopLikeOpInterface>(op);
}

SmallVector<Pipeliner::Group> Pipeliner::formGroups() {
  SmallVector<Group> groups;
  ArrayRef<LoopCopy> copies = found.copies;
  auto hasWork = [](Operation *from, Operation *to) {
    return std::any_of(from->getIterator(), to->getIterator(), isWork);
  };
  for (size_t i = 0; i < copies.size(); ++i) {
    const LoopCopy &copy = copies[i];
    if (groups.empty() || hasWork(groups.back().firstRead, copy.firstRead)) {
      groups.push_back({copies.slice(i, 1), copy.firstRead, copy.lastRead});
      continue;
    }
    Group &group = groups.back();
    group.copies = ArrayRef<LoopCopy>(group.copies.begin(), group.copies.size() + 1);
    if (group.lastRead->isBeforeInBlock(copy.lastRead))
      group.lastRead = copy.lastRead;
  }
  return groups;
}

SmallVector<Operation *> Pipeliner::insertWaits(ArrayRef<Group> groups) {
  Operation *firstRead = loop.getBody()->getTerminator();
  for (Operation &op : *loop.getBody())
    if (readsSharedMemory(&op)) {
      firstRead = &op;
      break;
    }
  SmallVector<Operation *> waits;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0 && groups[i - 1].lastRead->isBeforeInBlock(groups[i].firstRead))
      builder.setInsertionPointAfter(groups[i - 1].lastRead);
    else if (i > 0)
      builder.setInsertionPoint(groups[i].firstRead);
    else
      builder.setInsertionPoint(groups.size() == 1 ? firstRead : &loop.getBody()->front());
    waits.push_back(wait(0));
  }
  return waits;
}

void Pipeliner::useOneBuffer() {
  SmallVector<Group> groups = formGroups();
  Operation *yield = loop.getBody()->getTerminator();
  if (groups.size() == 1 && groups.front().lastRead->getNextNode() == yield)
    return remarkMissed(loop.getLoc(),
                        "the loop stays: one buffer each, and nothing is done between "
                        "the last read and the next copies");
  SmallVector<Operation *> waits = insertWaits(groups);
  Value first = loop.getLowerBound(), iv = loop.getInductionVar();
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    builder.setInsertionPointAfter(waits[i]);
    found.emit(builder, groups[i + 1].copies, iv, sameBuffer);
    commit();
  }
  builder.setInsertionPoint(loop);
  Value limit = advance(loop.getUpperBound(), -1);
  Operation *lastRead = groups.front().lastRead, *last = waits.back();
  builder.setInsertionPointAfter(last->isBeforeInBlock(lastRead) ? lastRead : last);
  // With the commit inside of the branch it stays one in machine code, where it bounds how far loads and products are moved, and with
  // it the registers that are alive.
  guarded(isLess(iv, limit), [&] {
    found.emit(builder, groups.front().copies, advance(iv, 1), sameBuffer);
    commit();
  });

  builder.setInsertionPoint(moveReadsBehind());
  guarded(hasTrip(0), [&] {
    found.emit(builder, groups.front().copies, first, sameBuffer);
    commit();
  });
  builder.setInsertionPointAfter(loop);
  wait(0);
  found.erase();
}
