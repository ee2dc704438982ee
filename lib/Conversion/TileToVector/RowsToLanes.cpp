//===- RowsToLanes.cpp - tile-rows-to-lanes -------------------------------===//
//
// Vectors of convert-tile-to-vector run along a row. In a loop that reduces each row of a product and scales rows by what comes out, as
// an online softmax does, that costs shuffles for every row and a transposed panel for every product with `transpose_b`. This pass
// exchanges the dimensions of such a kernel's tiles, so that rows are lanes and the same work is done by whole vectors:
//
//   s = dot(q, k) {transpose_b}      s' = dot(k, q')                       q' is transposed once, k is read as it is loaded
//   m = reduce max s along 1         m  = reduce max s' along 0
//   w = exp2(s - broadcast m)        w' = exp2(s' - broadcast m along 0)
//   acc = dot(w, v, acc)             acc' = dot(v, w', acc') {transpose_a}
//   store acc                        store transpose(acc')
//
// Rules:
// 1. A loaded tile keeps its form, and so does what is computed from nothing else. All other tiles of rank 2 get the exchanged form, loops
//    carry it. Where an op needs the other form of a tile, it is transposed behind the op that made it, once.
// 2. a b = (b' a')': the first factor of a product is read in whatever form there is, the second in the one without `transpose_b`.
// 3. A kernel is changed if some loop has a product whose rows are reduced along dimension 1, the rows fill vectors, and every op on tiles
//    is one that is known here.
//
//===----------------------------------------------------------------------===//

#include "heddle/Conversion/TileToVector/Passes.h"

#include "TileAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_TILEROWSTOLANESPASS
#include "heddle/Conversion/TileToVector/Passes.h.inc"

namespace {

/// The type of a value that is a tile of rank 2; null otherwise.
RankedTensorType matrixType(Value value) {
  RankedTensorType type = tileType(value);
  return type && type.getRank() == 2 ? type : RankedTensorType();
}

RankedTensorType exchanged(RankedTensorType type) {
  return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
}

/// Rebuilds the body of one kernel in front of it.
class RowExchange {
public:
  explicit RowExchange(tile::KernelOp kernel) : kernel(kernel), b(kernel.getLoc(), kernel) {}

  void run() {
    Block &body = kernel.getBody().front();
    auto end = std::prev(body.end());
    SmallVector<Operation *> old;
    for (Operation &op : llvm::make_range(body.begin(), end))
      old.push_back(&op);
    b.setInsertionPoint(&*end);
    for (Operation *op : old)
      rebuild(op);
    for (Operation *op : llvm::reverse(old))
      op->erase();
  }

private:
  bool isKept(Value value) { return kept.contains(value); }

  /// The form of a tile as the kernel had it.
  Value natural(Value value) {
    if (!matrixType(value))
      return other.lookupOrDefault(value);
    return formOf(value, kept, swapped);
  }
  Value swappedForm(Value value) { return formOf(value, swapped, kept); }
  /// Rank-2 tiles exchanged, all others mapped.
  Value changed(Value value) {
    return matrixType(value) ? swappedForm(value) : other.lookupOrDefault(value);
  }

  Value formOf(Value value, DenseMap<Value, Value> &wanted, DenseMap<Value, Value> &present) {
    Value &form = wanted[value];
    if (form)
      return form;
    Value from = present.lookup(value);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(from);
    return form = tile::TransposeOp::create(b, from);
  }

  void setResult(Value old, Value result, bool isSwapped) {
    if (!matrixType(old))
      other.map(old, result);
    else
      (isSwapped ? swapped : kept)[old] = result;
  }

  void rebuild(Operation *op) {
    b.setLoc(op->getLoc());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return rebuildFor(loop);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return rebuildDot(dot);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && matrixType(reduce.getInput()))
      return rebuildReduce(reduce);
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op); broadcast && matrixType(broadcast)) {
      Value input = other.lookupOrDefault(broadcast.getInput());
      bool fromScalar = isScalarTile(input.getType());
      int64_t along = fromScalar ? broadcast.getAlong() : 1 - broadcast.getAlong();
      Value result = tile::BroadcastOp::create(b, exchanged(matrixType(broadcast)), input, along);
      return setResult(broadcast, result, /*isSwapped=*/true);
    }
    if (auto iota = dyn_cast<tile::IotaOp>(op); iota && matrixType(iota)) {
      Value start = iota.getStart() ? other.lookupOrDefault(iota.getStart()) : Value();
      Value result = tile::IotaOp::create(b, exchanged(iota.getType()), start, 1 - iota.getAlong());
      return setResult(iota, result, /*isSwapped=*/true);
    }
    if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
      Value input = transpose.getInput();
      // The exchanged form of the result is the kept form of the operand, and the other way round.
      if (Value form = kept.lookup(input))
        swapped[transpose] = form;
      if (Value form = swapped.lookup(input))
        kept[transpose] = form;
      return;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && matrixType(constant)) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      Value result =
          arith::ConstantOp::create(b, SplatElementsAttr::get(exchanged(matrixType(constant)),
                                                              splat.getSplatValue<Attribute>()));
      return setResult(constant, result, /*isSwapped=*/true);
    }
    if (auto splat = dyn_cast<tensor::SplatOp>(op); splat && matrixType(splat)) {
      Value result = tensor::SplatOp::create(b, other.lookupOrDefault(splat.getInput()),
                                             exchanged(matrixType(splat)));
      return setResult(splat, result, /*isSwapped=*/true);
    }
    if (auto slice = dyn_cast<tile::SliceOp>(op); slice && swapped.contains(slice.getInput())) {
      ArrayRef<int64_t> offsets = slice.getOffsets();
      Value result =
          tile::SliceOp::create(b, exchanged(slice.getType()), swappedForm(slice.getInput()),
                                ArrayRef<int64_t>{offsets[1], offsets[0]});
      return setResult(slice, result, /*isSwapped=*/true);
    }
    if (auto concat = dyn_cast<tile::ConcatOp>(op); concat && matrixType(concat)) {
      SmallVector<Value> inputs;
      for (Value input : concat.getInputs())
        inputs.push_back(swappedForm(input));
      Value result = tile::ConcatOp::create(b, exchanged(concat.getType()), inputs,
                                            1 - int64_t(concat.getAlong()));
      return setResult(concat, result, /*isSwapped=*/true);
    }
    if (op->getNumResults() == 1 && matrixType(op->getResult(0)) && isElementwise(op)) {
      // Of loaded tiles alone: stays in their form.
      bool staysKept = llvm::all_of(op->getOperands(), [&](Value operand) {
        return !matrixType(operand) || (isKept(operand) && !swapped.contains(operand));
      });
      return rebuildElementwise(op, !staysKept);
    }
    // Scalars, tiles of rank 1, loads and stores.
    IRMapping operands;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentRegion()->isAncestor(op->getParentRegion()))
          operands.map(operand, natural(operand));
    });
    Operation *clone = b.clone(*op, operands);
    for (auto [old, result] : llvm::zip_equal(op->getResults(), clone->getResults()))
      setResult(old, result, /*isSwapped=*/false);
  }

  void rebuildElementwise(Operation *op, bool isSwapped) {
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, isSwapped ? changed(operand) : natural(operand));
    Operation *clone = b.clone(*op, operands);
    if (isSwapped)
      clone->getResult(0).setType(exchanged(matrixType(op->getResult(0))));
    setResult(op->getResult(0), clone->getResult(0), isSwapped);
  }

  void rebuildDot(tile::DotOp dot) {
    // Rows of b become rows of the first factor.
    bool isLeftKept = isKept(dot.getB()) && !swapped.contains(dot.getB());
    Value left = isLeftKept ? natural(dot.getB()) : swappedForm(dot.getB());
    bool transposesLeft = isLeftKept != dot.getTransposeB();
    Value right = dot.getTransposeA() ? natural(dot.getA()) : swappedForm(dot.getA());
    Value acc = swappedForm(dot.getAcc());
    Value result = tile::DotOp::create(b, acc.getType(), left, right, acc, transposesLeft,
                                       /*transpose_b=*/false, dot.getPrecision());
    setResult(dot, result, /*isSwapped=*/true);
  }

  void rebuildReduce(tile::ReduceOp reduce) {
    bool asIs = isKept(reduce.getInput());
    Value input = asIs ? natural(reduce.getInput()) : swappedForm(reduce.getInput());
    int64_t along = asIs ? reduce.getAlong() : 1 - reduce.getAlong();
    setResult(reduce, tile::ReduceOp::create(b, reduce.getKind(), input, along),
              /*isSwapped=*/false);
  }

  void rebuildFor(scf::ForOp loop) {
    SmallVector<Value> inits;
    for (Value init : loop.getInitArgs())
      inits.push_back(changed(init));
    auto result = scf::ForOp::create(b, other.lookupOrDefault(loop.getLowerBound()),
                                     other.lookupOrDefault(loop.getUpperBound()),
                                     other.lookupOrDefault(loop.getStep()), inits);
    result.setUnsignedCmp(loop.getUnsignedCmp());
    other.map(loop.getInductionVar(), result.getInductionVar());
    for (auto [old, argument] :
         llvm::zip_equal(loop.getRegionIterArgs(), result.getRegionIterArgs()))
      setResult(old, argument, /*isSwapped=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      if (inits.empty())
        result.getBody()->getTerminator()->erase();
      b.setInsertionPointToStart(result.getBody());
      for (Operation &op : loop.getBody()->without_terminator())
        rebuild(&op);
      SmallVector<Value> yielded;
      for (Value value : loop.getYieldedValues())
        yielded.push_back(changed(value));
      scf::YieldOp::create(b, yielded);
    }
    for (auto [old, value] : llvm::zip_equal(loop.getResults(), result.getResults()))
      setResult(old, value, /*isSwapped=*/true);
  }

  tile::KernelOp kernel;
  ImplicitLocOpBuilder b;
  DenseMap<Value, Value> kept, swapped; ///< forms of tiles of rank 2
  IRMapping other;
};

struct TileRowsToLanesPass : impl::TileRowsToLanesPassBase<TileRowsToLanesPass> {
  using TileRowsToLanesPassBase::TileRowsToLanesPassBase;

  void runOnOperation() override {
    if (isWorthwhile() && isKnown()) {
      RowExchange(getOperation()).run();
      ++numKernels;
    }
  }

private:
  /// Whether a loop reduces rows that fill vectors of something that depends on a product there.
  bool isWorthwhile() {
    bool found = false;
    getOperation().walk([&](tile::ReduceOp reduce) {
      RankedTensorType type = matrixType(reduce.getInput());
      if (!type || reduce.getAlong() != 1 || type.getDimSize(0) % lanes != 0 ||
          !isa<scf::ForOp>(reduce->getParentOp()))
        return;
      found |= dependsOnDot(reduce.getInput(), reduce->getBlock());
    });
    return found;
  }

  static bool dependsOnDot(Value value, Block *block) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block)
      return false;
    if (isa<tile::DotOp>(op))
      return true;
    return isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
             return matrixType(operand) && dependsOnDot(operand, block);
           });
  }

  bool isKnown() {
    return !getOperation()
                .walk([&](Operation *op) {
                  return isKnown(op) ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  static bool isKnown(Operation *op) {
    auto isMatrix = [](Value value) { return matrixType(value) != nullptr; };
    bool hasMatrix =
        llvm::any_of(op->getOperands(), isMatrix) || llvm::any_of(op->getResults(), isMatrix);
    if (!hasMatrix)
      return !isa<scf::ForOp>(op) || op->getNumRegions() == 1;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return isElementwise(op) ||
           isa<scf::ForOp, tile::DotOp, tile::ReduceOp, tile::BroadcastOp, tile::IotaOp,
               tile::TransposeOp, tile::SliceOp, tile::ConcatOp, tile::LoadOp, tile::StoreOp,
               tensor::SplatOp>(op) ||
           (isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp()));
  }
};

} // namespace
} // namespace heddle
