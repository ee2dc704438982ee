//===- LatentAttention.cpp - latent attention as softmax attention --------===//
//
// Both forms end in one attn.attention, whose key heads differ:
//
//   expanded   kv    = latent kv_up^T             [B, Lk, H, N + V]
//              key   = [kv[.., :N] | key_rope]    [B, Lk, H, N + P]
//              value = kv[.., N:]                 [B, Lk, H, V]
//              query = [query_nope | query_rope]  [B, Lq, H, N + P]
//
//   absorbed   query = [query_nope W_UK | query_rope]  [B, Lq, H, R + P]
//              key   = [latent | key_rope]             [B, Lk, 1, R + P]
//              value = latent                          [B, Lk, 1, R]
//              output = attention W_UV^T               [B, Lq, H, V]
//
// One query of many heads that share their keys is as many queries of one head, all
// of which see the same keys: then blocks of them are rows of one product.
//
// Index lists come first: query i gets rows of its own, those that the entries of its
// list name where lengths and positions let it see them, and a mask that is false for
// the others. Their rows are 0, so that nothing of what they could have held is read.
// The operation's own mask is looked up in the same places.
//
//===----------------------------------------------------------------------===//

#include "LatentAttention.h"
#include "ExtentChecks.h"
#include "Sequences.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

LogicalResult heddle::verifyStaticExtents(LatentAttentionOp op) {
  const std::pair<StringRef, int64_t> extents[] = {{"heads", op.getHeads()},
                                                   {"channels of query_nope", op.getNopeDim()},
                                                   {"channels of query_rope", op.getRopeDim()},
                                                   {"channels of kv_up", op.getLatentDim()},
                                                   {"channels of output", op.getValueDim()}};
  for (auto [name, extent] : extents)
    if (ShapedType::isDynamic(extent))
      return op.emitOpError() << "expected a static number of " << name
                              << " to lower to linalg, query_nope has type "
                              << op.getQueryNope().getType() << " and kv_up "
                              << op.getKvUp().getType();
  return success();
}

namespace {

/// So many heads have programs of their own for few queries, which share what they read of the keys.
constexpr int64_t mostHeadsOfOneQuery = 16;

/// The rows that queries attend to, and how much of them.
struct KeyRows {
  Value latent;  ///< [B, Lk, R] or [B, Lk, R + P]
  Value keyRope; ///< [B, Lk, P], or null
  Value mask;    ///< of an attention operation, or null
  Value kvLen;   ///< or null
  bool causal;   ///< besides mask and kvLen
};

class LatentEmitter {
public:
  LatentEmitter(TensorEmitter &emit, LatentAttentionOp op, LatentAttentionOp::Adaptor operands,
                LatentForm form, Type wide)
      : op(op), operands(operands), form(form), wide(wide), heads(op.getHeads()),
        nope(op.getNopeDim()), rope(op.getRopeDim()), rank(op.getLatentDim()),
        valueDim(op.getValueDim()) {
    auto isDouble = [](Value value) { return value && getElementTypeOrSelf(value).isF64(); };
    product = wide ? wide : emit.getF32Type();
    if (llvm::any_of(op->getOperands(), isDouble))
      product = emit.getF64Type();
    batch = emit.sizeOf({{operands.getQueryNope(), 0}, {operands.getLatent(), 0}});
    queries = emit.sizeOf({{operands.getQueryNope(), 1}});
    keys = emit.sizeOf({{operands.getLatent(), 1}});
  }

  SmallVector<Value> run(TensorEmitter &emit);

private:
  Shape sizes(ArrayRef<OpFoldResult> outer, std::initializer_list<int64_t> inner) {
    Shape shape(outer);
    for (int64_t extent : inner)
      shape.push_back(Builder(op.getContext()).getIndexAttr(extent));
    return shape;
  }
  void requireExtents(TensorEmitter &emit);
  SmallVector<Value> attend(TensorEmitter &emit, Value queryNope, Value queryRope,
                            const KeyRows &rows);
  SmallVector<Value> attendExpanded(TensorEmitter &emit, Value queryNope, Value queryRope,
                                    const KeyRows &rows);
  SmallVector<Value> attendAbsorbed(TensorEmitter &emit, Value queryNope, Value queryRope,
                                    const KeyRows &rows);
  SmallVector<Value> attention(TensorEmitter &emit, Value query, Value key, Value value,
                               const KeyRows &rows);
  SmallVector<Value> attendToSharedKeys(TensorEmitter &emit, Value query, Value key, Value value,
                                        const KeyRows &rows);
  SmallVector<Value> attendToLists(TensorEmitter &emit);
  Value gather(TensorEmitter &emit, Value rows, Value list, Value mask);
  Value visibleEntries(TensorEmitter &emit, Value list, Value query);
  Value maskOfEntries(TensorEmitter &emit, Value list, Value query, Value visible);

  Value channels(TensorEmitter &emit, Value tensor, int64_t first, int64_t count);
  Value concat(TensorEmitter &emit, Value first, Value second);
  Value round(TensorEmitter &emit, Value result, Type element);
  Value rowsOfUp(TensorEmitter &emit, int64_t first, int64_t count);

  LatentAttentionOp op;
  LatentAttentionOp::Adaptor operands;
  LatentForm form;
  Type wide, product;
  int64_t heads, nope, rope, rank, valueDim;
  OpFoldResult batch, queries, keys;
};

} // namespace

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

/// `count` channels of the last dimension from `first` on; a view.
Value LatentEmitter::channels(TensorEmitter &emit, Value tensor, int64_t first, int64_t count) {
  Shape shape = emit.shapeOf(tensor), offsets(shape.size(), emit.getIndexAttr(0));
  if (getConstantIntValue(shape.back()) == count)
    return tensor;
  offsets.back() = emit.getIndexAttr(first);
  shape.back() = emit.getIndexAttr(count);
  return emit.extract(tensor, offsets, shape, /*dropped=*/0);
}

/// Two tensors beside each other in the last dimension.
Value LatentEmitter::concat(TensorEmitter &emit, Value first, Value second) {
  Shape left = emit.shapeOf(first), right = emit.shapeOf(second), shape = left;
  Shape offsets(shape.size(), emit.getIndexAttr(0));
  int64_t before = *getConstantIntValue(left.back());
  shape.back() = emit.getIndexAttr(before + *getConstantIntValue(right.back()));
  Value whole = emit.empty(shape, getElementTypeOrSelf(first));
  whole = emit.insert(first, whole, offsets, left);
  offsets.back() = emit.getIndexAttr(before);
  return emit.insert(second, whole, offsets, right);
}

/// A product as it is stored: in the type `wide`, or else that of an operand.
Value LatentEmitter::round(TensorEmitter &emit, Value result, Type element) {
  if (wide || getElementTypeOrSelf(result) == element)
    return result;
  Shape shape = emit.shapeOf(result);
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, shape.size()));
  return emit.elementwise(
      shape, element, {{result, dims}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(element); });
}

/// W_UK or W_UV as [H, rows, R]; a view.
Value LatentEmitter::rowsOfUp(TensorEmitter &emit, int64_t first, int64_t count) {
  Value split = emit.splitDim(operands.getKvUp(), 0, emit.getIndexAttr(heads),
                              emit.getIndexAttr(nope + valueDim));
  return emit.extract(split, sizes({}, {0, first, 0}), sizes({}, {heads, count, rank}),
                      /*dropped=*/0);
}

//===----------------------------------------------------------------------===//
// The two forms
//===----------------------------------------------------------------------===//

/// The attention that both forms end in. Its operation is built without naming operands that it does not use.
SmallVector<Value> LatentEmitter::attention(TensorEmitter &emit, Value query, Value key,
                                            Value value, const KeyRows &rows) {
  Shape queryShape = emit.shapeOf(query);
  auto staticDim = [&](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  };
  int64_t ofBatch = staticDim(queryShape[0]), ofQueries = staticDim(queryShape[1]);
  int64_t heads = *getConstantIntValue(queryShape[2]);
  int64_t width = cast<RankedTensorType>(value.getType()).getDimSize(3);
  SmallVector<Type> types{
      RankedTensorType::get({ofBatch, ofQueries, heads, width}, getElementTypeOrSelf(query))};
  if (op.getReturnLse())
    types.push_back(RankedTensorType::get({ofBatch, heads, ofQueries}, emit.getF32Type()));
  OperationState state(emit.getLoc(), AttentionOp::getOperationName());
  state.addOperands({query, key, value});
  state.addTypes(types);
  state.addRegion();
  auto &segments = state.getOrAddProperties<AttentionOp::Properties>().operandSegmentSizes;
  segments[0] = segments[1] = segments[2] = 1;
  auto attention = cast<AttentionOp>(emit.create(state));
  attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  attention.setScaleAttr(emit.getF64FloatAttr(op.getScaleValue()));
  attention.setReturnLse(op.getReturnLse());
  attention.setCausal(rows.causal);
  if (rows.mask)
    attention.getMaskMutable().assign(rows.mask);
  if (rows.kvLen)
    attention.getKvLenMutable().assign(rows.kvLen);
  return llvm::to_vector_of<Value>(attention->getResults());
}

/// Attention with one key head.
SmallVector<Value> LatentEmitter::attendToSharedKeys(TensorEmitter &emit, Value query, Value key,
                                                     Value value, const KeyRows &rows) {
  auto type = cast<RankedTensorType>(query.getType());
  if (type.getDimSize(1) != 1 || heads <= mostHeadsOfOneQuery)
    return attention(emit, query, key, value, rows);
  // The last query sees all keys that mask and kvLen leave.
  KeyRows ofHeads = rows;
  ofHeads.causal = false;
  OpFoldResult one = emit.getIndexAttr(1), many = emit.getIndexAttr(heads);
  if (rows.mask) {
    bool isShared = cast<RankedTensorType>(rows.mask.getType()).getDimSize(1) == 1;
    ofHeads.mask = emit.splitDim(emit.joinDims(rows.mask, 1), 1, one, isShared ? one : many);
  }
  query = emit.splitDim(emit.joinDims(query, 1), 1, many, one);
  SmallVector<Value> results = attention(emit, query, key, value, ofHeads);
  results[0] = emit.splitDim(emit.joinDims(results[0], 1), 1, one, many);
  if (op.getReturnLse())
    results[1] = emit.splitDim(emit.joinDims(results[1], 1), 1, many, one);
  return results;
}

SmallVector<Value> LatentEmitter::attendExpanded(TensorEmitter &emit, Value queryNope,
                                                 Value queryRope, const KeyRows &rows) {
  enum : unsigned { b, j, o, r };
  Type element = getElementTypeOrSelf(rows.latent);
  OpFoldResult count = emit.sizeOf({{rows.latent, 1}});
  Value latent = channels(emit, rows.latent, 0, rank);
  Value projected = emit.contract(latent, {b, j, r}, operands.getKvUp(), {o, r},
                                  sizes({batch, count}, {heads * (nope + valueDim)}), {b, j, o},
                                  /*loops=*/4, product);
  Value kv = emit.splitDim(round(emit, projected, element), 2, emit.getIndexAttr(heads),
                           emit.getIndexAttr(nope + valueDim));
  Value key = channels(emit, kv, 0, nope), value = channels(emit, kv, nope, valueDim);
  if (rope == 0)
    return attention(emit, queryNope, key, value, rows);
  Value shared = rows.keyRope ? rows.keyRope : channels(emit, rows.latent, rank, rope);
  Type keyElement = getElementTypeOrSelf(key);
  Value perHead = emit.elementwise(
      sizes({batch, count}, {heads, rope}), keyElement, {{shared, {0, 1, 3}}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(keyElement); });
  return attention(emit, concat(emit, queryNope, queryRope), concat(emit, key, perHead), value,
                   rows);
}

SmallVector<Value> LatentEmitter::attendAbsorbed(TensorEmitter &emit, Value queryNope,
                                                 Value queryRope, const KeyRows &rows) {
  enum : unsigned { h, b, i, n, k };
  Type element = getElementTypeOrSelf(queryNope);
  OpFoldResult count = emit.sizeOf({{queryNope, 1}});
  Value query =
      emit.contract(queryNope, {b, i, h, k}, rowsOfUp(emit, 0, nope), {h, k, n},
                    sizes({batch, count}, {heads, rank}), {b, i, h, n}, /*loops=*/5, product);
  query = round(emit, query, element);
  Value row = rows.latent;
  if (rope != 0) {
    query = concat(emit, query, queryRope);
    if (rows.keyRope)
      row = concat(emit, row, rows.keyRope);
  }
  Value key = emit.splitDim(row, 2, emit.getIndexAttr(1), emit.getIndexAttr(rank + rope));
  SmallVector<Value> results =
      attendToSharedKeys(emit, query, key, channels(emit, key, 0, rank), rows);
  Value output =
      emit.contract(results[0], {b, i, h, k}, rowsOfUp(emit, nope, valueDim), {h, n, k},
                    sizes({batch, count}, {heads, valueDim}), {b, i, h, n}, /*loops=*/5, product);
  results[0] = round(emit, output, element);
  return results;
}

SmallVector<Value> LatentEmitter::attend(TensorEmitter &emit, Value queryNope, Value queryRope,
                                         const KeyRows &rows) {
  return form == LatentForm::Absorbed ? attendAbsorbed(emit, queryNope, queryRope, rows)
                                      : attendExpanded(emit, queryNope, queryRope, rows);
}

//===----------------------------------------------------------------------===//
// Index lists
//===----------------------------------------------------------------------===//

/// Whether the entries of one query's list are keys that lengths and positions let it see: [B, 1, 1, K]. `list` is [B, K], `query` the number of the query.
Value LatentEmitter::visibleEntries(TensorEmitter &emit, Value list, Value query) {
  OpFoldResult one = emit.getIndexAttr(1);
  Shape shape = {batch, one, one, emit.sizeOf({{list, 1}})};
  SmallVector<TensorEmitter::Input> inputs{{list, {0, 3}}};
  if (operands.getKvLen())
    inputs.push_back({operands.getKvLen(), {0}});
  Value allKeys = emit.asIndex(keys), allQueries = emit.asIndex(queries);
  return emit.elementwise(
      shape, emit.getI1Type(), inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Value key = body.toIndex(args[0]);
        Value length = operands.getKvLen() ? body.toIndex(args[1]) : allKeys;
        auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
          return arith::CmpIOp::create(body, predicate, a, b);
        };
        Value visible =
            arith::AndIOp::create(body, compare(arith::CmpIPredicate::sge, key, body.index(0)),
                                  compare(arith::CmpIPredicate::slt, key, length));
        if (op.getCausal()) {
          Value offset = arith::SubIOp::create(body, length, allQueries);
          Value position = arith::AddIOp::create(body, query, offset);
          visible = arith::AndIOp::create(body, visible,
                                          compare(arith::CmpIPredicate::sle, key, position));
        }
        return body.scalar(visible);
      });
}

/// What is `visible` of one query's list and true in the operation's mask: [B, 1 or H, 1, K].
Value LatentEmitter::maskOfEntries(TensorEmitter &emit, Value list, Value query, Value visible) {
  Value mask = operands.getMask();
  auto extents = cast<RankedTensorType>(mask.getType()).getShape();
  OpFoldResult one = emit.getIndexAttr(1);
  Shape shape = {batch, extents[1] == 1 ? one : emit.getIndexAttr(heads), one,
                 emit.sizeOf({{list, 1}})};
  Value flat = emit.joinDims(emit.joinDims(visible, 1), 1);
  return emit.elementwise(shape, emit.getI1Type(), {{list, {0, 3}}, {flat, {0, 3}}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            Value key = arith::SelectOp::create(
                                body, args[1], body.toIndex(args[0]), body.index(0));
                            Value indices[] = {linalg::IndexOp::create(body, 0),
                                               linalg::IndexOp::create(body, 1), query, key};
                            for (auto [index, extent] : llvm::zip_equal(indices, extents))
                              if (extent == 1)
                                index = body.index(0);
                            Value kept = tensor::ExtractOp::create(body, mask, indices);
                            return body.scalar(arith::AndIOp::create(body, args[1], kept));
                          });
}

/// The rows that a list [B, K] names where `mask` [B, 1, 1, K] is true, and zeros: [B, K, channels].
Value LatentEmitter::gather(TensorEmitter &emit, Value rows, Value list, Value mask) {
  Type element = getElementTypeOrSelf(rows);
  Shape shape = {batch, emit.sizeOf({{list, 1}}), emit.sizeOf({{rows, 2}})};
  Value flat = emit.joinDims(emit.joinDims(mask, 1), 1);
  return emit.elementwise(shape, element, {{list, {0, 1}}, {flat, {0, 1}}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            Value key = body.toIndex(args[0]);
                            Value read = arith::SelectOp::create(body, args[1], key, body.index(0));
                            Value indices[] = {linalg::IndexOp::create(body, 0), read,
                                               linalg::IndexOp::create(body, 2)};
                            Scalar found =
                                body.scalar(tensor::ExtractOp::create(body, rows, indices));
                            return select(args[1], found, found.constant(0.0));
                          });
}

SmallVector<Value> LatentEmitter::attendToLists(TensorEmitter &emit) {
  OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
  Value allKeys = emit.asIndex(keys);
  Value last = emit.createOrFold<arith::SubIOp>(allKeys, emit.index(1));
  if (operands.getKvLen())
    RequireRangeOp::create(emit, operands.getKvLen(), emit.index(0), allKeys, "kv_len");
  RequireRangeOp::create(emit, operands.getIndices(), emit.index(-1), last, "indices");
  // Row 0 stands for what a list does not name: without rows there are no entries.
  OpFoldResult entries = emit.sizeOf({{operands.getIndices(), 2}});
  if (!getConstantIntValue(keys) || *getConstantIntValue(keys) == 0) {
    Value none = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, allKeys, emit.index(0));
    entries = getAsOpFoldResult(
        arith::SelectOp::create(emit, none, emit.index(0), emit.asIndex(entries)).getResult());
  }

  SmallVector<Value> inits{emit.empty(sizes({batch, queries}, {heads, valueDim}),
                                      getElementTypeOrSelf(operands.getQueryNope()))};
  if (op.getReturnLse())
    inits.push_back(emit.empty({batch, emit.getIndexAttr(heads), queries}, emit.getF32Type()));
  ResultRange results = forEachStep(
      emit, emit.asIndex(queries), inits,
      [&](TensorEmitter &body, Value query, ValueRange carried) {
        Shape at = {zero, query, zero, zero};
        auto ofQuery = [&](Value tensor, int64_t channels) {
          return tensor ? body.extract(tensor, at, sizes({batch, one}, {heads, channels}), 0)
                        : Value();
        };
        Value list = tensor::ExtractSliceOp::create(
            body,
            RankedTensorType::get({getConstantIntValue(batch).value_or(ShapedType::kDynamic),
                                   getConstantIntValue(entries).value_or(ShapedType::kDynamic)},
                                  body.getI32Type()),
            operands.getIndices(), Shape{zero, query, zero}, Shape{batch, one, entries},
            Shape{one, one, one});
        Value visible = visibleEntries(body, list, query);
        auto gatherIf = [&](Value rows) {
          return rows ? gather(body, rows, list, visible) : Value();
        };
        Value mask = operands.getMask() ? maskOfEntries(body, list, query, visible) : visible;
        KeyRows rows{gatherIf(operands.getLatent()), gatherIf(operands.getKeyRope()), mask,
                     /*kvLen=*/Value(), /*causal=*/false};
        SmallVector<Value> found = attend(body, ofQuery(operands.getQueryNope(), nope),
                                          ofQuery(operands.getQueryRope(), rope), rows);
        SmallVector<Value> next{
            body.insert(found[0], carried[0], at, sizes({batch, one}, {heads, valueDim}))};
        if (op.getReturnLse())
          next.push_back(body.insert(found[1], carried[1], {zero, zero, query},
                                     {batch, body.getIndexAttr(heads), one}));
        return next;
      });
  return llvm::to_vector_of<Value>(results);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// What no single operation below ties together.
void LatentEmitter::requireExtents(TensorEmitter &emit) {
  auto require = [&](StringRef name, Value tensor, unsigned dim, StringRef other, Value like,
                     unsigned otherDim) {
    if (tensor)
      requireEqualExtents(emit, "latent_attention", {name, dim, emit.sizeOf({{tensor, dim}})},
                          {other, otherDim, emit.sizeOf({{like, otherDim}})});
  };
  Value query = operands.getQueryNope(), latent = operands.getLatent();
  require("latent", latent, 0, "query_nope", query, 0);
  require("kv_len", operands.getKvLen(), 0, "query_nope", query, 0);
  for (unsigned dim : {0, 1}) {
    require("query_rope", operands.getQueryRope(), dim, "query_nope", query, dim);
    require("indices", operands.getIndices(), dim, "query_nope", query, dim);
    require("key_rope", operands.getKeyRope(), dim, "latent", latent, dim);
  }
  Value mask = operands.getMask();
  auto requireUnlessBroadcast = [&](unsigned dim, StringRef other, Value like, unsigned otherDim) {
    if (mask && cast<RankedTensorType>(mask.getType()).getDimSize(dim) != 1)
      require("mask", mask, dim, other, like, otherDim);
  };
  requireUnlessBroadcast(0, "query_nope", query, 0);
  requireUnlessBroadcast(1, "query_nope", query, 2);
  requireUnlessBroadcast(2, "query_nope", query, 1);
  requireUnlessBroadcast(3, "latent", latent, 1);
}

SmallVector<Value> LatentEmitter::run(TensorEmitter &emit) {
  requireExtents(emit);
  if (operands.getIndices())
    return attendToLists(emit);
  KeyRows rows{operands.getLatent(), operands.getKeyRope(), operands.getMask(), operands.getKvLen(),
               op.getCausal()};
  return attend(emit, operands.getQueryNope(), operands.getQueryRope(), rows);
}

SmallVector<Value> heddle::emitLatentAttention(TensorEmitter &emit, LatentAttentionOp op,
                                               LatentAttentionOp::Adaptor operands, LatentForm form,
                                               Type wide) {
  SmallVector<Value> results =
      LatentEmitter(emit, op, operands, wide ? LatentForm::Expanded : form, wide).run(emit);
  for (auto [value, result] : llvm::zip_equal(results, op->getResults()))
    value = emit.castTo(value, result.getType());
  return results;
}
