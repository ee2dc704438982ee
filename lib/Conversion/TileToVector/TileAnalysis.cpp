//===- TileAnalysis.cpp - which tiles have a buffer, and how long ---------===//

#include "TileAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

RankedTensorType tileType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && tile::isTile(type, 1, 2) ? type : RankedTensorType();
}

bool isScalarTile(Type type) { return tile::isTile(type, 0, 0); }

TileShape shapeOf(RankedTensorType type) {
  if (type.getRank() == 1)
    return {1, type.getDimSize(0)};
  return {type.getDimSize(0), type.getDimSize(1)};
}

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  return isa<tile::ConvertLayoutOp>(op) || OpTrait::hasElementwiseMappableTraits(op);
}

bool isFree(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return isScalarTile(broadcast.getInput().getType()) || isFree(broadcast.getInput());
  return isa<tensor::SplatOp, tile::IotaOp>(op);
}

/// Whether an op reads each element of its operands once, at its place, and needs no buffer of them.
static bool takesVirtual(Operation *op) {
  return isElementwise(op) ||
         isa<tile::ReduceOp, tile::StoreOp, tile::DotOp, tile::ConcatOp, tile::SolveTriangularOp,
             tile::GatherOp, scf::YieldOp, scf::ForOp>(op);
}

bool isVirtual(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !tileType(value))
    return false;
  if (isFree(value))
    return true;
  if (!llvm::all_of(value.getUsers(), takesVirtual))
    return false;
  if (isa<tile::BroadcastOp, tile::SliceOp>(op))
    return true;
  if (!isElementwise(op) || value.use_empty())
    return false;
  // What more than one op reads, or a loop reads again and again, is computed once.
  Operation *user = *value.user_begin();
  return user->getBlock() == op->getBlock() &&
         llvm::all_of(value.getUsers(), [&](Operation *other) { return other == user; });
}

Operation *lastRead(Value value, Block *block) {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers()) {
    bool isDelayed = user->getNumResults() == 1 && isVirtual(user->getResult(0));
    Operation *at =
        isDelayed ? lastRead(user->getResult(0), block) : block->findAncestorOpInBlock(*user);
    if (at && (!last || last->isBeforeInBlock(at)))
      last = at;
  }
  return last;
}

void collectLeaves(Value value, llvm::SetVector<Value> &leaves, bool &samePlace) {
  if (!tileType(value))
    return;
  if (!isVirtual(value)) {
    leaves.insert(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  // A broadcast changes the rank, so what it reads never lies in the buffer of its result.
  if (isa<tile::SliceOp, tile::GatherOp>(op))
    samePlace = false;
  for (Value operand : op->getOperands())
    collectLeaves(operand, leaves, samePlace);
}

} // namespace heddle
