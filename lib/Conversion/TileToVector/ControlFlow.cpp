//===- ControlFlow.cpp - loops and branches that carry tiles --------------===//

#include "TileLowering.h"

using namespace mlir;

namespace heddle {

/// Views are names for addresses here, so that a loop or branch can't choose among them.
static LogicalResult verifyCarried(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType>(type) && !type.isIntOrIndexOrFloat())
      return op->emitOpError("expected control flow to carry tiles and scalars, got ") << type;
  return success();
}

LogicalResult TileLowering::lowerFor(scf::ForOp op) {
  if (failed(verifyCarried(op)))
    return failure();
  SmallVector<Value> inits, carried;
  for (auto [init, argument, result] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    RankedTensorType type = tileType(init);
    if (!type) {
      inits.push_back(scalar(init));
      continue;
    }
    Value buffer;
    if (!isVirtual(init) && init.hasOneUse() && init.getParentBlock() == op->getBlock()) {
      buffer = buffers.lookup(init);
      SmallVector<Value> &pending = releases[op];
      bool isOwned = llvm::is_contained(pending, buffer);
      llvm::erase(pending, buffer);
      if (isOwned)
        bindOwned(result, buffer);
      else
        buffers[result] = buffer;
    } else {
      buffer = bind(result);
      fill(init, buffer);
    }
    buffers[argument] = buffer;
    carried.push_back(buffer);
  }

  auto loop = scf::ForOp::create(b, scalar(op.getLowerBound()), scalar(op.getUpperBound()),
                                 scalar(op.getStep()), inits);
  loop.setUnsignedCmp(op.getUnsignedCmp());
  map(op.getInductionVar(), loop.getInductionVar());
  unsigned next = 0;
  for (auto [argument, result] : llvm::zip_equal(op.getRegionIterArgs(), op.getResults()))
    if (!tileType(argument)) {
      map(argument, loop.getRegionIterArg(next));
      map(result, loop.getResult(next++));
    }

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  if (failed(lowerBlock(*op.getBody())))
    return failure();
  SmallVector<Value> yielded, results;
  for (Value value : op.getYieldedValues()) {
    if (tileType(value))
      yielded.push_back(value);
    else
      results.push_back(scalar(value));
  }
  yieldCarried(yielded, carried);
  if (!results.empty())
    scf::YieldOp::create(b, results);
  releaseAt(op.getBody()->getTerminator());
  return success();
}

/// Writes yielded tiles to the buffers that carry them. A buffer is written when no other yielded tile reads its old value; where
/// they read each other's, a temporary breaks the cycle.
void TileLowering::yieldCarried(ArrayRef<Value> yielded, ArrayRef<Value> carried) {
  struct Pending {
    Value tile, to;
    SmallVector<Value> reads;
    bool samePlace;
  };
  SmallVector<Pending> pending;
  for (auto [tile, to] : llvm::zip_equal(yielded, carried)) {
    if (!isVirtual(tile) && buffers.lookup(tile) == to)
      continue;
    llvm::SetVector<Value> leaves;
    Pending entry{tile, to, {}, true};
    collectLeaves(tile, leaves, entry.samePlace);
    for (Value leaf : leaves)
      entry.reads.push_back(buffers.lookup(leaf));
    pending.push_back(entry);
  }
  SmallVector<std::tuple<Value, Value, RankedTensorType>> copies;
  while (!pending.empty()) {
    auto isReady = [&](const Pending &entry) {
      return llvm::all_of(pending, [&](const Pending &other) {
        bool reads = llvm::is_contained(other.reads, entry.to);
        return !reads || (&other == &entry && entry.samePlace);
      });
    };
    Pending *ready = llvm::find_if(pending, isReady);
    if (ready != pending.end()) {
      fill(ready->tile, ready->to);
    } else {
      ready = pending.begin();
      RankedTensorType type = tileType(ready->tile);
      Value buffer = temporary(shapeOf(type), type.getElementType());
      fill(ready->tile, buffer);
      copies.emplace_back(buffer, ready->to, type);
    }
    pending.erase(ready);
  }
  for (auto [from, to, type] : copies) {
    auto stored = vectorOf(storageOf(type.getElementType()));
    eachRow(shapeOf(type).rows, [&, from = from, to = to, type = type](Value row) {
      eachVector(shapeOf(type).columns, {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
        Value vector = vector::LoadOp::create(b, stored, from, ValueRange{row, column});
        vector::StoreOp::create(b, vector, to, ValueRange{row, column});
      });
    });
  }
}

LogicalResult TileLowering::lowerIf(scf::IfOp op) {
  if (failed(verifyCarried(op)))
    return failure();
  SmallVector<Type> types;
  SmallVector<Value> tiles;
  for (Value result : op.getResults()) {
    if (tileType(result))
      tiles.push_back(bind(result));
    else
      types.push_back(getElementTypeOrSelf(result.getType()));
  }
  auto branch = scf::IfOp::create(b, types, scalar(op.getCondition()), /*addThenBlock=*/true,
                                  /*addElseBlock=*/!op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip_equal(
           llvm::make_filter_range(op.getResults(), [](Value v) { return !tileType(v); }),
           branch.getResults()))
    map(from, to);

  auto lowerBranch = [&](Region &from, Region &to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&to.front());
    if (failed(lowerBlock(from.front())))
      return failure();
    SmallVector<Value> results;
    const Value *buffer = tiles.begin();
    for (Value value : from.front().getTerminator()->getOperands()) {
      if (!tileType(value))
        results.push_back(scalar(value));
      else if (Value to = *buffer++; isVirtual(value) || buffers.lookup(value) != to)
        fill(value, to);
    }
    if (to.front().empty() || !to.front().back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(b, results);
    releaseAt(from.front().getTerminator());
    return success();
  };
  if (failed(lowerBranch(op.getThenRegion(), branch.getThenRegion())))
    return failure();
  return op.getElseRegion().empty() ? success()
                                    : lowerBranch(op.getElseRegion(), branch.getElseRegion());
}

} // namespace heddle
