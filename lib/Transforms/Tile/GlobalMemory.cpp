//===- GlobalMemory.cpp - what a kernel reads and writes ------------------===//

#include "GlobalMemory.h"

#include "heddle/Dialect/TileNV/TileNV.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace heddle;

static Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto view = dyn_cast<tile::ViewOp>(op))
      value = view.getSource();
    else if (auto view = dyn_cast<tile::GatherViewOp>(op))
      value = view.getSource();
    else if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      value = view.getViewSource();
    else
      break;
  }
  return value;
}

void heddle::addReads(Value view, MemoryRoots &roots) {
  roots.insert(rootOf(view));
  while (Operation *op = view.getDefiningOp()) {
    auto gather = dyn_cast<tile::GatherViewOp>(op);
    if (!gather)
      return;
    roots.insert(rootOf(gather.getTable()));
    view = gather.getSource();
  }
}

bool heddle::addWrites(Operation *op, MemoryRoots &roots) {
  return !op->walk([&](Operation *inner) {
              if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                  isa<tile_nv::CopyAsyncOp, tile_nv::CommitGroupOp, tile_nv::WaitGroupOp,
                      tile_nv::StoreOp>(inner))
                return WalkResult::advance();
              auto interface = dyn_cast<MemoryEffectOpInterface>(inner);
              if (!interface)
                return WalkResult::interrupt();
              SmallVector<MemoryEffects::EffectInstance> effects;
              interface.getEffects(effects);
              for (const MemoryEffects::EffectInstance &effect : effects) {
                if (!isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()))
                  continue;
                if (!effect.getValue())
                  return WalkResult::interrupt();
                roots.insert(rootOf(effect.getValue()));
              }
              return WalkResult::advance();
            }).wasInterrupted();
}
