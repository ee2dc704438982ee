//===- ColumnChain.cpp - what lies between two products, by columns -------===//

#include "TileLowering.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

static bool isAlongColumns(Operation *op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return reduce.getAlong() == 0 && tileType(reduce.getInput()).getRank() == 2;
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return broadcast.getAlong() == 0 && tileType(broadcast.getInput());
  return isElementwise(op);
}

/// The value that the loop around carries in the place of `result`; null if it is not handed on.
static Value carriedInPlaceOf(Value result) {
  for (OpOperand &use : result.getUses())
    if (auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
        loop && isa<scf::YieldOp>(use.getOwner()))
      return loop.getRegionIterArg(use.getOperandNumber());
  return nullptr;
}

/// Whether one of `op`'s operands, or of what is inside of it, is such a value.
static bool anyOperand(Operation *op, function_ref<bool(Value)> matches) {
  return op
      ->walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(), matches) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `op` reads a tile that has a buffer that something else reads from `first` on.
bool TileLowering::sharesTiles(Operation *op, Operation *first) {
  auto isReadBehind = [&](Value tile) {
    return buffers.contains(tile) && llvm::any_of(tile.getUsers(), [&](Operation *user) {
             Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
             return ancestor && ancestor != op && !ancestor->isBeforeInBlock(first);
           });
  };
  return anyOperand(op, isReadBehind);
}

/// Whether what `chain` computes ahead of its place in the block, or late, would change what the rest reads.
bool TileLowering::dependsOnOrder(const ColumnChain &chain) {
  // These come first: they must neither be written where the chain still reads, nor release what it reads.
  for (Operation *op : chain.others)
    if (!llvm::all_of(op->getResults(), [](Value result) { return !carriedInPlaceOf(result); }) ||
        sharesTiles(op, chain.first))
      return true;
  for (Operation *op : chain.between) {
    Value result = op->getResult(0);
    if (chain.needsSums.contains(op)) {
      // Behind the weights only columns are computed.
      if (!chain.addsWeights(op) && !isVirtual(result) &&
          (isa<tile::ReduceOp>(op) || tileType(result).getRank() == 2))
        return true;
      continue;
    }
    // Columns are written in front of the weights.
    Value carried = carriedInPlaceOf(result);
    if (carried && llvm::any_of(carried.getUsers(), [&](Operation *user) {
          Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
          return ancestor && ancestor->isBeforeInBlock(op);
        }))
      return true;
  }
  return false;
}

/// A chain is given up for the ordinary order of products where it is not sure to read the same.
std::optional<TileLowering::ColumnChain> TileLowering::columnChainFrom(tile::DotOp first) {
  auto isWhole = [](tile::DotOp op) {
    return op.getType().getDimSize(0) % panelColumns == 0 &&
           op.getType().getDimSize(1) % panelColumns == 0;
  };
  if (isInChain || !takesMatrixTiles(first) || !isWhole(first) || first.getTransposeB() ||
      !matchPattern(first.getAcc(), m_PosZeroFloat()))
    return std::nullopt;
  RankedTensorType scores = first.getType();
  int64_t columns = scores.getDimSize(1);
  ColumnChain chain{first, {}, {}, {}, {}, {}};
  llvm::SetVector<Value> inside;
  inside.insert(first.getResult());
  auto isInside = [&](Value value) { return inside.contains(value); };
  for (Operation *op = first->getNextNode(); op && !chain.last; op = op->getNextNode()) {
    bool depends = anyOperand(op, isInside);
    if (!depends) {
      if (!isMemoryEffectFree(op) && !isa<tile::LoadOp, memref::LoadOp>(op))
        return std::nullopt;
      chain.others.push_back(op);
      continue;
    }
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      chain.weights = roundedHere(dot.getB());
      if (!takesMatrixTiles(dot) || !isWhole(dot) || dot.getTransposeB() || !chain.weights ||
          !inside.contains(chain.weights) || chain.weights == first.getResult() ||
          inside.contains(dot.getA()) || tileType(chain.weights).getShape() != scores.getShape())
        return std::nullopt;
      chain.last = dot;
      continue;
    }
    RankedTensorType type = op->getNumResults() == 1 ? tileType(op->getResult(0)) : nullptr;
    if (!type || !isAlongColumns(op) || type.getShape().back() != columns)
      return std::nullopt;
    bool hasBuffer = type.getRank() == 2 && !isVirtual(op->getResult(0));
    if (hasBuffer && (type.getShape() != scores.getShape() || !type.getElementType().isF32()))
      return std::nullopt;
    chain.between.push_back(op);
    inside.insert(op->getResult(0));
  }
  if (!chain.last)
    return std::nullopt;
  for (Operation *op : chain.between)
    if (chain.addsWeights(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
          return chain.needsSums.contains(operand.getDefiningOp());
        }))
      chain.needsSums.insert(op);
  if (dependsOnOrder(chain))
    return std::nullopt;
  // Tiles of panels have no buffer that others could read, and weights are computed once.
  for (Value tile : inside)
    for (Operation *user : tile.getUsers()) {
      bool isInside = user == chain.last || llvm::is_contained(chain.between, user);
      if (tileType(tile).getRank() == 2 && !isInside)
        return std::nullopt;
      if (tile == chain.weights && !isa<tile::ReduceOp, arith::TruncFOp>(user))
        return std::nullopt;
    }
  return chain;
}

} // namespace heddle
