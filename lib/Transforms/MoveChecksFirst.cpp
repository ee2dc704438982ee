//===- MoveChecksFirst.cpp - move-checks-first ----------------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_MOVECHECKSFIRSTPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// A range check as loops over the tensor, carrying the first element out of range:
///   ok, index..., value = for each element { out of range and ok so far ? (false, here, element) : unchanged }
class RangeCheckExpander {
public:
  explicit RangeCheckExpander(attn::RequireRangeOp op) : op(op), b(op.getLoc(), op) {}

  void run() {
    auto type = cast<RankedTensorType>(op.getValues().getType());
    low = arith::IndexCastOp::create(b, b.getI64Type(), op.getLow());
    high = arith::IndexCastOp::create(b, b.getI64Type(), op.getHigh());
    zero = arith::ConstantIndexOp::create(b, 0);
    one = arith::ConstantIndexOp::create(b, 1);

    SmallVector<Value> state{arith::ConstantOp::create(b, b.getBoolAttr(true))};
    state.append(type.getRank(), zero);
    state.push_back(arith::ConstantOp::create(b, b.getI64IntegerAttr(0)));
    state = loops(type.getRank(), state);

    std::string message = op.getName().str();
    for (int64_t i = 0; i < type.getRank(); ++i)
      message += "[{" + std::to_string(i) + "}]";
    message += " is {" + std::to_string(type.getRank()) + "}, expected a value from {" +
               std::to_string(type.getRank() + 1) + "} to {" + std::to_string(type.getRank() + 2) +
               "}";
    SmallVector<Value> values(ArrayRef<Value>(state).drop_front());
    values.append({op.getLow(), op.getHigh()});
    attn::RequireOp::create(b, state.front(), message, values);
    op.erase();
  }

private:
  SmallVector<Value> loops(int64_t rank, ArrayRef<Value> state) {
    int64_t depth = indices.size();
    if (depth == rank)
      return check(state);
    Value extent = b.createOrFold<tensor::DimOp>(op.getValues(), depth);
    auto loop = scf::ForOp::create(b, zero, extent, one, state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    indices.push_back(loop.getInductionVar());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    scf::YieldOp::create(b, loops(rank, carried));
    indices.pop_back();
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> check(ArrayRef<Value> state) {
    Value element = tensor::ExtractOp::create(b, op.getValues(), indices);
    if (!element.getType().isInteger(64))
      element = arith::ExtSIOp::create(b, b.getI64Type(), element);
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, element, low);
    Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, element, high);
    Value outside = arith::OrIOp::create(b, below, above);
    Value first = arith::AndIOp::create(b, state.front(), outside);
    SmallVector<Value> found{arith::ConstantOp::create(b, b.getBoolAttr(false))};
    found.append(indices.begin(), indices.end());
    found.push_back(element);
    SmallVector<Value> next;
    for (auto [now, before] : llvm::zip_equal(found, state))
      next.push_back(arith::SelectOp::create(b, first, now, before));
    return next;
  }

  attn::RequireRangeOp op;
  ImplicitLocOpBuilder b;
  SmallVector<Value> indices;
  Value low, high, zero, one;
};

/// Hashes and compares operations by what they do, not by where they are.
struct SameOperation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b || a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return a == b;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a),
                                                const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }
};

/// Layers ask the same of the same values. What the first check lets pass, no later one stops.
template <typename Check> SmallVector<Check> distinctChecks(func::FuncOp function) {
  SmallVector<Check> checks;
  function.walk([&](Check op) { checks.push_back(op); });
  llvm::DenseSet<Operation *, SameOperation> seen;
  llvm::erase_if(checks, [&](Check check) {
    if (seen.insert(check).second)
      return false;
    check.erase();
    return true;
  });
  return checks;
}

struct MoveChecksFirstPass : impl::MoveChecksFirstPassBase<MoveChecksFirstPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    for (attn::RequireRangeOp op : distinctChecks<attn::RequireRangeOp>(function)) {
      if (!isa<RankedTensorType>(op.getValues().getType())) {
        op.emitOpError("expected a tensor; checks move before bufferization");
        return signalPassFailure();
      }
      RangeCheckExpander(op).run();
    }

    SmallVector<attn::RequireOp> checks = distinctChecks<attn::RequireOp>(function);
    Block &body = function.getBody().front();
    // What has been moved so far ends before this op.
    Operation *firstOther = nullptr;
    llvm::SmallPtrSet<Operation *, 32> moved;
    for (attn::RequireOp check : checks) {
      if (check->getBlock() != &body) {
        check.emitOpError("is inside a region, where the call can't fail before it writes");
        return signalPassFailure();
      }
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.omitUsesFromAbove = false;
      options.omitBlockArguments = true;
      options.filter = [&](Operation *op) {
        return op->getParentOp() != function->getParentOp() && op != function;
      };
      (void)getBackwardSlice(check.getOperation(), &slice, options);
      slice.insert(check);
      for (Operation *op : topologicalSort(slice)) {
        if (op->getBlock() != &body || !moved.insert(op).second)
          continue;
        if (!firstOther)
          op->moveBefore(&body, body.begin());
        else
          op->moveAfter(firstOther);
        firstOther = op;
      }
    }
  }
};

} // namespace
} // namespace heddle
