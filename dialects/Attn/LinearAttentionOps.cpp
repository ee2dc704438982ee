//===- LinearAttentionOps.cpp - types and checks of linear attention ------===//

#include "StateOperands.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include <cmath>

using namespace mlir;
using namespace heddle::attn;

template <typename OpOrAdaptor> static StateOperands stateOperands(OpOrAdaptor op) {
  return {{"query", op.getQuery()}, op.getInitialState(), op.getCuSeqlens(), op.getSlots()};
}

//===----------------------------------------------------------------------===//
// Result types and shapes
//===----------------------------------------------------------------------===//

void LinearAttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "output");
  setName(getFinalState(), "final_state");
  if (getFinalNormalizer())
    setName(getFinalNormalizer(), "final_normalizer");
}

LogicalResult LinearAttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto query = cast<RankedTensorType>(adaptor.getQuery().getType());
  auto key = cast<RankedTensorType>(adaptor.getKey().getType());
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  auto tokens = [&](unsigned dim) {
    return knownDim(query.getDimSize(dim), knownDim(key.getDimSize(dim), value.getDimSize(dim)));
  };
  int64_t heads = value.getDimSize(2), queryHeads = query.getDimSize(2);
  bool isDynamic = ShapedType::isDynamic(heads) || ShapedType::isDynamic(queryHeads);
  int64_t outputHeads = isDynamic ? ShapedType::kDynamic : std::max(heads, queryHeads);
  int64_t keyDim = knownDim(query.getDimSize(3), key.getDimSize(3));
  results.push_back(RankedTensorType::get({tokens(0), tokens(1), outputHeads, value.getDimSize(3)},
                                          query.getElementType()));
  Type element =
      value.getElementType().isF64() ? value.getElementType() : Type(Float32Type::get(context));
  int64_t states = stateOperands(adaptor).states();
  results.push_back(
      adaptor.getInitialState()
          ? adaptor.getInitialState().getType()
          : RankedTensorType::get({states, heads, keyDim, value.getDimSize(3)}, element));
  if (adaptor.getNormalize())
    results.push_back(adaptor.getInitialNormalizer()
                          ? adaptor.getInitialNormalizer().getType()
                          : RankedTensorType::get({states, heads, keyDim}, element));
  return success();
}

bool LinearAttentionOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult LinearAttentionOp::reifyResultShapes(OpBuilder &builder,
                                                   ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> query = dimsOf(builder, getLoc(), getQuery());
  SmallVector<OpFoldResult> value = dimsOf(builder, getLoc(), getValue());
  OpFoldResult outputHeads = query[2];
  if (cast<RankedTensorType>(getOutput().getType()).isDynamicDim(2)) {
    auto asValue = [&](OpFoldResult size) {
      return getValueOrCreateConstantIndexOp(builder, getLoc(), size);
    };
    outputHeads =
        builder.createOrFold<arith::MaxSIOp>(getLoc(), asValue(query[2]), asValue(value[2]));
  }
  addShape(builder, shapes, getOutput(), {query[0], query[1], outputHeads, value[3]});
  OpFoldResult sequences = sequenceCount(builder, getLoc(), stateOperands(*this));
  addShape(builder, shapes, getFinalState(),
           getInitialState() ? dimsOf(builder, getLoc(), getInitialState())
                             : SmallVector<OpFoldResult>{sequences, value[2], query[3], value[3]});
  if (getFinalNormalizer())
    addShape(builder, shapes, getFinalNormalizer(),
             getInitialNormalizer() ? dimsOf(builder, getLoc(), getInitialNormalizer())
                                    : SmallVector<OpFoldResult>{sequences, value[2], query[3]});
  return success();
}

double LinearAttentionOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  auto query = cast<RankedTensorType>(getQuery().getType());
  auto key = cast<RankedTensorType>(getKey().getType());
  return 1.0 / std::sqrt(double(knownDim(query.getDimSize(3), key.getDimSize(3))));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyHeads(LinearAttentionOp op, int64_t queryHeads, int64_t keyHeads,
                                 int64_t valueHeads) {
  for (auto [name, heads] :
       {std::pair("query", queryHeads), std::pair("key", keyHeads), std::pair("value", valueHeads)})
    if (heads == 0)
      return op.emitOpError() << "expected at least one " << name << " head, got 0";
  bool keyKnown = !ShapedType::isDynamic(keyHeads), valueKnown = !ShapedType::isDynamic(valueHeads);
  if (keyKnown && valueKnown && valueHeads % keyHeads != 0)
    return op.emitOpError() << "expected value heads (" << valueHeads
                            << ") to be a multiple of key heads (" << keyHeads << ")";
  if (keyKnown && valueKnown && !ShapedType::isDynamic(queryHeads) && queryHeads != keyHeads &&
      queryHeads % valueHeads != 0)
    return op.emitOpError() << "expected query heads (" << queryHeads << ") to equal key heads ("
                            << keyHeads << ") or to be a multiple of value heads (" << valueHeads
                            << ")";
  return success();
}

/// Which operands and attributes go with which rule.
static LogicalResult verifyRule(LinearAttentionOp op) {
  StringRef rule = stringifyLinearRule(op.getRule());
  for (auto [name, operand, belongs] : {std::tuple("decay", Value(op.getDecay()), op.isGated()),
                                        std::tuple("beta", Value(op.getBeta()), op.isDelta())}) {
    if (belongs && !operand)
      return op.emitOpError() << "expected operand " << name << " with rule " << rule;
    if (!belongs && operand)
      return op.emitOpError() << "expected no operand " << name << " with rule " << rule;
  }
  for (auto [name, given] :
       {std::pair("normalize", op.getNormalize()), std::pair("non_causal", op.getNonCausal())})
    if (given && op.getRule() != LinearRule::Linear)
      return op.emitOpError() << "expected " << name << " only with rule linear, got " << rule;
  if (op.getNormalize() && !op.getEps())
    return op.emitOpError("expected attribute eps, as normalize is set");
  if (!op.getNormalize() && op.getEps())
    return op.emitOpError("expected attribute eps only with normalize");
  if (!op.getNormalize() && op.getInitialNormalizer())
    return op.emitOpError("expected operand initial_normalizer only with normalize");
  if (op.getNormalize() && op.getSlots() && !op.getInitialNormalizer())
    return op.emitOpError("expected operand initial_normalizer, as there are slots");
  if (op.getEps())
    return verifyNumber(op, "eps", op.getEps()->convertToDouble(), 0, /*exclusive=*/true);
  return success();
}

/// decay is [Hv], [B, T, Hv] or [B, T, Hv, dk].
static LogicalResult verifyDecay(LinearAttentionOp op, NamedOperand key, NamedOperand value) {
  NamedOperand decay{"decay", op.getDecay()};
  if (decay.type().getRank() == 1)
    return verifySameDim(op, decay, 0, value, 2);
  for (unsigned dim : {0, 1, 2})
    if (failed(verifySameDim(op, decay, dim, value, dim)))
      return failure();
  return decay.type().getRank() == 4 ? verifySameDim(op, decay, 3, key, 3) : success();
}

LogicalResult LinearAttentionOp::verify() {
  NamedOperand query{"query", getQuery()}, key{"key", getKey()}, value{"value", getValue()};
  for (unsigned dim : {0, 1})
    if (failed(verifySameDim(*this, key, dim, query, dim)) ||
        failed(verifySameDim(*this, value, dim, query, dim)) ||
        failed(verifySameDim(*this, value, dim, key, dim)))
      return failure();
  if (failed(verifySameDim(*this, key, 3, query, 3)))
    return failure();
  for (const NamedOperand &operand : {query, key, value})
    if (operand.dim(3) == 0)
      return emitOpError() << "expected dimension 3 of " << operand.name
                           << " to be positive, got 0";
  if (failed(verifyHeads(*this, query.dim(2), key.dim(2), value.dim(2))) ||
      failed(verifyRule(*this)) ||
      failed(verifyScale(*this, getScale(), knownDim(query.dim(3), key.dim(3)))) ||
      (getDecay() && failed(verifyDecay(*this, key, value))))
    return failure();
  if (getBeta())
    for (unsigned dim : {0, 1, 2})
      if (failed(verifySameDim(*this, {"beta", getBeta()}, dim, value, dim)))
        return failure();

  StateOperands operands = stateOperands(*this);
  if (failed(verifyStateOperands(*this, operands)))
    return failure();
  if (getInitialState()) {
    NamedOperand state{"initial_state", getInitialState()};
    if (failed(verifyStateCount(*this, operands, state)) ||
        failed(verifySameDim(*this, state, 1, value, 2)) ||
        failed(verifySameDim(*this, state, 2, key, 3)) ||
        failed(verifySameDim(*this, state, 3, value, 3)))
      return failure();
  }
  if (!getInitialNormalizer())
    return success();
  NamedOperand normalizer{"initial_normalizer", getInitialNormalizer()};
  if (failed(verifyStateCount(*this, operands, normalizer)) ||
      failed(verifySameDim(*this, normalizer, 1, value, 2)) ||
      failed(verifySameDim(*this, normalizer, 2, key, 3)))
    return failure();
  return getSlots() ? verifySameDim(*this, normalizer, 0, {"initial_state", getInitialState()}, 0)
                    : success();
}
