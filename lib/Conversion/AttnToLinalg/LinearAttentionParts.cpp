//===- LinearAttentionParts.cpp - operands of linear attention ------------===//

#include "LinearAttentionParts.h"
#include "ExtentChecks.h"

using namespace mlir;
using namespace heddle::attn;

namespace heddle {

LinearAttentionParts::LinearAttentionParts(TensorEmitter &emit, LinearAttentionOp op,
                                           LinearAttentionOp::Adaptor operands, Type compute)
    : op(op), operands(operands), compute(compute),
      sequences(emit, {"linear_attention", "query", operands.getQuery(), operands.getInitialState(),
                       operands.getCuSeqlens(), operands.getSlots()}) {
  Value query = operands.getQuery(), key = operands.getKey(), value = operands.getValue();
  auto requireLike = [&](StringRef name, Value tensor, unsigned dim, StringRef otherName,
                         Value other, unsigned otherDim) {
    requireEqualExtents(emit, "linear_attention", {name, dim, emit.sizeOf({{tensor, dim}})},
                        {otherName, otherDim, emit.sizeOf({{other, otherDim}})});
  };
  auto requireTokens = [&](StringRef name, Value tensor) {
    for (unsigned dim : {0, 1})
      requireLike(name, tensor, dim, "query", query, dim);
  };
  requireTokens("key", key);
  requireTokens("value", value);
  requireLike("key", key, 3, "query", query, 3);
  if (Value decay = operands.getDecay()) {
    int64_t rank = cast<RankedTensorType>(decay.getType()).getRank();
    if (rank > 1)
      requireTokens("decay", decay);
    if (rank == 4)
      requireLike("decay", decay, 3, "query", query, 3);
  }
  if (operands.getBeta())
    requireTokens("beta", operands.getBeta());
  if (Value state = operands.getInitialState()) {
    requireLike("initial_state", state, 2, "query", query, 3);
    requireLike("initial_state", state, 3, "value", value, 3);
  }
  if (Value normalizer = operands.getInitialNormalizer()) {
    requireEqualExtents(emit, "linear_attention",
                        {"initial_normalizer", 0, emit.sizeOf({{normalizer, 0}})},
                        {"initial_state", 0, sequences.states()});
    requireLike("initial_normalizer", normalizer, 2, "query", query, 3);
  }

  batch = emit.sizeOf({{query, 0}, {key, 0}, {value, 0}});
  tokens = emit.sizeOf({{query, 1}, {key, 1}, {value, 1}});
  keyDim = emit.sizeOf({{query, 3}, {key, 3}});
  valueDim = emit.sizeOf({{value, 3}});
  valueHeads = cast<RankedTensorType>(value.getType()).getDimSize(2);
  outputHeads = std::max(valueHeads, cast<RankedTensorType>(query.getType()).getDimSize(2));
}

SmallVector<Value> LinearAttentionParts::forEachSequence(TensorEmitter &emit, Run run) {
  OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
  OpFoldResult heads = emit.getIndexAttr(valueHeads);
  struct Carried {
    Value init;
    Type element;
    Shape rest; ///< extents of one state
  };
  auto carried = [&](Value initial, Value result, Shape rest) {
    Type element = getElementTypeOrSelf(result);
    Shape shape{sequences.states()};
    shape.append(rest);
    return Carried{initial ? initial : emit.filled(shape, element, 0.0), element, rest};
  };
  SmallVector<Carried> states = {
      carried(operands.getInitialState(), op.getFinalState(), {heads, keyDim, valueDim})};
  if (op.getNormalize())
    states.push_back(
        carried(operands.getInitialNormalizer(), op.getFinalNormalizer(), {heads, keyDim}));
  // What sequences that are skipped would write stays 0.
  Shape outputShape = {batch, tokens, emit.getIndexAttr(outputHeads), valueDim};
  Type outputType = getElementTypeOrSelf(op.getOutput());
  SmallVector<Value> inits;
  for (const Carried &each : states)
    inits.push_back(each.init);
  inits.push_back(sequences.haveSlots() ? emit.filled(outputShape, outputType, 0.0)
                                        : emit.empty(outputShape, outputType));

  ResultRange ends = sequences.forEach(
      emit, inits,
      [&](TensorEmitter &body, const Sequences::Sequence &sequence, ValueRange before) {
        auto place = [&](const Carried &each) {
          Shape offsets(each.rest.size() + 1, zero), sizes{one};
          offsets[0] = sequence.state;
          sizes.append(each.rest);
          return std::pair(offsets, sizes);
        };
        SmallVector<Value> own;
        for (auto [each, tensor] : llvm::zip_first(states, before)) {
          auto [offsets, sizes] = place(each);
          own.push_back(
              convertTensor(body, body.extract(tensor, offsets, sizes, /*dropped=*/1), compute));
        }
        own.push_back(before.back());
        SmallVector<Value> after = run(body, sequence, own);
        for (auto [each, tensor, state] : llvm::zip_first(states, before, after)) {
          auto [offsets, sizes] = place(each);
          state = body.insert(convertTensor(body, state, each.element), tensor, offsets, sizes);
        }
        return after;
      });
  SmallVector<Value> results{emit.castTo(ends.back(), op.getOutput().getType())};
  for (auto [end, result] : llvm::zip(ends.drop_back(), op->getResults().drop_front()))
    results.push_back(emit.castTo(end, result.getType()));
  return results;
}

Value LinearAttentionParts::forHeads(TensorEmitter &emit, Value rows, unsigned headDim,
                                     int64_t heads) const {
  Shape shape = emit.shapeOf(rows);
  int64_t given = cast<RankedTensorType>(rows.getType()).getDimSize(headDim);
  if (given == heads)
    return convertTensor(emit, rows, compute);
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    dims.push_back(dim <= headDim ? dim : dim + 1);
  shape.insert(shape.begin() + headDim + 1, emit.getIndexAttr(heads / given));
  Value repeated =
      emit.elementwise(shape, compute, {{rows, dims}},
                       [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(compute); });
  return emit.joinDims(repeated, headDim);
}

Value convertTensor(TensorEmitter &emit, Value tensor, Type type) {
  if (getElementTypeOrSelf(tensor) == type)
    return tensor;
  Shape shape = emit.shapeOf(tensor);
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
  return emit.elementwise(shape, type, {{tensor, all}},
                          [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(type); });
}

LogicalResult verifyStaticHeads(LinearAttentionOp op) {
  for (auto [name, operand] : {std::pair("query", op.getQuery()), std::pair("key", op.getKey()),
                               std::pair("value", op.getValue())})
    if (operand.getType().isDynamicDim(2))
      return op.emitOpError() << "expected a static number of " << name
                              << " heads to lower to linalg, " << name << " has type "
                              << operand.getType();
  return success();
}

} // namespace heddle
