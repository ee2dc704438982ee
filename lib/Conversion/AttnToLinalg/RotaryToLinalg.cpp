//===- RotaryToLinalg.cpp - rotary position embedding as linalg -----------===//
//
// cos and sin are tables over positions and channel pairs, each an operation
// of its own: all layers of a model rotate by the same tables, and CSE leaves
// one of each. The two halves of the pairs are slices of the input (with
// stride 2 if interleaved), rotated and put into the result.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "RotaryFrequencies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

/// The last dimension of a slice of [B, L, H, d].
struct Channels {
  OpFoldResult offset, size, stride;
};

struct RopeToLinalg : AttnToLinalgPattern<RopeOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(RopeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value input = adaptor.getInput(), positions = adaptor.getPositions();
    FailureOr<Value> frequencies = emitInverseFrequencies(emit, op, adaptor, rewriter);
    if (failed(frequencies))
      return failure();

    int64_t half = op.getRotaryDimValue() / 2;
    auto table = [&](function_ref<Scalar(Scalar)> function) {
      return emitTable(emit, op, positions, *frequencies, half, function);
    };
    Value cosines = table([](Scalar angle) { return cos(angle); });
    Value sines = table([](Scalar angle) { return sin(angle); });

    Attribute zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1), two = emit.getIndexAttr(2),
              count = emit.getIndexAttr(half);
    bool interleaved = op.getInterleaved();
    Channels low{zero, count, interleaved ? two : one};
    Channels high{interleaved ? one : count, count, interleaved ? two : one};
    Value x1 = slice(emit, input, low), x2 = slice(emit, input, high);

    Value y1 = rotate(emit, x1, x2, cosines, sines,
                      [](Scalar a, Scalar b, Scalar c, Scalar s) { return a * c - b * s; });
    Value y2 = rotate(emit, x1, x2, cosines, sines,
                      [](Scalar a, Scalar b, Scalar c, Scalar s) { return b * c + a * s; });

    Shape shape = emit.shapeOf(input);
    Value result = emit.empty(shape, getElementTypeOrSelf(input));
    result = insert(emit, y1, result, low);
    result = insert(emit, y2, result, high);
    if (getConstantIntValue(shape[3]) != 2 * half)
      result = copyRest(emit, input, result, 2 * half);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  /// attention_factor * function(f32(position) * frequency), over the
  /// dimensions of positions and the pairs.
  Value emitTable(TensorEmitter &emit, RopeOp op, Value positions, Value frequencies, int64_t half,
                  function_ref<Scalar(Scalar)> function) const {
    Type f32 = emit.getF32Type(), compute = computeType(op.getInput());
    Shape shape = emit.shapeOf(positions);
    unsigned pair = shape.size();
    shape.push_back(emit.getIndexAttr(half));
    auto outer = llvm::to_vector(llvm::seq<unsigned>(0, pair));
    double factor = op.getAttentionFactorValue();
    return emit.elementwise(shape, compute, {{positions, outer}, {frequencies, {pair}}},
                            [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                              Scalar position =
                                  body.scalar(arith::SIToFPOp::create(body, f32, Value(args[0])));
                              Scalar angle = (position * args[1]).to(compute);
                              Scalar result = function(angle);
                              return factor == 1.0 ? result : factor * result;
                            });
  }

  Value rotate(TensorEmitter &emit, Value x1, Value x2, Value cosines, Value sines,
               function_ref<Scalar(Scalar, Scalar, Scalar, Scalar)> formula) const {
    Type element = getElementTypeOrSelf(x1);
    Type compute = getElementTypeOrSelf(cosines);
    // Loops b, t, h, pair; positions are [B, L] or [L].
    bool perBatch = cast<RankedTensorType>(cosines.getType()).getRank() == 3;
    SmallVector<unsigned> all = {0, 1, 2, 3}, table = {1, 3};
    if (perBatch)
      table.insert(table.begin(), 0);
    return emit.elementwise(
        emit.shapeOf(x1), element, {{x1, all}, {x2, all}, {cosines, table}, {sines, table}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          return formula(args[0].to(compute), args[1].to(compute), args[2], args[3]).to(element);
        });
  }

  Value slice(TensorEmitter &emit, Value input, Channels channels) const {
    Shape sizes = emit.shapeOf(input);
    sizes[3] = channels.size;
    Shape offsets(4, emit.getIndexAttr(0)), strides(4, emit.getIndexAttr(1));
    offsets[3] = channels.offset;
    strides[3] = channels.stride;
    return emit.extract(input, offsets, sizes, /*dropped=*/0, strides);
  }

  Value insert(TensorEmitter &emit, Value part, Value into, Channels channels) const {
    Shape sizes = emit.shapeOf(part);
    Shape offsets(4, emit.getIndexAttr(0)), strides(4, emit.getIndexAttr(1));
    offsets[3] = channels.offset;
    strides[3] = channels.stride;
    return emit.insert(part, into, offsets, sizes, strides);
  }

  /// Copies the channels from `first` on.
  Value copyRest(TensorEmitter &emit, Value input, Value into, int64_t first) const {
    OpFoldResult size;
    OpFoldResult all = emit.shapeOf(input)[3];
    if (std::optional<int64_t> known = getConstantIntValue(all))
      size = emit.getIndexAttr(*known - first);
    else
      size = Value(arith::SubIOp::create(emit, emit.asIndex(all), emit.index(first)));
    Channels rest{emit.getIndexAttr(first), size, emit.getIndexAttr(1)};
    return insert(emit, slice(emit, input, rest), into, rest);
  }
};

} // namespace

void heddle::populateRotaryToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<RopeToLinalg>(patterns.getContext(), accumulate);
}
