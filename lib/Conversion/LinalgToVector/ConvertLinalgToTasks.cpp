//===- ConvertLinalgToTasks.cpp - convert-linalg-to-tasks -----------------===//
//
// Steps for one op:
//  1. rows = all parallel loops but the innermost; with reductions, all parallel loops. Their product is split into groups of at
//     least `grain` elements, one group a task.
//  2. A task walks its rows; within a row come the innermost parallel loop (no reductions) or the reduction loops, the last one
//     innermost.
//  3. Reductions carry their results as scalars: read once from the output, written once after the loops. The op that combines a
//     carried value may be reassociated, so that LLVM vectorises it.
//
//===----------------------------------------------------------------------===//

#include "heddle/Conversion/LinalgToVector/Passes.h"

#include "LoopUtils.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTLINALGTOTASKSPASS
#include "heddle/Conversion/LinalgToVector/Passes.h.inc"

namespace {

class TaskLoopBuilder {
public:
  TaskLoopBuilder(ImplicitLocOpBuilder &b, linalg::LinalgOp op, int64_t grain)
      : b(b), math(b), op(op), grain(grain), extents(loopExtents(b, op)),
        maps(op.getIndexingMapsArray()), point(op.getNumLoops()) {
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      (kind == utils::IteratorType::parallel ? rowLoops : innerLoops).push_back(loop);
    hasReductions = !innerLoops.empty();
    if (!hasReductions && !rowLoops.empty())
      innerLoops.push_back(rowLoops.pop_back_val());
  }

  void build();

private:
  void buildRow();
  void buildInner(unsigned depth, ValueRange carried, SmallVector<Value> &results);
  SmallVector<Value> buildBody(ValueRange carried);
  void allowVectorReduction(Operation *combiner);
  SmallVector<Value> access(AffineMap map);
  Value load(OpOperand &operand);

  ImplicitLocOpBuilder &b;
  IndexMath math;
  linalg::LinalgOp op;
  int64_t grain;
  SmallVector<Value> extents;
  SmallVector<AffineMap> maps;
  SmallVector<Value> point;
  SmallVector<unsigned> rowLoops, innerLoops;
  bool hasReductions;
};

SmallVector<Value> TaskLoopBuilder::access(AffineMap map) {
  SmallVector<Value> indices;
  SmallVector<OpFoldResult> operands;
  for (Value value : point)
    operands.push_back(value);
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(i)))
      indices.push_back(point[dim.getPosition()]);
    else
      indices.push_back(getValueOrCreateConstantIndexOp(
          b, b.getLoc(),
          affine::makeComposedFoldedAffineApply(b, b.getLoc(), map.getSubMap({i}), operands)));
  }
  return indices;
}

Value TaskLoopBuilder::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(b, operand.get(), access(op.getMatchingIndexingMap(&operand)));
}

void TaskLoopBuilder::build() {
  SmallVector<Value> rowExtents, innerExtents;
  for (unsigned loop : rowLoops)
    rowExtents.push_back(extents[loop]);
  for (unsigned loop : innerLoops)
    innerExtents.push_back(extents[loop]);
  Value rows = math.product(rowExtents);
  Value rowSize = math.max(math.product(innerExtents), math.constant(1));
  Value rowsPerTask = math.max(math.floorDiv(math.constant(grain), rowSize), math.constant(1));
  Value tasks = math.floorDiv(math.add(rows, math.sub(rowsPerTask, math.constant(1))), rowsPerTask);
  buildTasks(b, tasks, [&](Value task) {
    Value begin = math.mul(task, rowsPerTask);
    Value end = math.min(math.add(begin, rowsPerTask), rows);
    buildFor(b, begin, end, math.constant(1), [&](Value row) {
      for (auto [loop, index] : llvm::zip_equal(rowLoops, math.delinearize(row, rowExtents)))
        point[loop] = index;
      buildRow();
    });
  });
}

void TaskLoopBuilder::buildRow() {
  if (!hasReductions) {
    SmallVector<Value> none;
    buildInner(0, {}, none);
    return;
  }
  SmallVector<Value> carried, results;
  for (OpOperand &init : op.getDpsInitsMutable())
    carried.push_back(load(init));
  buildInner(0, carried, results);
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), results))
    memref::StoreOp::create(b, result, init.get(), access(op.getMatchingIndexingMap(&init)));
}

void TaskLoopBuilder::buildInner(unsigned depth, ValueRange carried, SmallVector<Value> &results) {
  if (depth == innerLoops.size()) {
    results = buildBody(carried);
    return;
  }
  unsigned loop = innerLoops[depth];
  auto forOp = scf::ForOp::create(b, math.constant(0), extents[loop], math.constant(1), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  point[loop] = forOp.getInductionVar();
  SmallVector<Value> next;
  buildInner(depth + 1, forOp.getRegionIterArgs(), next);
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  results = SmallVector<Value>(forOp.getResults());
}

/// Lets LLVM reassociate what combines a carried value, and fuse a product into it: sums become vectors of FMAs.
void TaskLoopBuilder::allowVectorReduction(Operation *combiner) {
  auto setFlags = [&](Operation *op, arith::FastMathFlags flags) {
    if (auto fastMath = dyn_cast<arith::ArithFastMathInterface>(op))
      op->setAttr(fastMath.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(b.getContext(), flags));
  };
  setFlags(combiner, arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  for (Value operand : combiner->getOperands())
    if (auto product = operand.getDefiningOp<arith::MulFOp>())
      setFlags(product, arith::FastMathFlags::contract);
}

/// Clones the op's body at the current point. Without reductions it stores what the body yields.
SmallVector<Value> TaskLoopBuilder::buildBody(ValueRange carried) {
  Block *body = op.getBlock();
  IRMapping mapping;
  unsigned numInputs = op.getNumDpsInputs();
  for (auto [i, argument] : llvm::enumerate(body->getArguments())) {
    if (argument.use_empty())
      continue;
    OpOperand &operand = op->getOpOperand(i);
    bool isCarried = i >= numInputs && !carried.empty();
    mapping.map(argument, isCarried ? carried[i - numInputs] : load(operand));
  }
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), point[index.getDim()]);
      continue;
    }
    Operation *clone = b.clone(inner, mapping);
    bool combines = llvm::any_of(
        clone->getOperands(), [&](Value operand) { return llvm::is_contained(carried, operand); });
    if (combines)
      allowVectorReduction(clone);
  }
  SmallVector<Value> yielded;
  for (Value value : body->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  if (carried.empty())
    for (auto [init, value] : llvm::zip_equal(op.getDpsInitsMutable(), yielded))
      memref::StoreOp::create(b, value, init.get(), access(op.getMatchingIndexingMap(&init)));
  return yielded;
}

/// Tasks may write one place once: an output is indexed by each parallel loop and by no reduction.
LogicalResult verifyOutputs(linalg::LinalgOp op) {
  for (OpOperand &init : op.getDpsInitsMutable())
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool isParallel = kind == utils::IteratorType::parallel;
      if (op.getMatchingIndexingMap(&init).isFunctionOfDim(loop) != isParallel)
        return op.emitOpError() << "expected the index of output "
                                << init.getOperandNumber() - op.getNumDpsInputs()
                                << (isParallel ? " to depend on parallel loop "
                                               : " not to depend on reduction loop ")
                                << loop;
    }
  return success();
}

struct ConvertLinalgToTasksPass : impl::ConvertLinalgToTasksPassBase<ConvertLinalgToTasksPass> {
  using ConvertLinalgToTasksPassBase::ConvertLinalgToTasksPassBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op.emitOpError("expected operands to be buffers; bufferize first");
        return signalPassFailure();
      }
      if (failed(verifyOutputs(op)))
        return signalPassFailure();
      ImplicitLocOpBuilder b(op.getLoc(), op);
      TaskLoopBuilder(b, op, grain).build();
      op->erase();
    }
  }
};

} // namespace
} // namespace heddle
