//===- AttnSelectTopK.cpp - the pass attn-select-top-k --------------------===//
//
// A row's list of indices is the storage of a heap of its k best elements so far,
// with the worst of them at place 0. Of two elements the one of the smaller score is
// worse, and of equal ones the one of the larger index; -1 is worse than all.
//
//   1. heap = -1 everywhere, bar = -inf: the score of heap[0]
//   2. for each element j from the first on, if s_j > bar:
//        j replaces heap[0] and sinks to its place; bar = the score of heap[0]
//   3. for size = k - 1, ..., 1: what was last sinks from place 0 in a heap of that
//        size, and heap[0] goes to the place that it leaves
//
// An element that equals the bar has a larger index than what is in the heap, so it is
// worse; -inf and NaN are never above the bar. After step 3 the best is first and what
// is -1 is last. The heap's elements are compared by their scores, which stay where they
// are. Of elements in random order, about k ln(n / k) of the n pass the bar: n + k log k
// log n in all, and n log k if they rise.
//
//===----------------------------------------------------------------------===//

#include "TensorEmitter.h"
#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include <limits>

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_ATTNSELECTTOPKPASS
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

namespace {

using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// The heap of one row: an i32 tensor [k], which each change gives anew.
class RowHeap {
public:
  /// `row` are the indices of the row in `scores`.
  RowHeap(TensorEmitter &emit, Value scores, ArrayRef<Value> row)
      : emit(emit), scores(scores), row(row) {
    stored = getElementTypeOrSelf(scores);
    compared = stored.getIntOrFloatBitWidth() < 32 ? Type(emit.getF32Type()) : stored;
  }

  Value lowest() { return emit.constant(compared, -std::numeric_limits<double>::infinity()); }
  /// The score of an element of the row, as what scores are compared in.
  Value score(Value element) {
    SmallVector<Value> at(row);
    at.push_back(element);
    return emit.scalar(tensor::ExtractOp::create(emit, scores, at)).to(compared);
  }
  /// The score of an entry, -inf of -1. The row has an element.
  Value scoreOfEntry(Value entry) {
    Value zero = constant(0);
    Value isElement = compare(CmpIPredicate::sge, entry, zero);
    Value element = emit.toIndex(arith::MaxSIOp::create(emit, entry, zero));
    return arith::SelectOp::create(emit, isElement, score(element), lowest());
  }
  Value entry(Value heap, Value place) { return tensor::ExtractOp::create(emit, heap, place); }
  Value toEntry(Value index) { return arith::IndexCastOp::create(emit, emit.getI32Type(), index); }

  /// The heap of `size` places, of which the first is free, with `item` in it.
  Value sink(Value heap, Value size, Value item);
  /// Steps 2 and 3 of the algorithm above.
  Value selectAmong(Value heap, Value elements);
  Value sort(Value heap, Value places);

private:
  Value constant(int32_t number) {
    return arith::ConstantOp::create(emit, emit.getI32IntegerAttr(number));
  }
  Value compare(CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(emit, predicate, a, b);
  }
  /// Whether entry a is worse than b.
  Value isWorse(Value a, Value scoreOfA, Value b, Value scoreOfB) {
    Value isLess = arith::CmpFOp::create(emit, CmpFPredicate::OLT, scoreOfA, scoreOfB);
    Value isEqual = arith::CmpFOp::create(emit, CmpFPredicate::OEQ, scoreOfA, scoreOfB);
    Value isLater = compare(CmpIPredicate::sgt, a, b);
    return arith::OrIOp::create(emit, isLess, arith::AndIOp::create(emit, isEqual, isLater));
  }
  /// The worse child of `place`, which has one, and whether it is worse than `item`.
  std::pair<Value, Value> worseChild(Value heap, Value size, Value place, Value item,
                                     Value scoreOfItem);

  TensorEmitter &emit;
  Value scores;
  SmallVector<Value> row;
  Type stored, compared;
};

std::pair<Value, Value> RowHeap::worseChild(Value heap, Value size, Value left, Value item,
                                            Value scoreOfItem) {
  // Without a right child the left one stands for it.
  Value next = arith::AddIOp::create(emit, left, emit.index(1));
  Value last = arith::SubIOp::create(emit, size, emit.index(1));
  Value right = arith::MinSIOp::create(emit, next, last);
  Value a = entry(heap, left), b = entry(heap, right);
  Value scoreOfA = scoreOfEntry(a), scoreOfB = scoreOfEntry(b);
  Value isRight = isWorse(b, scoreOfB, a, scoreOfA);
  auto select = [&](Value yes, Value no) {
    return arith::SelectOp::create(emit, isRight, yes, no);
  };
  Value worse = isWorse(select(b, a), select(scoreOfB, scoreOfA), item, scoreOfItem);
  return {select(right, left), worse};
}

Value RowHeap::sink(Value heap, Value size, Value item) {
  Value scoreOfItem = scoreOfEntry(item);
  Type index = emit.getIndexType(), i1 = emit.getI1Type();
  auto loop = scf::WhileOp::create(
      emit, TypeRange{heap.getType(), index, index}, ValueRange{heap, emit.index(0)},
      [&](OpBuilder &builder, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(emit);
        emit.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
        Value current = args[0], place = args[1];
        Value left = arith::AddIOp::create(emit, arith::MulIOp::create(emit, place, emit.index(2)),
                                           emit.index(1));
        Value hasChild = compare(CmpIPredicate::slt, left, size);
        auto branch = scf::IfOp::create(emit, TypeRange{index, i1}, hasChild,
                                        /*withElseRegion=*/true);
        emit.setInsertionPointToStart(branch.thenBlock());
        auto [child, worse] = worseChild(current, size, left, item, scoreOfItem);
        scf::YieldOp::create(emit, ValueRange{child, worse});
        emit.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(
            emit, ValueRange{left, arith::ConstantOp::create(emit, emit.getBoolAttr(false))});
        emit.setInsertionPointAfter(branch);
        scf::ConditionOp::create(emit, branch.getResult(1),
                                 ValueRange{current, place, branch.getResult(0)});
      },
      [&](OpBuilder &builder, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(emit);
        emit.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
        Value current = args[0], place = args[1], child = args[2];
        Value next = tensor::InsertOp::create(emit, entry(current, child), current, place);
        scf::YieldOp::create(emit, ValueRange{next, child});
      });
  return tensor::InsertOp::create(emit, item, loop.getResult(0), loop.getResult(1));
}

Value RowHeap::selectAmong(Value heap, Value elements) {
  Value size = emit.createOrFold<tensor::DimOp>(heap, 0);
  auto loop =
      scf::ForOp::create(emit, emit.index(0), elements, emit.index(1), ValueRange{heap, lowest()});
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(loop.getBody());
  Value current = loop.getRegionIterArg(0), bar = loop.getRegionIterArg(1);
  Value element = loop.getInductionVar();
  Value passes = arith::CmpFOp::create(emit, CmpFPredicate::OGT, score(element), bar);
  auto branch = scf::IfOp::create(emit, loop.getResultTypes(), passes, /*withElseRegion=*/true);
  emit.setInsertionPointToStart(branch.thenBlock());
  Value next = sink(current, size, toEntry(element));
  scf::YieldOp::create(emit, ValueRange{next, scoreOfEntry(entry(next, emit.index(0)))});
  emit.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(emit, ValueRange{current, bar});
  emit.setInsertionPointAfter(branch);
  scf::YieldOp::create(emit, branch.getResults());
  return loop.getResult(0);
}

Value RowHeap::sort(Value heap, Value places) {
  Value one = emit.index(1);
  auto loop = scf::ForOp::create(emit, one, places, one, ValueRange{heap});
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(loop.getBody());
  Value current = loop.getRegionIterArg(0);
  Value size = arith::SubIOp::create(emit, places, loop.getInductionVar());
  Value last = entry(current, size), worst = entry(current, emit.index(0));
  Value next = tensor::InsertOp::create(emit, worst, current, size);
  scf::YieldOp::create(emit, sink(next, size, last));
  return loop.getResult(0);
}

void selectTopK(attn::TopKOp op) {
  IRRewriter rewriter(op);
  TensorEmitter emit(op.getLoc(), rewriter);
  Value scores = op.getScores();
  Shape extents = emit.shapeOf(scores);
  Value elements = emit.asIndex(extents.pop_back_val());
  OpFoldResult k = emit.getIndexAttr(int64_t(op.getK()));
  Value rows = emit.index(1);
  for (OpFoldResult extent : extents)
    rows = emit.createOrFold<arith::MulIOp>(rows, emit.asIndex(extent));
  Shape shape = extents;
  shape.push_back(k);
  Value init = emit.filled(shape, emit.getI32Type(), -1);
  auto loop =
      scf::ForallOp::create(emit, ArrayRef<OpFoldResult>{rows}, ValueRange{init}, std::nullopt);
  emit.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> row(extents.size());
  Value rest = loop.getInductionVar(0);
  for (size_t i = extents.size(); i-- > 1;) {
    row[i] = arith::RemUIOp::create(emit, rest, emit.asIndex(extents[i]));
    rest = arith::DivUIOp::create(emit, rest, emit.asIndex(extents[i]));
  }
  if (!row.empty())
    row[0] = rest;
  RowHeap heap(emit, scores, row);
  SmallVector<OpFoldResult> offsets = getAsOpFoldResult(row), strides, sizes;
  offsets.push_back(emit.getIndexAttr(0));
  sizes.assign(row.size(), emit.getIndexAttr(1));
  sizes.push_back(k);
  strides.assign(offsets.size(), emit.getIndexAttr(1));
  auto type = RankedTensorType::get({int64_t(op.getK())}, emit.getI32Type());
  Value list = tensor::ExtractSliceOp::create(emit, type, loop.getRegionIterArgs()[0], offsets,
                                              sizes, strides);
  list = heap.selectAmong(list, elements);
  // Where there are no elements, there is nothing to sort and no score to read.
  Value none = arith::CmpIOp::create(emit, CmpIPredicate::eq, elements, emit.index(0));
  Value places = arith::SelectOp::create(emit, none, emit.index(0), emit.asIndex(k));
  list = heap.sort(list, places);
  emit.setInsertionPointToStart(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(emit, list, loop.getRegionIterArgs()[0], offsets, sizes,
                                        strides);
  emit.setInsertionPointAfter(loop);
  rewriter.replaceOp(op, emit.castTo(loop.getResult(0), op.getIndices().getType()));
}

struct AttnSelectTopKPass : impl::AttnSelectTopKPassBase<AttnSelectTopKPass> {
  void runOnOperation() override {
    SmallVector<attn::TopKOp> ops;
    getOperation()->walk([&](attn::TopKOp op) { ops.push_back(op); });
    for (attn::TopKOp op : ops)
      selectTopK(op);
  }
};

} // namespace
} // namespace heddle
