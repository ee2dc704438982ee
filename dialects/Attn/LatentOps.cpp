//===- LatentOps.cpp - types and checks of latent attention ---------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"
#include <cmath>

using namespace mlir;
using namespace heddle::attn;

//===----------------------------------------------------------------------===//
// Extents and result types
//===----------------------------------------------------------------------===//

static int64_t dimOf(Value tensor, unsigned dim) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
}

/// V, given the rows of kv_up; dynamic unless they are a multiple of H that leaves some for values.
static int64_t valueDimOf(int64_t heads, int64_t nope, int64_t rows) {
  bool known = llvm::none_of(ArrayRef{heads, nope, rows}, ShapedType::isDynamic);
  if (!known || heads < 1 || rows % heads != 0 || rows / heads <= nope)
    return ShapedType::kDynamic;
  return rows / heads - nope;
}

int64_t LatentAttentionOp::getHeads() {
  int64_t heads = dimOf(getQueryNope(), 2);
  return getQueryRope() ? knownDim(heads, dimOf(getQueryRope(), 2)) : heads;
}

int64_t LatentAttentionOp::getNopeDim() { return dimOf(getQueryNope(), 3); }

int64_t LatentAttentionOp::getRopeDim() {
  if (!getQueryRope())
    return 0;
  int64_t rope = dimOf(getQueryRope(), 3);
  return getKeyRope() ? knownDim(rope, dimOf(getKeyRope(), 2)) : rope;
}

int64_t LatentAttentionOp::getLatentDim() {
  int64_t rank = dimOf(getKvUp(), 1), row = dimOf(getLatent(), 2), rope = getRopeDim();
  if (getKeyRope() || !getQueryRope())
    return knownDim(rank, row);
  bool known = !ShapedType::isDynamic(row) && !ShapedType::isDynamic(rope);
  return knownDim(rank, known ? row - rope : ShapedType::kDynamic);
}

int64_t LatentAttentionOp::getValueDim() {
  int64_t known = valueDimOf(getHeads(), getNopeDim(), dimOf(getKvUp(), 0));
  return knownDim(known, dimOf(getOutput(), 3));
}

double LatentAttentionOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getNopeDim() + getRopeDim()));
}

void LatentAttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "output");
  if (getLse())
    setName(getLse(), "lse");
}

LogicalResult LatentAttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto query = cast<RankedTensorType>(adaptor.getQueryNope().getType());
  int64_t batch = knownDim(query.getDimSize(0), dimOf(adaptor.getLatent(), 0));
  int64_t queries = query.getDimSize(1), heads = query.getDimSize(2);
  if (Value rope = adaptor.getQueryRope()) {
    queries = knownDim(queries, dimOf(rope, 1));
    heads = knownDim(heads, dimOf(rope, 2));
  }
  int64_t value = valueDimOf(heads, query.getDimSize(3), dimOf(adaptor.getKvUp(), 0));
  results.push_back(RankedTensorType::get({batch, queries, heads, value}, query.getElementType()));
  if (adaptor.getReturnLse())
    results.push_back(RankedTensorType::get({batch, heads, queries}, Float32Type::get(context)));
  return success();
}

bool LatentAttentionOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

LogicalResult LatentAttentionOp::reifyResultShapes(OpBuilder &builder,
                                                   ReifiedRankedShapedTypeDims &shapes) {
  int64_t value = getValueDim();
  if (ShapedType::isDynamic(value))
    return failure();
  SmallVector<OpFoldResult> query = dimsOf(builder, getLoc(), getQueryNope());
  addShape(builder, shapes, getOutput(),
           {query[0], query[1], query[2], builder.getIndexAttr(value)});
  if (getLse())
    addShape(builder, shapes, getLse(), {query[0], query[2], query[1]});
  return success();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifySameElement(Operation *op, NamedOperand operand, NamedOperand other) {
  if (operand.type().getElementType() == other.type().getElementType())
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected the element type of " << operand.name << " ("
                            << operand.type().getElementType() << ") to be that of " << other.name
                            << " (" << other.type().getElementType() << ")";
  diag.attachNote(other.value.getLoc()) << other.name << " has type " << other.type();
  return diag;
}

/// The channels of a row of `latent`: R, or R + P.
static LogicalResult verifyLatentRow(LatentAttentionOp op, NamedOperand latent, NamedOperand kvUp) {
  if (op.getKeyRope() || !op.getQueryRope())
    return verifySameDim(op, latent, 2, kvUp, 1);
  int64_t rope = dimOf(op.getQueryRope(), 3), rank = kvUp.dim(1), row = latent.dim(2);
  if (llvm::any_of(ArrayRef{rope, rank, row}, ShapedType::isDynamic) || row == rank + rope)
    return success();
  return op.emitOpError() << "expected dimension 2 of latent (" << row << ") to be " << rank
                          << " channels of kv_up and " << rope
                          << " of query_rope, as there is no key_rope";
}

static LogicalResult verifyUpRows(LatentAttentionOp op) {
  int64_t heads = op.getHeads(), nope = op.getNopeDim(), rows = dimOf(op.getKvUp(), 0);
  if (heads == 0)
    return op.emitOpError("expected at least one head, got 0");
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(rows))
    return success();
  if (rows % heads != 0)
    return op.emitOpError() << "expected rows of kv_up (" << rows << ") to be a multiple of heads ("
                            << heads << ")";
  if (!ShapedType::isDynamic(nope) && rows / heads <= nope)
    return op.emitOpError() << "expected more rows of kv_up for a head (" << rows / heads
                            << ") than query_nope has channels (" << nope << ")";
  return success();
}

LogicalResult LatentAttentionOp::verify() {
  NamedOperand query{"query_nope", getQueryNope()}, latent{"latent", getLatent()},
      kvUp{"kv_up", getKvUp()}, queryRope{"query_rope", getQueryRope()},
      keyRope{"key_rope", getKeyRope()}, indices{"indices", getIndices()};
  if (getExpanded() && getAbsorbed())
    return emitOpError("expected at most one of expanded and absorbed");
  if (getKeyRope() && !getQueryRope())
    return emitOpError("expected operand query_rope, as there is key_rope");
  if (failed(verifySameDim(*this, latent, 0, query, 0)))
    return failure();
  if (getQueryRope()) {
    for (unsigned dim : {0, 1, 2})
      if (failed(verifySameDim(*this, queryRope, dim, query, dim)))
        return failure();
    if (failed(verifySameElement(*this, queryRope, query)))
      return failure();
  }
  if (getKeyRope() && (failed(verifySameDim(*this, keyRope, 0, query, 0)) ||
                       failed(verifySameDim(*this, keyRope, 1, latent, 1)) ||
                       failed(verifySameDim(*this, keyRope, 2, queryRope, 3)) ||
                       failed(verifySameElement(*this, keyRope, latent))))
    return failure();
  if (failed(verifyLatentRow(*this, latent, kvUp)) || failed(verifyUpRows(*this)))
    return failure();
  int64_t scores[] = {query.dim(0), getHeads(), query.dim(1), latent.dim(1)};
  if (failed(verifyScoreOperand(*this, {"mask", getMask()}, scores)))
    return failure();
  if (getKvLen() && failed(verifySameDim(*this, {"kv_len", getKvLen()}, 0, query, 0)))
    return failure();
  if (getIndices() && (failed(verifySameDim(*this, indices, 0, query, 0)) ||
                       failed(verifySameDim(*this, indices, 1, query, 1))))
    return failure();
  if (getScale())
    return verifyNumber(*this, "scale", getScale()->convertToDouble(),
                        -std::numeric_limits<double>::infinity(), /*exclusive=*/true);
  int64_t nope = getNopeDim(), rope = getRopeDim();
  if (ShapedType::isDynamic(nope) || ShapedType::isDynamic(rope))
    return emitOpError() << "expected attribute scale, as dimension 3 of "
                         << (ShapedType::isDynamic(nope) ? "query_nope" : "query_rope")
                         << " is dynamic";
  if (nope + rope == 0)
    return emitOpError("expected attribute scale, as queries have no channels");
  return success();
}
