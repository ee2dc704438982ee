//===- ComputeOps.cpp - products, reductions, scans, triangular systems ---===//

#include "TileShapes.h"
#include "heddle/Dialect/Tile/Tile.h"

using namespace mlir;
using namespace heddle::tile;

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

/// The element type of the accumulator for operands of this type; null if there is none.
static Type accumulatorType(Type operand) {
  MLIRContext *context = operand.getContext();
  if (operand.isF16() || operand.isBF16() || operand.isF32())
    return Float32Type::get(context);
  if (operand.isF64())
    return operand;
  if (operand.isSignlessInteger(8))
    return IntegerType::get(context, 32);
  return {};
}

static LogicalResult verifySameExtent(Operation *op, const char *what, StringRef name,
                                      int64_t extent, StringRef otherName, int64_t otherExtent) {
  if (extent == otherExtent)
    return success();
  return op->emitOpError() << "expected " << what << " of " << name << " (" << extent
                           << ") to equal that of " << otherName << " (" << otherExtent << ")";
}

LogicalResult heddle::tile::verifyDotTypes(Operation *op, RankedTensorType a, RankedTensorType b,
                                           RankedTensorType acc, bool transposeA, bool transposeB,
                                           DotPrecision precision) {
  unsigned aRows = transposeA ? 1 : 0, bRows = transposeB ? 1 : 0;
  if (failed(verifySameExtent(op, "K", "b", b.getDimSize(bRows), "a", a.getDimSize(1 - aRows))) ||
      failed(verifySameExtent(op, "M", "acc", acc.getDimSize(0), "a", a.getDimSize(aRows))) ||
      failed(verifySameExtent(op, "N", "acc", acc.getDimSize(1), "b", b.getDimSize(1 - bRows))))
    return failure();

  Type element = a.getElementType();
  Type accElement = accumulatorType(element);
  if (!accElement)
    return op->emitOpError() << "expected operands of f16, bf16, f32, f64 or i8, got " << element;
  if (b.getElementType() != element)
    return op->emitOpError() << "expected b to have the element type of a (" << element << "), got "
                             << b.getElementType();
  if (acc.getElementType() != accElement)
    return op->emitOpError() << "expected acc to have elements of " << accElement
                             << " for operands of " << element << ", got " << acc.getElementType();
  if (precision != DotPrecision::IEEE && !element.isF32())
    return op->emitOpError() << "expected precision " << stringifyDotPrecision(precision)
                             << " only with operands of f32, got " << element;
  return success();
}

LogicalResult DotOp::verify() {
  return verifyDotTypes(*this, getA().getType(), getB().getType(), getAcc().getType(),
                        getTransposeA(), getTransposeB(), getPrecision());
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t along = adaptor.getAlong();
  if (along < 0 || along >= input.getRank())
    return emitOptionalError(location, "'tile.reduce' op expected 0 <= along < ", input.getRank(),
                             ", got ", along);
  types.push_back(withoutDim(input, along));
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  bool keepsEqual = getKind() == CombiningKind::Max || getKind() == CombiningKind::Min ||
                    getInput().getType().getDimSize(getAlong()) == 1;
  if (!keepsEqual)
    return {};
  if (OpFoldResult constant = resizedSplat(adaptor.getInput(), getType()))
    return constant;
  auto broadcast = getInput().getDefiningOp<BroadcastOp>();
  if (broadcast && broadcast.getAlong() == getAlong() &&
      broadcast.getInput().getType() == getType())
    return broadcast.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  if (getType().getElementType().isSignlessInteger(1))
    return emitOpError() << "expected elements other than i1, got " << getType();
  return verifyAlong(*this, getAlong(), getType().getRank());
}

OpFoldResult ScanOp::fold(FoldAdaptor) {
  if (getMode() == ScanMode::Inclusive && getType().getDimSize(getAlong()) == 1)
    return getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// SolveTriangularOp
//===----------------------------------------------------------------------===//

LogicalResult SolveTriangularOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getDimSize(0) != a.getDimSize(1))
    return emitOpError() << "expected a to be square, got " << a;
  if (b.getDimSize(0) != a.getDimSize(0))
    return emitOpError() << "expected as many rows in b (" << b.getDimSize(0) << ") as in a ("
                         << a.getDimSize(0) << ")";
  if (b.getElementType() != a.getElementType())
    return emitOpError() << "expected b to have the element type of a (" << a.getElementType()
                         << "), got " << b.getElementType();
  return success();
}
