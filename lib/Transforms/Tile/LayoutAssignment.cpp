//===- LayoutAssignment.cpp - seeds, and the order of decisions -----------===//

#include "LayoutAssignment.h"

#include "heddle/Dialect/TileNV/TileNV.h"

#include "AccessWidth.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using heddle::tile::LayoutAttr;

namespace heddle {

bool isTileValue(Value value) { return tile::isTile(value.getType(), 0, 2); }

bool isCheap(Operation *op) {
  return isa_and_present<arith::ConstantOp, tensor::SplatOp, tile::IotaOp, tile::BroadcastOp>(op);
}

static bool canHaveLayouts(Operation *op) {
  return isCheap(op) || op->hasTrait<OpTrait::Elementwise>() ||
         isa<tile::LoadOp, tile::StoreOp, tile::DotOp, tile::ReduceOp, tile::ScanOp,
             tile::TransposeOp, tile::SliceOp, tile::ConcatOp, scf::ForOp, scf::IfOp, scf::YieldOp,
             tensor::ExtractOp, tile::IfAnyOp, tile::SkipUnlessOp, tile::YieldOp>(op);
}

/// Far more than the 255 registers of a thread.
static constexpr int64_t maxElementsOfThread = 65536;

/// Whether a product reads the value as it is.
static bool feedsProduct(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
  });
}

LogicalResult LayoutAssignment::collect() {
  WalkResult result = kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    SmallVector<Value> tiles(op->getOperands());
    llvm::append_range(tiles, op->getResults());
    llvm::erase_if(tiles, [](Value value) { return !isTileValue(value); });
    if (tiles.empty())
      return WalkResult::advance();
    for (Value value : tiles) {
      if (cast<RankedTensorType>(value.getType()).getEncoding()) {
        op->emitOpError() << "expected tiles without layouts, got " << value.getType();
        return WalkResult::interrupt();
      }
      // Code is written out for each element that a thread holds.
      int64_t threads = 32 * warps,
              held = cast<RankedTensorType>(value.getType()).getNumElements() / threads;
      if (held > maxElementsOfThread) {
        op->emitOpError() << "expected at most " << maxElementsOfThread
                          << " elements of a tile in each of " << threads << " threads, got "
                          << held << " of " << value.getType();
        return WalkResult::interrupt();
      }
    }
    if (!canHaveLayouts(op)) {
      op->emitOpError() << "is not supported in kernels for GPUs";
      return WalkResult::interrupt();
    }
    ops.push_back(op);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult LayoutAssignment::seedProducts() {
  for (Operation *op : ops) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      FailureOr<DotPlan> plan = planDot(dot, warps);
      if (failed(plan))
        return failure();
      dots.try_emplace(op, *plan);
      decide(dot.getResult(), plan->accumulator(dot.getContext()));
    }
    if (auto load = dyn_cast<tile::LoadOp>(op); load && feedsProduct(load.getResult())) {
      int64_t bytes = accessBytes(load.getView(), load.getIndices(), load.getType());
      decide(load.getResult(),
             blocked(load.getType(),
                     bytes / tile_nv::bytesOfElement(load.getType().getElementType())));
    }
  }
  return success();
}

/// Loads of `value`, and what is computed of them and others element by element, into `chain`; false if there are none.
static bool findLoads(Value value, SmallVectorImpl<Value> &chain) {
  Operation *op = value.getDefiningOp();
  bool isElementwise = op && op->hasTrait<OpTrait::Elementwise>() && !isCheap(op);
  bool found = isa_and_present<tile::LoadOp>(op);
  if (isElementwise && op->hasOneUse())
    for (Value operand : op->getOperands())
      found |= isTileValue(operand) && findLoads(operand, chain);
  if (found)
    chain.push_back(value);
  return found;
}

/// A residual: what is loaded, combined with a product and stored. Accumulators have two neighbouring elements of a row in each of four
/// lanes, which is less than a sector for elements of less than four bytes. The product goes through shared memory before it is stored
/// anyway, so it is combined in the layout of the store.
void LayoutAssignment::seedResiduals() {
  constexpr int64_t sectorBytes = 32, neighbours = 8;
  if (dots.empty())
    return;
  for (Operation *op : ops) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store || store.getTile().getType().getRank() != 2)
      continue;
    int64_t bytes = tile_nv::bytesOfElement(store.getTile().getType().getElementType());
    SmallVector<Value> chain;
    if (neighbours * bytes >= sectorBytes || !findLoads(store.getTile(), chain))
      continue;
    bool areNarrow = llvm::all_of(chain, [&](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      return type.getShape() == store.getTile().getType().getShape();
    });
    for (Value value : chain)
      if (areNarrow)
        decide(value, wantedByStore(store));
  }
}

/// The vectors of one layout for all loads and stores of this shape: 16 bytes of the widest element, and less where one of them cannot
/// be accessed so.
LayoutAttr LayoutAssignment::layoutOfLoads(tile::LoadOp load) {
  int64_t vector = maxAccessBytes;
  auto meet = [&](Value view, ValueRange indices, RankedTensorType type) {
    if (type.getShape() == load.getType().getShape())
      vector = std::min(vector, accessBytes(view, indices, type) /
                                    tile_nv::bytesOfElement(type.getElementType()));
  };
  for (Operation *op : ops) {
    if (auto other = dyn_cast<tile::LoadOp>(op); other && isOpen(other.getResult()))
      meet(other.getView(), other.getIndices(), other.getType());
    if (auto store = dyn_cast<tile::StoreOp>(op))
      meet(store.getView(), store.getIndices(), store.getTile().getType());
  }
  return blocked(load.getType(), vector);
}

bool LayoutAssignment::decideFirstOpenValue() {
  for (Operation *op : ops)
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isOpen(load.getResult()))
      return decide(load.getResult(), layoutOfLoads(load));
  for (Operation *op : ops) {
    for (Value result : op->getResults()) {
      if (!isTileValue(result) || !isOpen(result))
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        RankedTensorType input = reduce.getInput().getType();
        return decide(result, blocked(input, 1).withoutDim(reduce.getAlong(), input.getRank()));
      }
      if (isa<tile::SliceOp, tile::ConcatOp>(op))
        return decide(result, blockedByParts(op));
      if (auto scan = dyn_cast<tile::ScanOp>(op))
        return decide(result, scanned(scan));
      return decide(result, blocked(type, 1));
    }
  }
  return false;
}

LogicalResult LayoutAssignment::decide() {
  if (failed(collect()) || failed(seedProducts()))
    return failure();
  seedResiduals();
  auto anyOf = [](auto &&range, auto &&rule) {
    bool changed = false;
    for (Operation *op : range)
      changed |= rule(op);
    return changed;
  };
  while (true) {
    if (anyOf(ops, [&](Operation *op) { return propagateForwards(op); }) ||
        anyOf(llvm::reverse(ops), [&](Operation *op) { return propagateBackwards(op); }) ||
        anyOf(ops, [&](Operation *op) { return propagateIntoLoop(op); }))
      continue;
    if (!decideFirstOpenValue())
      return success();
  }
}

} // namespace heddle
