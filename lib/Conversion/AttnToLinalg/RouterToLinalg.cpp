//===- RouterToLinalg.cpp - choice of experts as linalg -------------------===//
//
// Nothing is sorted: the place of an element in falling order is the number of elements before it, a reduction over pairs. Behind the
// leading dimensions of the logits:
//
//   1. s     = softmax or sigmoid of the logits                                [E]
//   2. c     = s + correction, with the smallest number for NaN and -inf       [E]
//   3. with groups:
//      place of e in its group = #{e' of the group before e}                   [G, E / G]
//      value of a group        = sum of c at places < group_top                [G]
//      c     = -inf in groups whose place is >= top_groups
//   4. place = #{e' : c_e' > c_e, or equal and e' < e}                         [E]
//   5. indices[p], weights[p] = sum of e or s_e over the one e of place p      [top_k]
//
// Counts and numbers of experts are exact in the type of the scores.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

constexpr double infinity = std::numeric_limits<double>::infinity();

using Dims = SmallVector<unsigned>;

/// 0 .. count - 1, and then `more`.
static Dims dimsThen(unsigned count, ArrayRef<unsigned> more) {
  Dims dims = llvm::to_vector(llvm::seq<unsigned>(0, count));
  dims.append(more.begin(), more.end());
  return dims;
}

static Value isLess(TensorEmitter &emit, Scalar a, Scalar b) {
  return arith::CmpFOp::create(emit, arith::CmpFPredicate::OLT, a, b);
}

/// Softmax over the last dimension.
static Value emitSoftmax(TensorEmitter &emit, Value logits, const Shape &shape, Type compute) {
  unsigned rows = shape.size() - 1;
  Dims row = dimsThen(rows, {}), all = dimsThen(rows, {rows});
  Shape outer(shape.begin(), shape.end() - 1);
  Value largest = emit.reduceLast(
      outer, compute, -infinity, {{logits, all}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return max(args[1], args[0].to(compute)); });
  Value powers = emit.elementwise(
      shape, compute, {{logits, all}, {largest, row}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return exp(args[0].to(compute) - args[1]); });
  Value sum =
      emit.reduceLast(outer, compute, 0.0, {{powers, all}},
                      [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
  return emit.elementwise(shape, compute, {{powers, all}, {sum, row}},
                          [](TensorEmitter &, ArrayRef<Scalar> args) { return args[0] / args[1]; });
}

/// The place of each element of the last dimension in falling order; of equal ones the first comes first.
static Value emitPlaces(TensorEmitter &emit, Value values) {
  Shape shape = emit.shapeOf(values);
  unsigned mine = shape.size() - 1, other = shape.size();
  return emit.reduceLast(
      shape, getElementTypeOrSelf(values), 0.0,
      {{values, dimsThen(mine, {mine})}, {values, dimsThen(mine, {other})}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::slt,
                                              linalg::IndexOp::create(body, other),
                                              linalg::IndexOp::create(body, mine));
        Value equal = arith::CmpFOp::create(body, arith::CmpFPredicate::OEQ, args[0], args[1]);
        Value before = arith::OrIOp::create(body, isLess(body, args[0], args[1]),
                                            arith::AndIOp::create(body, equal, isFirst));
        return args[2] + select(before, args[2].constant(1.0), args[2].constant(0.0));
      });
}

/// For the places p < `count`, what `value` gives for the element at p: its number, and what `values` have there.
static Value
emitChosen(TensorEmitter &emit, Value places, Value values, int64_t count,
           llvm::function_ref<Scalar(TensorEmitter &, Value number, Scalar value)> valueOf) {
  Shape shape = emit.shapeOf(places);
  unsigned place = shape.size() - 1, element = shape.size();
  shape.back() = emit.getIndexAttr(count);
  Type type = getElementTypeOrSelf(places);
  Dims dims = dimsThen(place, {element});
  return emit.reduceLast(
      shape, type, 0.0, {{places, dims}, {values, dims}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Scalar wanted = body.indexToFloat(linalg::IndexOp::create(body, place), type);
        Value isHere = arith::CmpFOp::create(body, arith::CmpFPredicate::OEQ, args[0], wanted);
        Scalar value = valueOf(body, linalg::IndexOp::create(body, element), args[1]);
        return args[2] + select(isHere, value, value.constant(0.0));
      });
}

/// `choice` with -inf in all groups but the best ones.
static Value emitGroupLimit(TensorEmitter &emit, RouterOp op, Value choice) {
  Type type = getElementTypeOrSelf(choice);
  Shape shape = emit.shapeOf(choice);
  unsigned group = shape.size() - 1, member = shape.size();
  int64_t groups = *op.getGroups();
  Value split = emit.splitDim(choice, group, emit.getIndexAttr(groups),
                              emit.getIndexAttr(op.getNumExperts() / groups));
  Dims all = dimsThen(group, {group, member});
  Shape splitShape = emit.shapeOf(split), outer(splitShape.begin(), splitShape.end() - 1);
  Value sums = emit.reduceLast(outer, type, 0.0, {{emitPlaces(emit, split), all}, {split, all}},
                               [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                                 Scalar place = args[0], c = args[1];
                                 Value counts = isLess(
                                     body, place, place.constant(double(op.getGroupTopValue())));
                                 return args[2] + select(counts, c, c.constant(0.0));
                               });
  Value limited = emit.elementwise(
      splitShape, type, {{split, all}, {emitPlaces(emit, sums), dimsThen(group, {group})}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Scalar c = args[0], place = args[1];
        Value isIn = isLess(body, place, place.constant(double(*op.getTopGroups())));
        return select(isIn, c, c.constant(-infinity));
      });
  return emit.joinDims(limited, group);
}

/// `scores` of the chosen as weights: normalised, scaled, in f32.
static Value emitWeights(TensorEmitter &emit, RouterOp op, Value scores) {
  Shape shape = emit.shapeOf(scores);
  unsigned rows = shape.size() - 1;
  Dims row = dimsThen(rows, {}), all = dimsThen(rows, {rows});
  SmallVector<TensorEmitter::Input> inputs = {{scores, all}};
  if (op.getRenormalize()) {
    Shape outer(shape.begin(), shape.end() - 1);
    Value sum =
        emit.reduceLast(outer, getElementTypeOrSelf(scores), 0.0, {{scores, all}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
    inputs.push_back({sum, row});
  }
  return emit.elementwise(shape, emit.getF32Type(), inputs,
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            Scalar w = args[0];
                            if (args.size() > 1)
                              w = w / (args[1] + 1e-20);
                            return (w * op.getScaleValue()).to(body.getF32Type());
                          });
}

namespace {

struct RouterToLinalg : AttnToLinalgPattern<RouterOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(RouterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value logits = adaptor.getLogits();
    Type compute = computeType(logits);
    Shape shape = emit.shapeOf(logits);
    unsigned last = shape.size() - 1;
    Dims all = dimsThen(last, {last});
    Value scores = op.getScoring() == RouterScoring::Softmax
                       ? emitSoftmax(emit, logits, shape, compute)
                       : emit.elementwise(shape, compute, {{logits, all}},
                                          [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                            return sigmoid(args[0].to(compute));
                                          });
    // Logits keep apart what softmax rounds to the same number.
    bool byLogits =
        op.getScoring() == RouterScoring::Softmax && !adaptor.getCorrection() && !op.getGroups();
    SmallVector<TensorEmitter::Input> inputs = {{byLogits ? logits : scores, all}};
    if (adaptor.getCorrection())
      inputs.push_back({adaptor.getCorrection(), {last}});
    double lowest = compute.isF64() ? std::numeric_limits<double>::lowest()
                                    : double(std::numeric_limits<float>::lowest());
    Value choice =
        emit.elementwise(shape, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          Scalar c = args[0].to(compute);
          if (args.size() > 1)
            c = c + args[1].to(compute);
          Scalar least = c.constant(lowest);
          return select(isLess(body, least, c), c, least);
        });
    if (op.getGroups())
      choice = emitGroupLimit(emit, op, choice);

    Value places = emitPlaces(emit, choice);
    int64_t count = op.getTopK();
    Value numbers =
        emitChosen(emit, places, scores, count, [&](TensorEmitter &body, Value number, Scalar) {
          return body.indexToFloat(number, compute);
        });
    Value indices = emit.elementwise(
        emit.shapeOf(numbers), emit.getI32Type(), {{numbers, all}},
        [](TensorEmitter &body, ArrayRef<Scalar> args) {
          return body.scalar(arith::FPToSIOp::create(body, body.getI32Type(), args[0]));
        });
    Value weights =
        emitWeights(emit, op,
                    emitChosen(emit, places, scores, count,
                               [](TensorEmitter &, Value, Scalar score) { return score; }));
    rewriter.replaceOp(op, {emit.castTo(indices, op.getIndices().getType()),
                            emit.castTo(weights, op.getWeights().getType())});
    return success();
  }
};

} // namespace

void heddle::populateRouterToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<RouterToLinalg>(patterns.getContext(), accumulate);
}
