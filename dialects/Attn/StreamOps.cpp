//===- StreamOps.cpp - types and checks of residual streams ---------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

static LogicalResult verifyRounds(Operation *op, int64_t rounds) {
  if (rounds >= 1)
    return success();
  return op->emitOpError() << "expected rounds >= 1, got " << rounds;
}

/// `eps` is there in the form deepseek_v4 only.
static LogicalResult verifyEps(Operation *op, StreamForm form, std::optional<APFloat> eps) {
  if (!eps)
    return success();
  if (form != StreamForm::DeepseekV4)
    return op->emitOpError() << "expected eps only with deepseek_v4, got "
                             << stringifyStreamForm(form);
  return verifyNumber(op, "eps", eps->convertToDouble(), 0, /*exclusive=*/false);
}

/// Extents of the operands that make `rows` numbers of the streams of a token.
static LogicalResult verifyProjection(Operation *op, NamedOperand streams, NamedOperand projection,
                                      NamedOperand base, std::function<int64_t(int64_t)> rows) {
  int64_t count = streams.dim(2), width = streams.dim(3);
  if (ShapedType::isDynamic(count) || ShapedType::isDynamic(width) || count == 0)
    return op->emitOpError()
           << "expected a static number of streams > 0 and a static width, got type "
           << streams.type();
  auto expectDim = [&](NamedOperand operand, unsigned dim, int64_t extent) -> LogicalResult {
    if (dimsAgree(operand.dim(dim), extent))
      return success();
    return op->emitOpError() << "expected dimension " << dim << " of " << operand.name << " to be "
                             << extent << " with " << count << " streams of " << width << ", got "
                             << operand.dim(dim);
  };
  return failure(failed(expectDim(projection, 0, rows(count))) ||
                 failed(expectDim(projection, 1, count * width)) ||
                 failed(expectDim(base, 0, rows(count))));
}

//===----------------------------------------------------------------------===//
// SinkhornOp
//===----------------------------------------------------------------------===//

LogicalResult SinkhornOp::verify() {
  NamedOperand logits{"logits", getLogits()};
  int64_t rank = logits.type().getRank(), size = logits.dim(rank - 1);
  if (ShapedType::isDynamic(size) || size == 0 || logits.dim(rank - 2) != size)
    return emitOpError() << "expected square matrices of a static extent > 0, got type "
                         << logits.type();
  return failure(failed(verifyRounds(*this, getRounds())) ||
                 failed(verifyEps(*this, getForm(), getEps())));
}

LogicalResult SinkhornOp::reifyResultShapes(OpBuilder &builder,
                                            ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getLogits()));
  return success();
}

//===----------------------------------------------------------------------===//
// StreamMapsOp
//===----------------------------------------------------------------------===//

void StreamMapsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPre(), "pre");
  setName(getPost(), "post");
  setName(getMix(), "mix");
}

LogicalResult StreamMapsOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                             Adaptor adaptor, SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(adaptor.getStreams().getType()).getShape();
  Type f32 = Float32Type::get(context);
  auto vector = RankedTensorType::get({shape[0], shape[1], shape[2]}, f32);
  results.append(
      {vector, vector, RankedTensorType::get({shape[0], shape[1], shape[2], shape[2]}, f32)});
  return success();
}

bool StreamMapsOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult StreamMapsOp::verify() {
  NamedOperand streams{"streams", getStreams()}, scale{"scale", getScale()};
  if (failed(verifyProjection(*this, streams, {"projection", getProjection()}, {"base", getBase()},
                              [](int64_t n) { return (2 + n) * n; })))
    return failure();
  if (!dimsAgree(scale.dim(0), 3))
    return emitOpError() << "expected 3 elements of scale, got " << scale.dim(0);
  if (getWeight() &&
      failed(verifySameDim(*this, {"weight", getWeight()}, 0, {"projection", getProjection()}, 1)))
    return failure();
  return failure(failed(verifyRounds(*this, getRounds())) ||
                 failed(verifyNumber(*this, "norm_eps", getNormEps().convertToDouble(), 0,
                                     /*exclusive=*/false)) ||
                 failed(verifyEps(*this, getForm(), getEps())));
}

LogicalResult StreamMapsOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> dims = dimsOf(builder, getLoc(), getStreams());
  addShape(builder, shapes, getPre(), {dims[0], dims[1], dims[2]});
  addShape(builder, shapes, getPost(), {dims[0], dims[1], dims[2]});
  addShape(builder, shapes, getMix(), {dims[0], dims[1], dims[2], dims[2]});
  return success();
}

//===----------------------------------------------------------------------===//
// StreamCollapseOp and StreamHeadOp
//===----------------------------------------------------------------------===//

/// One stream of [B, L, n, C].
static RankedTensorType oneStream(Value streams) {
  auto type = cast<RankedTensorType>(streams.getType());
  return RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), type.getDimSize(3)},
                               type.getElementType());
}

static void addStreamShape(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes, Value streams,
                           Value output) {
  SmallVector<OpFoldResult> dims = dimsOf(builder, output.getLoc(), streams);
  addShape(builder, shapes, output, {dims[0], dims[1], dims[3]});
}

LogicalResult StreamCollapseOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(oneStream(adaptor.getStreams()));
  return success();
}

bool StreamCollapseOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

/// The first `count` dimensions of `operand` are those of the streams.
static LogicalResult verifyLeading(Operation *op, NamedOperand operand, NamedOperand streams,
                                   unsigned count) {
  for (unsigned dim = 0; dim < count; ++dim)
    if (failed(verifySameDim(op, operand, dim, streams, dim)))
      return failure();
  return success();
}

LogicalResult StreamCollapseOp::verify() {
  return verifyLeading(*this, {"weights", getWeights()}, {"streams", getStreams()}, 3);
}

LogicalResult StreamCollapseOp::reifyResultShapes(OpBuilder &builder,
                                                  ReifiedRankedShapedTypeDims &shapes) {
  addStreamShape(builder, shapes, getStreams(), getOutput());
  return success();
}

LogicalResult StreamHeadOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             Adaptor adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(oneStream(adaptor.getStreams()));
  return success();
}

bool StreamHeadOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult StreamHeadOp::verify() {
  NamedOperand scale{"scale", getScale()};
  if (failed(verifyProjection(*this, {"streams", getStreams()}, {"projection", getProjection()},
                              {"base", getBase()}, [](int64_t n) { return n; })))
    return failure();
  if (!dimsAgree(scale.dim(0), 1))
    return emitOpError() << "expected 1 element of scale, got " << scale.dim(0);
  return failure(
      failed(verifyNumber(*this, "norm_eps", getNormEps().convertToDouble(), 0, false)) ||
      failed(verifyNumber(*this, "eps", getEpsValue(), 0, /*exclusive=*/false)));
}

LogicalResult StreamHeadOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  addStreamShape(builder, shapes, getStreams(), getOutput());
  return success();
}

//===----------------------------------------------------------------------===//
// StreamUpdateOp
//===----------------------------------------------------------------------===//

LogicalResult StreamUpdateOp::verify() {
  NamedOperand streams{"streams", getStreams()}, sublayer{"sublayer", getSublayer()};
  NamedOperand mix{"mix", getMix()};
  return failure(failed(verifyLeading(*this, sublayer, streams, 2)) ||
                 failed(verifySameDim(*this, sublayer, 2, streams, 3)) ||
                 failed(verifyLeading(*this, {"post", getPost()}, streams, 3)) ||
                 failed(verifyLeading(*this, mix, streams, 3)) ||
                 failed(verifySameDim(*this, mix, 3, streams, 2)));
}

LogicalResult StreamUpdateOp::reifyResultShapes(OpBuilder &builder,
                                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getStreams()));
  return success();
}
