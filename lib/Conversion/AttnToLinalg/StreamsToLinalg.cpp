//===- StreamsToLinalg.cpp - residual streams as linalg -------------------===//
//
// Sinkhorn is a loop over rounds that carries the matrices; half a round is three ops, all of them over matrices at once. The form mhc
// carries logarithms: for columns, with m_j = max_i L_ij,
//
//   L_ij - m_j - ln sum_k exp(L_kj - m_j)
//
// where the sum is at least 1, whatever the logits are.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "LinearAttentionParts.h"
#include "Patterns.h"
#include "Sequences.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

using Dims = SmallVector<unsigned>;

//===----------------------------------------------------------------------===//
// Sinkhorn
//===----------------------------------------------------------------------===//

namespace {

/// Matrices in the last two dimensions, and the loops over them.
class Matrices {
public:
  Matrices(TensorEmitter &emit, Value tensor, Type type) : shape(emit.shapeOf(tensor)), type(type) {
    outer = shape.size() - 2;
  }

  /// Logarithms less that of the sum of their row or column, written over them as loops have to carry them.
  Value normalizeLogarithms(TensorEmitter &emit, Value logarithms, bool rows) const {
    Value largest = reduce(
        emit, -std::numeric_limits<double>::infinity(), rows, {{logarithms, reducedDims(rows)}},
        [](TensorEmitter &, ArrayRef<Scalar> args) { return max(args[1], args[0]); });
    Value sums = reduce(
        emit, 0.0, rows, {{logarithms, reducedDims(rows)}, {largest, keptDims(rows, true)}},
        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[2] + exp(args[0] - args[1]); });
    return emit.update(
        logarithms, {{largest, keptDims(rows, false)}, {sums, keptDims(rows, false)}},
        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[2] - args[0] - log(args[1]); });
  }

  /// Elements divided by the sum of their row or column and eps.
  Value normalize(TensorEmitter &emit, Value matrices, bool rows, double eps) const {
    Value sums = reduce(emit, 0.0, rows, {{matrices, reducedDims(rows)}},
                        [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
    return emit.update(
        matrices, {{sums, keptDims(rows, false)}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] / (args[0] + eps); });
  }

  Value map(TensorEmitter &emit, Value matrices, Type element,
            llvm::function_ref<Scalar(Scalar)> function) const {
    return emit.elementwise(
        shape, element, {{matrices, allDims()}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return function(args[0]); });
  }

private:
  Value reduce(TensorEmitter &emit, double init, bool rows, ArrayRef<TensorEmitter::Input> inputs,
               TensorEmitter::Body body) const {
    Shape kept(shape.begin(), shape.end() - 2);
    kept.push_back(shape[rows ? outer : outer + 1]);
    return emit.reduceLast(kept, type, init, inputs, body);
  }

  Dims allDims() const { return llvm::to_vector(llvm::seq<unsigned>(0, outer + 2)); }
  /// The matrices in loops whose last one is along a row, or along a column.
  Dims reducedDims(bool rows) const {
    Dims dims = allDims();
    if (!rows)
      std::swap(dims[outer], dims[outer + 1]);
    return dims;
  }
  /// What rows or columns have been reduced to: in loops of a reduction, or over the matrices.
  Dims keptDims(bool rows, bool inReduction) const {
    Dims dims = llvm::to_vector(llvm::seq<unsigned>(0, outer));
    dims.push_back(inReduction || rows ? outer : outer + 1);
    return dims;
  }

  Shape shape;
  Type type;
  unsigned outer;
};

struct SinkhornToLinalg : AttnToLinalgPattern<SinkhornOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(SinkhornOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value logits = adaptor.getLogits();
    Type compute = computeType(logits), element = getElementTypeOrSelf(logits);
    Matrices matrices(emit, logits, compute);
    Value wide = matrices.map(emit, logits, compute, [&](Scalar x) { return x.to(compute); });
    bool inLogarithms = op.getForm() == StreamForm::Mhc;
    double eps = op.getEpsValue();
    auto half = [&](TensorEmitter &body, Value now, bool rows) {
      return inLogarithms ? matrices.normalizeLogarithms(body, now, rows)
                          : matrices.normalize(body, now, rows, eps);
    };
    Value state = wide;
    if (!inLogarithms) {
      // Softmax is the first half over rows, in logarithms.
      state = matrices.map(emit, matrices.normalizeLogarithms(emit, wide, /*rows=*/true), compute,
                           [&](Scalar x) { return exp(x) + eps; });
      state = half(emit, state, /*rows=*/false);
    }
    Value rounds = emit.index(op.getRounds() - (inLogarithms ? 0 : 1));
    Value end = forEachStep(emit, rounds, state, [&](TensorEmitter &body, Value, ValueRange now) {
      Value first = half(body, now[0], /*rows=*/!inLogarithms);
      return SmallVector<Value>{half(body, first, inLogarithms)};
    })[0];
    rewriter.replaceOp(op, matrices.map(emit, end, element, [&](Scalar x) {
      return (inLogarithms ? exp(x) : x).to(element);
    }));
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Maps and sums
//===----------------------------------------------------------------------===//

/// projection x of each token, with x the normalised streams: [B, L, rows].
static Value emitProjection(TensorEmitter &emit, Value streams, Value projection, Value weight,
                            double eps, Type compute) {
  Shape shape = emit.shapeOf(streams);
  Value perStream =
      emit.reduceLast({shape[0], shape[1], shape[2]}, compute, 0.0, {{streams, {0, 1, 2, 3}}},
                      [&](TensorEmitter &, ArrayRef<Scalar> args) {
                        Scalar x = args[0].to(compute);
                        return args[1] + x * x;
                      });
  Value squares =
      emit.reduceLast({shape[0], shape[1]}, compute, 0.0, {{perStream, {0, 1, 2}}},
                      [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; });
  double count = double(*getConstantIntValue(shape[2]) * *getConstantIntValue(shape[3]));
  SmallVector<TensorEmitter::Input> inputs = {{streams, {0, 1, 2, 3}}, {squares, {0, 1}}};
  if (weight)
    inputs.push_back({emit.splitDim(weight, 0, shape[2], shape[3]), {2, 3}});
  Value normed =
      emit.elementwise(shape, compute, inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
        Scalar y = args[0].to(compute) / sqrt(args[1] / count + eps);
        return args.size() > 2 ? y * args[2].to(compute) : y;
      });
  Value matrix = convertTensor(emit, projection, compute);
  return emit.contract(emit.joinDims(normed, 2), {0, 1, 3}, matrix, {2, 3},
                       {shape[0], shape[1], emit.shapeOf(matrix)[0]}, {0, 1, 2}, /*loops=*/4,
                       compute);
}

/// function(scales[number] z + base), with z of emitProjection and a base for each of its rows.
static Value emitScaled(TensorEmitter &emit, Value z, Value base, Value scales, int64_t number,
                        Type type, llvm::function_ref<Scalar(Scalar)> function) {
  Value scale = emit.extract(scales, {emit.getIndexAttr(number)}, {emit.getIndexAttr(1)},
                             /*dropped=*/1);
  return emit.elementwise(emit.shapeOf(z), type, {{z, {0, 1, 2}}, {base, {2}}, {scale, {}}},
                          [&](TensorEmitter &, ArrayRef<Scalar> args) {
                            Type compute = args[0].getType();
                            Scalar x = args[0] * args[2].to(compute) + args[1].to(compute);
                            return function(x).to(type);
                          });
}

/// sum_i weights_i streams_i, rounded.
static Value emitCollapse(TensorEmitter &emit, Value streams, Value weights, Type compute) {
  Shape shape = emit.shapeOf(streams);
  Shape outer = {shape[0], shape[1], shape[3]};
  Type element = getElementTypeOrSelf(streams);
  Value sums = emit.reduceLast(outer, compute, 0.0, {{streams, {0, 1, 3, 2}}, {weights, {0, 1, 3}}},
                               [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                 return args[2] + args[1].to(compute) * args[0].to(compute);
                               });
  return convertTensor(emit, sums, element);
}

namespace {

struct StreamMapsToLinalg : AttnToLinalgPattern<StreamMapsOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(StreamMapsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute = computeType(adaptor.getStreams()), f32 = emit.getF32Type();
    Value z = emitProjection(emit, adaptor.getStreams(), adaptor.getProjection(),
                             adaptor.getWeight(), op.getNormEps().convertToDouble(), compute);
    int64_t count = op.getNumStreams();
    bool isDeepseek = op.getForm() == StreamForm::DeepseekV4;
    Shape tokens = emit.shapeOf(z);
    /// Of `size` numbers from `first` on, with a scale of their own.
    auto part = [&](int64_t number, int64_t first, int64_t size, Type type,
                    llvm::function_ref<Scalar(Scalar)> function) {
      OpFoldResult zero = emit.getIndexAttr(0);
      OpFoldResult begin = emit.getIndexAttr(first), extent = emit.getIndexAttr(size);
      Shape shape = {tokens[0], tokens[1], extent};
      Value mine = emit.extract(z, {zero, zero, begin}, shape, 0);
      Value base = emit.extract(adaptor.getBase(), {begin}, {extent}, 0);
      return emitScaled(emit, mine, base, adaptor.getScale(), number, type, function);
    };
    Value pre = part(0, 0, count, f32, [&](Scalar x) {
      return isDeepseek ? sigmoid(x) + op.getEpsValue() : sigmoid(x);
    });
    Value post = part(1, count, count, f32, [](Scalar x) { return 2.0 * sigmoid(x); });
    Value logits = part(2, 2 * count, count * count, compute, [](Scalar x) { return x; });
    Value matrices = emit.splitDim(logits, 2, emit.getIndexAttr(count), emit.getIndexAttr(count));
    Value mixed = SinkhornOp::create(emit, op.getForm(), matrices, op.getRoundsAttr().getInt(),
                                     op.getEpsAttr());
    // Of deepseek_v4 it is [old, new].
    SmallVector<unsigned> order = isDeepseek ? Dims{0, 1, 3, 2} : Dims{0, 1, 2, 3};
    Value mix =
        emit.elementwise(emit.shapeOf(matrices), f32, {{mixed, order}},
                         [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(f32); });
    rewriter.replaceOp(op, {emit.castTo(pre, op.getPre().getType()),
                            emit.castTo(post, op.getPost().getType()),
                            emit.castTo(mix, op.getMix().getType())});
    return success();
  }
};

struct StreamCollapseToLinalg : AttnToLinalgPattern<StreamCollapseOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(StreamCollapseOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value output = emitCollapse(emit, adaptor.getStreams(), adaptor.getWeights(),
                                computeType(adaptor.getStreams()));
    rewriter.replaceOp(op, emit.castTo(output, op.getOutput().getType()));
    return success();
  }
};

struct StreamHeadToLinalg : AttnToLinalgPattern<StreamHeadOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(StreamHeadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute = computeType(adaptor.getStreams());
    Value z = emitProjection(emit, adaptor.getStreams(), adaptor.getProjection(), Value(),
                             op.getNormEps().convertToDouble(), compute);
    Value weights = emitScaled(emit, z, adaptor.getBase(), adaptor.getScale(), 0, compute,
                               [&](Scalar x) { return sigmoid(x) + op.getEpsValue(); });
    Value output = emitCollapse(emit, adaptor.getStreams(), weights, compute);
    rewriter.replaceOp(op, emit.castTo(output, op.getOutput().getType()));
    return success();
  }
};

struct StreamUpdateToLinalg : AttnToLinalgPattern<StreamUpdateOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(StreamUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Value streams = adaptor.getStreams();
    Type compute = computeType(streams), element = getElementTypeOrSelf(streams);
    Shape shape = emit.shapeOf(streams);
    // Loops: batch, token, new stream, channel, old stream.
    Value mixed = emit.reduceLast(shape, compute, 0.0,
                                  {{adaptor.getMix(), {0, 1, 2, 4}}, {streams, {0, 1, 4, 3}}},
                                  [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                    return args[2] + args[0].to(compute) * args[1].to(compute);
                                  });
    Value output = emit.elementwise(
        shape, element,
        {{mixed, {0, 1, 2, 3}}, {adaptor.getPost(), {0, 1, 2}}, {adaptor.getSublayer(), {0, 1, 3}}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) {
          return (args[1].to(compute) * args[2].to(compute) + args[0]).to(element);
        });
    rewriter.replaceOp(op, output);
    return success();
  }
};

} // namespace

void heddle::populateStreamsToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<SinkhornToLinalg, StreamMapsToLinalg, StreamCollapseToLinalg, StreamHeadToLinalg,
               StreamUpdateToLinalg>(patterns.getContext(), accumulate);
}
