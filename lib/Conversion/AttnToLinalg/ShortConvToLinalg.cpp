//===- ShortConvToLinalg.cpp - short convolutions token by token ----------===//
//
// A loop over the tokens of a sequence carries the last K - 1 rows of the input as the state [C, K - 1], and the output. One token:
//
//   1. output = act(weight[K-1] x + sum_m weight[m] state[m] + bias)    [C], rounded
//   2. state  = state without its first column, and x
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "ExtentChecks.h"
#include "LinearAttentionParts.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

struct ShortConvToLinalg : AttnToLinalgPattern<ShortConvOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(ShortConvOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getInput(), weight = adaptor.getWeight();
    Value initialState = adaptor.getInitialState();
    Sequences sequences(emit, {"short_conv", "input", input, initialState, adaptor.getCuSeqlens(),
                               adaptor.getSlots()});
    auto requireChannels = [&](StringRef name, Value tensor, unsigned dim) {
      if (tensor)
        requireEqualExtents(emit, "short_conv", {name, dim, emit.sizeOf({{tensor, dim}})},
                            {"input", 2, emit.sizeOf({{input, 2}})});
    };
    requireChannels("weight", weight, 0);
    requireChannels("bias", adaptor.getBias(), 0);
    requireChannels("initial_state", initialState, 1);
    int64_t width = cast<RankedTensorType>(weight.getType()).getDimSize(1);
    if (initialState)
      requireEqualExtents(emit, "short_conv",
                          {"initial_state", 2, emit.sizeOf({{initialState, 2}})},
                          {"weight", 1, emit.getIndexAttr(width - 1)});

    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    OpFoldResult channels = emit.sizeOf({{input, 2}, {weight, 0}});
    OpFoldResult past = emit.getIndexAttr(width - 1);
    Type stateElement = getElementTypeOrSelf(op.getFinalState());
    Shape stateShape = {sequences.states(), channels, past};
    Value states = initialState ? initialState : emit.filled(stateShape, stateElement, 0.0);
    Shape shape = {emit.sizeOf({{input, 0}}), emit.sizeOf({{input, 1}}), channels};
    Type element = getElementTypeOrSelf(input);
    Value output =
        sequences.haveSlots() ? emit.filled(shape, element, 0.0) : emit.empty(shape, element);

    Shape stateSizes = {one, channels, past};
    // Tokens of this call are read as they entered: they are rounded to the type of the states behind the last one.
    Type carried = stateElement == element ? element : computeType({input, states});
    ResultRange ends = sequences.forEach(
        emit, {states, output},
        [&](TensorEmitter &body, const Sequences::Sequence &sequence, ValueRange before) {
          Shape place = {sequence.state, zero, zero};
          // A kernel of one token has no state; slices of nothing are not allowed.
          SmallVector<Value> inits = {before[1]};
          if (width > 1)
            inits.push_back(convertTensor(
                body, body.extract(before[0], place, stateSizes, /*dropped=*/1), carried));
          ResultRange after = forEachStep(
              body, sequence.count, inits, [&](TensorEmitter &inner, Value step, ValueRange now) {
                Shape offsets = {sequence.batch,
                                 Value(arith::AddIOp::create(inner, sequence.first, step)), zero};
                return runToken(inner, op, adaptor, offsets, channels, now);
              });
          Value state = before[0];
          if (width > 1)
            state =
                body.insert(convertTensor(body, after[1], stateElement), state, place, stateSizes);
          return SmallVector<Value>{state, after[0]};
        });
    rewriter.replaceOp(op, {emit.castTo(ends[1], op.getOutput().getType()),
                            emit.castTo(ends[0], op.getFinalState().getType())});
    return success();
  }

private:
  /// Output and, for kernels of more than one token, state [C, K - 1] behind one token, which stands at `offsets` of input and output.
  SmallVector<Value> runToken(TensorEmitter &emit, ShortConvOp op, OpAdaptor operands,
                              const Shape &offsets, OpFoldResult channels, ValueRange now) const {
    Value output = now[0];
    Type compute = computeType({operands.getInput(), operands.getWeight()});
    Type element = getElementTypeOrSelf(output);
    int64_t width = cast<RankedTensorType>(operands.getWeight().getType()).getDimSize(1);
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    OpFoldResult past = emit.getIndexAttr(width - 1);
    Shape tokenSizes = {one, one, channels};
    Value token = emit.extract(operands.getInput(), offsets, tokenSizes, /*dropped=*/2);

    SmallVector<TensorEmitter::Input> inputs = {{token, {0}}};
    Value last = emit.extract(operands.getWeight(), {zero, past}, {channels, one}, /*dropped=*/0);
    inputs.push_back({emit.joinDims(last, 0), {0}});
    if (width > 1) {
      Value first = emit.extract(operands.getWeight(), {zero, zero}, {channels, past}, 0);
      Value sum = emit.reduceLast({channels}, compute, 0.0, {{now[1], {0, 1}}, {first, {0, 1}}},
                                  [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                    return args[2] + args[0].to(compute) * args[1].to(compute);
                                  });
      inputs.push_back({sum, {0}});
    }
    if (operands.getBias())
      inputs.push_back({operands.getBias(), {0}});
    Value row =
        emit.elementwise({channels}, element, inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar y = args[0].to(compute) * args[1].to(compute);
          for (const Scalar &term : args.drop_front(2))
            y = y + term.to(compute);
          if (op.getSilu())
            y = silu(y);
          return y.to(element);
        });
    SmallVector<Value> next = {emit.insert(row, output, offsets, tokenSizes)};
    if (width > 1) {
      Value kept = convertTensor(emit, token, getElementTypeOrSelf(now[1]));
      next.push_back(shift(emit, now[1], kept, channels, width - 1));
    }
    return next;
  }

  /// The columns of `state` one place to the left, and `token` in the last one.
  Value shift(TensorEmitter &emit, Value state, Value token, OpFoldResult channels,
              int64_t columns) const {
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    for (int64_t column = 0; column < columns; ++column) {
      Value next = token;
      if (column + 1 < columns) {
        Value view = emit.extract(state, {zero, emit.getIndexAttr(column + 1)}, {channels, one}, 0);
        next = emit.joinDims(view, 0);
      }
      state = emit.insert(next, state, {zero, emit.getIndexAttr(column)}, {channels, one});
    }
    return state;
  }
};

} // namespace

void heddle::populateShortConvToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<ShortConvToLinalg>(patterns.getContext(), accumulate);
}
