//===- AttentionOps.cpp - types and checks of softmax attention -----------===//

#include "AttentionForms.h"
#include "PatternKinds.h"
#include "ScoreRegion.h"
#include "VerifyUtils.h"
#include <cmath>

using namespace mlir;
using namespace heddle::attn;

//===----------------------------------------------------------------------===//
// Assembly of the result types: `type` or `(type, type, ...)`
//===----------------------------------------------------------------------===//

static ParseResult parseAttentionResultTypes(OpAsmParser &parser, Type &output,
                                             SmallVectorImpl<Type> &statistics) {
  if (failed(parser.parseOptionalLParen()))
    return parser.parseType(output);
  if (parser.parseType(output))
    return failure();
  while (succeeded(parser.parseOptionalComma()))
    if (parser.parseType(statistics.emplace_back()))
      return failure();
  return parser.parseRParen();
}

static void printAttentionResultTypes(OpAsmPrinter &printer, Operation *, Type output,
                                      TypeRange statistics) {
  if (statistics.empty()) {
    printer << output;
    return;
  }
  printer << '(' << output << ", " << statistics << ')';
}

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "output");
  for (auto [statistic, name] :
       {std::pair(getLse(), "lse"), std::pair(getMaxLogit(), "max"),
        std::pair(getSinkMass(), "sink_mass"), std::pair(getFirstKeyMass(), "first_key_mass")})
    if (statistic)
      setName(statistic, name);
}

//===----------------------------------------------------------------------===//
// Result types and shapes
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                            Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto query = cast<RankedTensorType>(adaptor.getQuery().getType());
  auto key = cast<RankedTensorType>(adaptor.getKey().getType());
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  int64_t batch = query.getDimSize(0);
  // Pages belong to no sequence.
  if (!adaptor.getBlockTable())
    batch = knownDim(batch, knownDim(key.getDimSize(0), value.getDimSize(0)));
  else if (!adaptor.getCuSeqlensQ())
    batch =
        knownDim(batch, cast<RankedTensorType>(adaptor.getBlockTable().getType()).getDimSize(0));
  int64_t queries = query.getDimSize(1), heads = query.getDimSize(2);
  results.push_back(
      RankedTensorType::get({batch, queries, heads, value.getDimSize(3)}, query.getElementType()));
  auto perRow = RankedTensorType::get({batch, heads, queries}, Float32Type::get(context));
  results.append(size_t(adaptor.getReturnLse()) + adaptor.getReturnMax() +
                     adaptor.getReturnSinkMass() + adaptor.getReturnFirstKeyMass(),
                 perRow);
  return success();
}

bool AttentionOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> query = dimsOf(builder, getLoc(), getQuery());
  SmallVector<OpFoldResult> value = dimsOf(builder, getLoc(), getValue());
  addShape(builder, shapes, getOutput(), {query[0], query[1], query[2], value[3]});
  for (Value statistic : getStatistics())
    addShape(builder, shapes, statistic, {query[0], query[2], query[1]});
  return success();
}

double AttentionOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 /
         std::sqrt(static_cast<double>(cast<RankedTensorType>(getQuery().getType()).getDimSize(3)));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyHeads(AttentionOp op, int64_t queryHeads, int64_t keyHeads) {
  if (keyHeads == 0)
    return op.emitOpError("expected at least one key head, got 0");
  if (queryHeads == 0)
    return op.emitOpError("expected at least one query head, got 0");
  if (ShapedType::isDynamic(queryHeads) || ShapedType::isDynamic(keyHeads) ||
      queryHeads % keyHeads == 0)
    return success();
  InFlightDiagnostic diag = op.emitOpError()
                            << "expected query heads (" << queryHeads
                            << ") to be a multiple of key heads (" << keyHeads << ")";
  diag.attachNote(op.getKey().getLoc()) << "key has type " << op.getKey().getType();
  return diag;
}

static LogicalResult verifyAttributes(AttentionOp op) {
  if (failed(verifyWindow(op, op.getWindow())))
    return failure();
  for (auto [name, value] : {std::pair("global_keys", op.getGlobalKeys()),
                             std::pair("attention_chunk", op.getAttentionChunk())})
    if (value && int64_t(*value) < 1)
      return op.emitOpError() << "expected " << name << " to be >= 1, got " << int64_t(*value);
  if (op.getSoftcap() && failed(verifyNumber(op, "softcap", op.getSoftcap()->convertToDouble(), 0,
                                             /*exclusive=*/true)))
    return failure();
  return verifyScale(op, op.getScale(), NamedOperand{"query", op.getQuery()}.dim(3));
}

LogicalResult AttentionOp::verify() {
  NamedOperand query{"query", getQuery()}, key{"key", getKey()}, value{"value", getValue()};
  // Neither pages nor packed rows of keys belong to a batch of queries.
  bool haveBatch = !getBlockTable() && !getCuSeqlensQ();
  if ((haveBatch && failed(verifySameDim(*this, key, 0, query, 0))) ||
      failed(verifySameDim(*this, key, 3, query, 3)) ||
      (haveBatch && failed(verifySameDim(*this, value, 0, query, 0))) ||
      failed(verifySameDim(*this, value, 0, key, 0)) ||
      failed(verifySameDim(*this, value, 1, key, 1)) ||
      failed(verifySameDim(*this, value, 2, key, 2)))
    return failure();
  int64_t keyHeads = knownDim(key.dim(2), value.dim(2));
  if (failed(verifyHeads(*this, query.dim(2), keyHeads)) || failed(verifyAttributes(*this)) ||
      failed(verifyForms(*this)))
    return failure();

  int64_t scores[] = {knownSequences(*this), query.dim(2), query.dim(1), knownKeys(*this)};
  if (failed(verifyScoreOperand(*this, {"bias", getBias()}, scores)) ||
      failed(verifyScoreOperand(*this, {"mask", getMask()}, scores)))
    return failure();
  if (getSinks() && failed(verifySameDim(*this, {"sinks", getSinks()}, 0, query, 2)))
    return failure();
  if (getReturnSinkMass() && !getSinks())
    return emitOpError("expected operand sinks, as return_sink_mass is set");
  if (getKvLen() && hasPlainKeys() &&
      failed(verifySameDim(*this, {"kv_len", getKvLen()}, 0, query, 0)))
    return failure();
  if (getAlibiSlopes()) {
    NamedOperand slopes{"alibi_slopes", getAlibiSlopes()};
    bool perBatch = slopes.type().getRank() == 2;
    if (failed(verifySameDim(*this, slopes, perBatch ? 1 : 0, query, 2)) ||
        (perBatch && !getCuSeqlensQ() && failed(verifySameDim(*this, slopes, 0, query, 0))))
      return failure();
  }
  return success();
}

#define GET_OP_CLASSES
#include "heddle/Dialect/Attn/AttnOps.cpp.inc"
