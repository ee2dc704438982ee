//===- LinearAttentionToLinalg.cpp - linear attention token by token ------===//
//
// The recurrence of the specification as a loop over the tokens of a sequence. It carries the state S [h, d, e], the normaliser z [h, d]
// and the output; h value head, g output head within it, d key channel, e value channel. One token:
//
//   1. S = e^g S                 in place, if there is a decay
//   2. u = v or beta (v - S^T k) [h, e]
//   3. S = S + k u^T             in place;  z = z + k
//   4. o = scale S^T q           [h, g, e], divided by scale z^T q + eps, rounded
//
// Without causality, a second loop over the tokens does step 4.
//
//===----------------------------------------------------------------------===//

#include "LinearAttentionParts.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

enum LoopDim : unsigned { h, g, e, d };

class Recurrence {
public:
  Recurrence(LinearAttentionParts &parts) : parts(parts), op(parts.op) {}

  /// The states and output behind all tokens of a sequence.
  SmallVector<Value> run(TensorEmitter &emit, const Sequences::Sequence &sequence,
                         ValueRange carried) const {
    auto steps = [&](ValueRange inits, bool updates, bool reads) {
      return forEachStep(
          emit, sequence.count, inits, [&](TensorEmitter &body, Value step, ValueRange before) {
            SmallVector<Value> now(before);
            Token token{sequence.batch, arith::AddIOp::create(body, sequence.first, step)};
            if (updates)
              update(body, token, now);
            if (reads)
              now.back() = read(body, token, now);
            return now;
          });
    };
    if (!op.getNonCausal())
      return SmallVector<Value>(steps(carried, /*updates=*/true, /*reads=*/true));
    ResultRange states = steps(carried, /*updates=*/true, /*reads=*/false);
    return SmallVector<Value>(steps(states, /*updates=*/false, /*reads=*/true));
  }

private:
  struct Token {
    Value batch, number;
  };

  /// The row of a token, [H] or [H, channels], in the type of the operand.
  Value row(TensorEmitter &emit, Value operand, const Token &token) const {
    Shape sizes = emit.shapeOf(operand), offsets(sizes.size(), emit.getIndexAttr(0));
    offsets[0] = token.batch;
    offsets[1] = token.number;
    sizes[0] = sizes[1] = emit.getIndexAttr(1);
    return emit.extract(operand, offsets, sizes, /*dropped=*/2);
  }

  Value key(TensorEmitter &emit, const Token &token) const {
    return parts.forHeads(emit, row(emit, parts.operands.getKey(), token), 0, parts.valueHeads);
  }

  /// The query as [h, g, d].
  Value query(TensorEmitter &emit, const Token &token) const {
    Value rows =
        parts.forHeads(emit, row(emit, parts.operands.getQuery(), token), 0, parts.outputHeads);
    return emit.splitDim(rows, 0, emit.getIndexAttr(parts.valueHeads),
                         emit.getIndexAttr(parts.readers()));
  }

  /// e^g as [h] or [h, d].
  Value decay(TensorEmitter &emit, const Token &token) const {
    Value given = parts.operands.getDecay();
    if (cast<RankedTensorType>(given.getType()).getRank() > 1)
      given = row(emit, given, token);
    Shape shape = emit.shapeOf(given);
    auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
    return emit.elementwise(
        shape, parts.compute, {{given, all}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return exp(args[0].to(parts.compute)); });
  }

  /// sum_d x[h, g, d] * state[h, d, e]
  Value readState(TensorEmitter &emit, Value rows, Value state, int64_t group) const {
    Shape shape = {emit.getIndexAttr(parts.valueHeads), emit.getIndexAttr(group), parts.valueDim};
    return emit.contract(rows, {h, g, d}, state, {h, d, e}, shape, {h, g, e}, /*loops=*/4,
                         parts.compute);
  }

  /// Steps 1 to 3 on `now`: state, normaliser, output.
  void update(TensorEmitter &emit, const Token &token, MutableArrayRef<Value> now) const {
    Value state = now.front(), keys = key(emit, token);
    if (op.isGated()) {
      Value factor = decay(emit, token);
      bool perChannel = cast<RankedTensorType>(factor.getType()).getRank() == 2;
      SmallVector<unsigned> dims = {0, 1};
      dims.truncate(perChannel ? 2 : 1);
      state = emit.update(state, {{factor, dims}},
                          [](TensorEmitter &, ArrayRef<Scalar> args) { return args[0] * args[1]; });
    }
    Value change = row(emit, parts.operands.getValue(), token);
    Type compute = parts.compute;
    if (op.isDelta()) {
      OpFoldResult one = emit.getIndexAttr(1);
      Value single = emit.splitDim(keys, 0, emit.getIndexAttr(parts.valueHeads), one);
      Value predicted = emit.joinDims(readState(emit, single, state, /*group=*/1), 0);
      Shape shape = {emit.getIndexAttr(parts.valueHeads), parts.valueDim};
      change = emit.elementwise(shape, compute,
                                {{change, {0, 1}},
                                 {predicted, {0, 1}},
                                 {row(emit, parts.operands.getBeta(), token), {0}}},
                                [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                  return args[2].to(compute) * (args[0].to(compute) - args[1]);
                                });
    }
    now.front() = emit.update(state, {{keys, {0, 1}}, {change, {0, 2}}},
                              [&](TensorEmitter &, ArrayRef<Scalar> args) {
                                return args[2] + args[0] * args[1].to(compute);
                              });
    if (op.getNormalize())
      now[1] = emit.update(now[1], {{keys, {0, 1}}}, [](TensorEmitter &, ArrayRef<Scalar> args) {
        return args[1] + args[0];
      });
  }

  /// Step 4: the output with the rows of this token.
  Value read(TensorEmitter &emit, const Token &token, ArrayRef<Value> now) const {
    Value rows = query(emit, token), output = now.back();
    Value sum = readState(emit, rows, now.front(), parts.readers());
    Shape shape = {emit.getIndexAttr(parts.valueHeads), emit.getIndexAttr(parts.readers()),
                   parts.valueDim};
    SmallVector<TensorEmitter::Input> inputs = {{sum, {0, 1, 2}}};
    if (op.getNormalize()) {
      Shape perHead(shape.begin(), shape.end() - 1);
      Value mass = emit.reduceLast(
          perHead, parts.compute, 0.0, {{rows, {0, 1, 2}}, {now[1], {0, 2}}},
          [](TensorEmitter &, ArrayRef<Scalar> args) { return args[2] + args[0] * args[1]; });
      inputs.push_back({mass, {0, 1}});
    }
    double scale = op.getScaleValue();
    Type element = getElementTypeOrSelf(output);
    Value scaled =
        emit.elementwise(shape, element, inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
          Scalar o = args[0] * scale;
          if (op.getNormalize())
            o = o / (args[1] * scale + op.getEps()->convertToDouble());
          return o.to(element);
        });
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    return emit.insert(emit.joinDims(scaled, 0), output, {token.batch, token.number, zero, zero},
                       {one, one, emit.getIndexAttr(parts.outputHeads), parts.valueDim});
  }

  LinearAttentionParts &parts;
  LinearAttentionOp &op;
};

struct LinearAttentionToLinalg : AttnToLinalgPattern<LinearAttentionOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(LinearAttentionOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute =
        computeType({adaptor.getQuery(), adaptor.getKey(), adaptor.getValue(), op.getFinalState()});
    LinearAttentionParts parts(emit, op, adaptor, compute);
    Recurrence recurrence(parts);
    rewriter.replaceOp(
        op, parts.forEachSequence(
                emit, [&](TensorEmitter &body, const Sequences::Sequence &sequence,
                          ValueRange carried) { return recurrence.run(body, sequence, carried); }));
    return success();
  }
};

} // namespace

void heddle::populateLinearAttentionToLinalg(RewritePatternSet &patterns,
                                             AccumulateType accumulate) {
  patterns.add<LinearAttentionToLinalg>(patterns.getContext(), accumulate);
}
