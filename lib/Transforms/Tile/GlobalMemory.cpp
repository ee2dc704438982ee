//===- GlobalMemory.cpp - what a kernel reads and writes ------------------===//

#include "GlobalMemory.h"

#include "heddle/Dialect/TileNV/TileNV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace heddle;

/// The memrefs that `value` is a part of: several where one is selected.
static void addRoots(Value value, MemoryRoots &roots) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto view = dyn_cast<tile::ViewOp>(op)) {
      value = view.getSource();
    } else if (auto view = dyn_cast<tile::GatherViewOp>(op)) {
      value = view.getSource();
    } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      value = view.getViewSource();
    } else if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      addRoots(choice.getTrueValue(), roots);
      value = choice.getFalseValue();
    } else {
      break;
    }
  }
  roots.insert(value);
}

void heddle::addReads(Value view, MemoryRoots &roots) {
  addRoots(view, roots);
  while (Operation *op = view.getDefiningOp()) {
    auto gather = dyn_cast<tile::GatherViewOp>(op);
    if (!gather)
      return;
    addRoots(gather.getTable(), roots);
    view = gather.getSource();
  }
}

bool heddle::addWrites(Operation *op, MemoryRoots &roots) {
  return !op->walk([&](Operation *inner) {
              if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                  isa<tile_nv::CopyAsyncOp, tile_nv::CommitGroupOp, tile_nv::WaitGroupOp,
                      tile_nv::StoreOp, tile::SkipUnlessOp>(inner))
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
                addRoots(effect.getValue(), roots);
              }
              return WalkResult::advance();
            }).wasInterrupted();
}
