//===- ShapeOps.cpp - tiles of another shape or layout --------------------===//

#include "TileShapes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::tile;

static LogicalResult verifySameElement(Operation *op, Type input, Type result) {
  if (input == result)
    return success();
  return op->emitOpError() << "expected a result of the input's element type (" << input
                           << "), got " << result;
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  if (failed(verifySameElement(*this, input.getElementType(), result.getElementType())) ||
      failed(verifyAlong(*this, getAlong(), result.getRank())))
    return failure();
  RankedTensorType expected = withoutDim(result, getAlong());
  if (expected.getShape() != input.getShape())
    return emitOpError() << "expected the result without dimension " << getAlong() << " (" << result
                         << ") to have the shape of the input (" << input << ")";
  LayoutAttr layout = layoutOf(input), expectedLayout = layoutOf(expected);
  if (layout && expectedLayout && layout != expectedLayout)
    return emitOpError() << "expected the input's layout to be that of the result without "
                            "dimension "
                         << getAlong() << " (" << expectedLayout << "), got " << layout;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  return resizedSplat(adaptor.getInput(), getType());
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  Attribute encoding;
  if (LayoutAttr layout = layoutOf(input))
    encoding = layout.transposed();
  types.push_back(RankedTensorType::get({input.getDimSize(1), input.getDimSize(0)},
                                        input.getElementType(), encoding));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (OpFoldResult constant = resizedSplat(adaptor.getInput(), getType()))
    return constant;
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (inner && inner.getInput().getType() == getType())
    return inner.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  ArrayRef<int64_t> offsets = getOffsets();
  if (failed(verifySameElement(*this, input.getElementType(), result.getElementType())))
    return failure();
  if (result.getRank() != input.getRank())
    return emitOpError() << "expected a result of the input's rank (" << input.getRank()
                         << "), got " << result;
  if (int64_t(offsets.size()) != input.getRank())
    return emitOpError() << "expected " << input.getRank() << " offsets, got " << offsets.size();
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    int64_t last = input.getDimSize(dim) - result.getDimSize(dim);
    if (last < 0)
      return emitOpError() << "expected extent " << dim << " of the result ("
                           << result.getDimSize(dim) << ") to be at most that of the input ("
                           << input.getDimSize(dim) << ")";
    if (offset < 0 || offset > last)
      return emitOpError() << "expected 0 <= offset " << dim << " <= " << last << ", got "
                           << offset;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return resizedSplat(adaptor.getInput(), getType());
}

/// The input of `concat` that holds the whole slice; its offset is subtracted from `offsets`.
static Value holderOfSlice(SliceOp slice, ConcatOp concat, SmallVectorImpl<int64_t> &offsets) {
  int64_t along = concat.getAlong(), begin = 0;
  for (Value input : concat.getInputs()) {
    int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(along);
    int64_t offset = offsets[along] - begin;
    if (offset >= 0 && offset + slice.getType().getDimSize(along) <= extent) {
      offsets[along] = offset;
      return input;
    }
    begin += extent;
  }
  return {};
}

LogicalResult SliceOp::canonicalize(SliceOp op, PatternRewriter &rewriter) {
  SmallVector<int64_t> offsets(op.getOffsets());
  Value source;
  if (auto inner = op.getInput().getDefiningOp<SliceOp>()) {
    source = inner.getInput();
    for (auto [offset, innerOffset] : llvm::zip(offsets, inner.getOffsets()))
      offset += innerOffset;
  } else if (auto concat = op.getInput().getDefiningOp<ConcatOp>()) {
    source = holderOfSlice(op, concat, offsets);
  }
  if (!source)
    return rewriter.notifyMatchFailure(op,
                                       "the input is no slice, and no tile that holds it whole");
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), source, offsets);
  return success();
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  RankedTensorType result = getType();
  int64_t along = getAlong(), extent = 0;
  if (getInputs().empty())
    return emitOpError() << "expected at least 1 input, got 0";
  if (failed(verifyAlong(*this, along, result.getRank())))
    return failure();
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> expected(result.getShape());
    if (type.getRank() == result.getRank())
      expected[along] = type.getDimSize(along);
    if (type.getShape() != ArrayRef(expected) || type.getElementType() != result.getElementType())
      return emitOpError() << "expected input " << index << " to differ from the result (" << result
                           << ") only in dimension " << along << ", got " << type;
    extent += type.getDimSize(along);
  }
  if (extent != result.getDimSize(along))
    return emitOpError() << "expected dimension " << along << " of the result ("
                         << result.getDimSize(along) << ") to be the sum of those of the inputs ("
                         << extent << ")";
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return {};
}

//===----------------------------------------------------------------------===//
// IotaOp
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() { return verifyAlong(*this, getAlong(), getType().getRank()); }

LogicalResult IotaOp::canonicalize(IotaOp op, PatternRewriter &rewriter) {
  if (!op.getStart() || !matchPattern(op.getStart(), m_Zero()))
    return rewriter.notifyMatchFailure(op, "the start is not known to be 0");
  rewriter.modifyOpInPlace(op, [&] { op.getStartMutable().clear(); });
  return success();
}

//===----------------------------------------------------------------------===//
// ConvertLayoutOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  if (input.getShape() == result.getShape() && input.getElementType() == result.getElementType())
    return success();
  return emitOpError() << "expected types that differ at most in their encodings, got " << input
                       << " and " << result;
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return resizedSplat(adaptor.getInput(), getType());
}

LogicalResult ConvertLayoutOp::canonicalize(ConvertLayoutOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ConvertLayoutOp>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "the input is not converted");
  rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner.getInput()); });
  return success();
}
