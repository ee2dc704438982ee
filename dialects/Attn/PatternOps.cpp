//===- PatternOps.cpp - types and checks of pattern scores ----------------===//

#include "PatternKinds.h"
#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"
#include <cmath>

using namespace mlir;
using namespace heddle::attn;

//===----------------------------------------------------------------------===//
// Assembly of the patterns: `[sink, local_window]`
//===----------------------------------------------------------------------===//

ParseResult heddle::attn::parsePatterns(OpAsmParser &parser, ArrayAttr &patterns) {
  SmallVector<Attribute> kinds;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        StringRef keyword;
        SMLoc location = parser.getCurrentLocation();
        if (parser.parseKeyword(&keyword))
          return failure();
        std::optional<PatternKind> kind = symbolizePatternKind(keyword);
        if (!kind)
          return parser.emitError(location) << "unknown pattern '" << keyword << "'";
        kinds.push_back(PatternKindAttr::get(parser.getContext(), *kind));
        return success();
      }))
    return failure();
  patterns = ArrayAttr::get(parser.getContext(), kinds);
  return success();
}

void heddle::attn::printPatterns(OpAsmPrinter &printer, Operation *, ArrayAttr patterns) {
  printer << '[';
  llvm::interleaveComma(patterns.getAsRange<PatternKindAttr>(), printer, [&](PatternKindAttr kind) {
    printer << stringifyPatternKind(kind.getValue());
  });
  printer << ']';
}

SmallVector<PatternKind> PatternScoresOp::getPatternKinds() {
  SmallVector<PatternKind> kinds;
  for (auto kind : getPatterns().getAsRange<PatternKindAttr>())
    kinds.push_back(kind.getValue());
  return kinds;
}

double PatternScoresOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(double(cast<RankedTensorType>(getQuery().getType()).getDimSize(3)));
}

//===----------------------------------------------------------------------===//
// Result types and shapes
//===----------------------------------------------------------------------===//

LogicalResult PatternScoresOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto query = cast<RankedTensorType>(adaptor.getQuery().getType());
  auto key = cast<RankedTensorType>(adaptor.getKey().getType());
  int64_t batch = knownDim(query.getDimSize(0), key.getDimSize(0)), heads = query.getDimSize(2);
  Type f32 = Float32Type::get(context);
  results.append(adaptor.getPatterns().size(), RankedTensorType::get({batch, heads}, f32));
  if (adaptor.getReturnRows())
    results.append(adaptor.getPatterns().size(),
                   RankedTensorType::get({batch, heads, query.getDimSize(1)}, f32));
  return success();
}

bool PatternScoresOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult PatternScoresOp::reifyResultShapes(OpBuilder &builder,
                                                 ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> query = dimsOf(builder, getLoc(), getQuery());
  for (auto [number, output] : llvm::enumerate(getOutputs()))
    if (number < getPatterns().size())
      addShape(builder, shapes, output, {query[0], query[2]});
    else
      addShape(builder, shapes, output, {query[0], query[2], query[1]});
  return success();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyPatternHeads(PatternScoresOp op, NamedOperand query, NamedOperand key) {
  for (NamedOperand operand : {query, key}) {
    if (ShapedType::isDynamic(operand.dim(2)))
      return op.emitOpError() << "expected a static number of heads of " << operand.name
                              << ", got type " << operand.type();
    if (operand.dim(2) == 0)
      return op.emitOpError() << "expected at least one head of " << operand.name << ", got 0";
  }
  if (query.dim(2) % key.dim(2) == 0)
    return success();
  return op.emitOpError() << "expected query heads (" << query.dim(2)
                          << ") to be a multiple of key heads (" << key.dim(2) << ")";
}

/// What each pattern needs besides query and key.
static LogicalResult verifyPatterns(PatternScoresOp op) {
  SmallVector<PatternKind> kinds = op.getPatternKinds();
  if (kinds.empty())
    return op.emitOpError() << "expected at least one pattern";
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    StringRef name = stringifyPatternKind(kind);
    if (llvm::is_contained(ArrayRef(kinds).take_front(number), kind))
      return op.emitOpError() << "expected each pattern once, got " << name << " twice";
    bool needsTokens = kind == PatternKind::DuplicateToken || kind == PatternKind::InductionToken;
    if (needsTokens && !op.getTokens())
      return op.emitOpError() << "expected operand tokens with pattern " << name;
    if (kind == PatternKind::LearnedSink && !op.getSinks())
      return op.emitOpError() << "expected operand sinks with pattern " << name;
    if (kind == PatternKind::LocalWindow && !op.getLocal())
      return op.emitOpError() << "expected attribute local with pattern " << name;
    if (kind == PatternKind::InductionDiagonal && !op.getBlock())
      return op.emitOpError() << "expected attribute block with pattern " << name;
  }
  for (auto [name, attribute, low] :
       {std::tuple("local", op.getLocal(), 1), std::tuple("block", op.getBlock(), 1),
        std::tuple("first", op.getFirst(), 0)})
    if (attribute && int64_t(*attribute) < low)
      return op.emitOpError() << "expected " << name << " >= " << low << ", got "
                              << int64_t(*attribute);
  return success();
}

static LogicalResult verifyScoreAttributes(PatternScoresOp op) {
  if (failed(verifyWindow(op, op.getWindow())))
    return failure();
  if (op.getSoftcap() && failed(verifyNumber(op, "softcap", op.getSoftcap()->convertToDouble(), 0,
                                             /*exclusive=*/true)))
    return failure();
  return verifyScale(op, op.getScale(), NamedOperand{"query", op.getQuery()}.dim(3));
}

LogicalResult PatternScoresOp::verify() {
  NamedOperand query{"query", getQuery()}, key{"key", getKey()};
  if (failed(verifySameDim(*this, key, 0, query, 0)) ||
      failed(verifySameDim(*this, key, 3, query, 3)) ||
      failed(verifyPatternHeads(*this, query, key)) || failed(verifyPatterns(*this)) ||
      failed(verifyScoreAttributes(*this)))
    return failure();
  if (getTokens()) {
    NamedOperand tokens{"tokens", getTokens()};
    unsigned rank = tokens.type().getRank();
    if (failed(verifySameDim(*this, tokens, rank - 1, key, 1)) ||
        (rank == 2 && failed(verifySameDim(*this, tokens, 0, key, 0))))
      return failure();
  }
  if (getSinks() && failed(verifySameDim(*this, {"sinks", getSinks()}, 0, query, 2)))
    return failure();
  if (getKvLen() && failed(verifySameDim(*this, {"kv_len", getKvLen()}, 0, query, 0)))
    return failure();
  return success();
}
