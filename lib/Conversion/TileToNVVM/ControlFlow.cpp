//===- ControlFlow.cpp - loops and branches that carry tiles --------------===//
//
// A carried tile becomes one carried value for each of its registers.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace heddle {

/// The values that stand for `values` in the lowered program.
FailureOr<SmallVector<Value>> KernelLowering::flatten(Operation *op, ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (isa<RankedTensorType>(value.getType()))
      llvm::append_range(flat, registers(value));
    else if (isScalar(value.getType()))
      flat.push_back(scalar(value));
    else
      return op->emitOpError("expected control flow to carry tiles and scalars, got ")
             << value.getType();
  }
  return flat;
}

FailureOr<SmallVector<Type>> KernelLowering::flattenTypes(Operation *op, TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    if (!isa<RankedTensorType>(type) && !isScalar(type))
      return op->emitOpError("expected control flow to carry tiles and scalars, got ") << type;
    FailureOr<SmallVector<Type>> parts = registerTypes(op, type);
    if (failed(parts))
      return failure();
    llvm::append_range(flat, *parts);
  }
  return flat;
}

/// Takes the values that stand for `values` from a list; their types were checked by flattenTypes.
void KernelLowering::unflatten(Operation *op, ValueRange values, ValueRange flat) {
  for (Value value : values) {
    if (!isa<RankedTensorType>(value.getType())) {
      mapScalar(value, flat.front());
      flat = flat.drop_front();
      continue;
    }
    size_t count = registerTypes(op, value.getType())->size();
    setRegisters(value, SmallVector<Value>(flat.take_front(count)));
    flat = flat.drop_front(count);
  }
}

/// Lowers a block into `to`, and its terminator's operands.
FailureOr<SmallVector<Value>> KernelLowering::lowerInto(Block &from, Block &to) {
  b.setInsertionPointToEnd(&to);
  if (failed(lowerBlock(from)))
    return failure();
  Operation *terminator = from.getTerminator();
  b.setLoc(terminator->getLoc());
  return flatten(terminator, terminator->getOperands());
}

LogicalResult KernelLowering::lowerFor(scf::ForOp op) {
  FailureOr<SmallVector<Value>> inits = flatten(op, op.getInitArgs());
  if (failed(inits) || failed(flattenTypes(op, op.getResultTypes())))
    return failure();
  auto loop = scf::ForOp::create(b, scalar(op.getLowerBound()), scalar(op.getUpperBound()),
                                 scalar(op.getStep()), *inits);
  loop.setUnsignedCmp(op.getUnsignedCmp());
  mapScalar(op.getInductionVar(), loop.getInductionVar());
  unflatten(op, op.getRegionIterArgs(), loop.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  Block *body = loop.getBody();
  if (inits->empty())
    body->getTerminator()->erase();
  FailureOr<SmallVector<Value>> yielded = lowerInto(*op.getBody(), *body);
  if (failed(yielded))
    return failure();
  scf::YieldOp::create(b, *yielded);
  unflatten(op, op.getResults(), loop.getResults());
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp op) {
  FailureOr<SmallVector<Type>> types = flattenTypes(op, op.getResultTypes());
  if (failed(types))
    return failure();
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(b, *types, scalar(op.getCondition()), /*addThenBlock=*/true,
                                  /*addElseBlock=*/hasElse);
  auto lowerBranch = [&](Block &from, Block &to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    to.clear();
    FailureOr<SmallVector<Value>> yielded = lowerInto(from, to);
    if (failed(yielded))
      return failure();
    scf::YieldOp::create(b, *yielded);
    return success();
  };
  if (failed(lowerBranch(*op.thenBlock(), *branch.thenBlock())) ||
      (hasElse && failed(lowerBranch(*op.elseBlock(), *branch.elseBlock()))))
    return failure();
  unflatten(op, op.getResults(), branch.getResults());
  return success();
}

Value KernelLowering::anyOf(ValueRange flags) {
  Value any = flags.front();
  for (Value flag : flags.drop_front())
    any = arith::OrIOp::create(b, any, flag);
  return any;
}

Value KernelLowering::anyLane(Value flag) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), math.i32(-1), flag, NVVM::VoteSyncKind::any);
}

/// Each warp asks its own elements of the condition, and takes the branch as one.
LogicalResult KernelLowering::lowerIfAny(tile::IfAnyOp op) {
  FailureOr<SmallVector<Type>> types = flattenTypes(op, op.getResultTypes());
  FailureOr<SmallVector<Value>> unchanged = flatten(op, op.getUnchanged());
  if (failed(types) || failed(unchanged))
    return failure();
  llvm::SmallSetVector<Value, 8> flags;
  for (Value flag : registers(op.getCondition()))
    flags.insert(flag);
  Value any = anyLane(anyOf(flags.getArrayRef()));
  auto branch = scf::IfOp::create(b, *types, any, /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  FailureOr<SmallVector<Value>> yielded = lowerInto(*op.getRegionBlock(), *branch.thenBlock());
  if (failed(yielded))
    return failure();
  scf::YieldOp::create(b, *yielded);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, *unchanged);
  unflatten(op, op.getResults(), branch.getResults());
  return success();
}

LogicalResult KernelLowering::lowerWhile(scf::WhileOp op) {
  FailureOr<SmallVector<Value>> inits = flatten(op, op.getInits());
  FailureOr<SmallVector<Type>> before = flattenTypes(op, op.getInits().getTypes());
  FailureOr<SmallVector<Type>> types = flattenTypes(op, op.getResultTypes());
  if (failed(inits) || failed(before) || failed(types))
    return failure();
  auto loop = scf::WhileOp::create(b, *types, *inits);
  OpBuilder::InsertionGuard guard(b);
  auto addBlock = [&](Region &region, TypeRange types) {
    return b.createBlock(&region, region.end(), types,
                         SmallVector<Location>(types.size(), op.getLoc()));
  };
  Block *test = addBlock(loop.getBefore(), *before);
  unflatten(op, op.getBeforeArguments(), test->getArguments());
  b.setInsertionPointToEnd(test);
  if (failed(lowerBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  FailureOr<SmallVector<Value>> passed = flatten(condition, condition.getArgs());
  if (failed(passed))
    return failure();
  scf::ConditionOp::create(b, scalar(condition.getCondition()), *passed);

  Block *body = addBlock(loop.getAfter(), *types);
  unflatten(op, op.getAfterArguments(), body->getArguments());
  FailureOr<SmallVector<Value>> yielded = lowerInto(*op.getAfterBody(), *body);
  if (failed(yielded))
    return failure();
  scf::YieldOp::create(b, *yielded);
  unflatten(op, op.getResults(), loop.getResults());
  return success();
}

} // namespace heddle
