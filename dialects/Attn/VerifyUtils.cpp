//===- VerifyUtils.cpp - shared parts of attn verifiers -------------------===//

#include "VerifyUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;

namespace heddle::attn {

bool dimsAgree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

int64_t knownDim(int64_t a, int64_t b) { return ShapedType::isDynamic(a) ? b : a; }

LogicalResult verifySameDim(Operation *op, NamedOperand operand, unsigned dim, NamedOperand other,
                            unsigned otherDim) {
  if (dimsAgree(operand.dim(dim), other.dim(otherDim)))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected dimension " << dim << " of " << operand.name << " ("
                            << operand.dim(dim) << ") to equal dimension " << otherDim << " of "
                            << other.name << " (" << other.dim(otherDim) << ")";
  diag.attachNote(other.value.getLoc()) << other.name << " has type " << other.type();
  return diag;
}

LogicalResult verifyScoreOperand(Operation *op, NamedOperand operand, ArrayRef<int64_t> scores) {
  if (!operand.value)
    return success();
  for (auto [index, extent] : llvm::enumerate(scores)) {
    int64_t dim = operand.dim(index);
    if (dim == 1 || dimsAgree(dim, extent))
      continue;
    return op->emitOpError() << "expected dimension " << index << " of " << operand.name << " ("
                             << dim << ") to be 1 or " << extent;
  }
  return success();
}

std::string numberText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

LogicalResult verifyNumber(Operation *op, StringRef name, double value, double low,
                           bool exclusive) {
  auto fits = [&](double x) { return std::isfinite(x) && (exclusive ? x > low : x >= low); };
  // What is computed in f32 must not overflow, nor divide by 0: the value, with a factor of log2(e), and the inverse of what is no 0.
  bool isDouble = llvm::any_of(op->getOperandTypes(),
                               [](Type type) { return getElementTypeOrSelf(type).isF64(); });
  bool fitsAsSingle = fits(double(float(value))) && fits(double(float(2 * value))) &&
                      (!exclusive || low != 0 || fits(double(float(1 / value))));
  if (fits(value) && (isDouble || fitsAsSingle))
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "expected a finite " << name;
  if (std::isfinite(low))
    diag << (exclusive ? " > " : " >= ") << numberText(low);
  if (fits(value))
    diag << " in f32";
  return diag << ", got " << numberText(value);
}

LogicalResult verifyWindow(Operation *op, std::optional<ArrayRef<int64_t>> window) {
  if (!window)
    return success();
  if (window->size() != 2)
    return op->emitOpError() << "expected window to have 2 values (left, right), got "
                             << window->size();
  for (auto [side, value] : llvm::enumerate(*window))
    if (value < -1)
      return op->emitOpError() << "expected the " << (side == 0 ? "left" : "right")
                               << " value of window to be >= -1, got " << value;
  return success();
}

LogicalResult verifyScale(Operation *op, std::optional<APFloat> scale, int64_t queryDim) {
  if (scale)
    return verifyNumber(op, "scale", scale->convertToDouble(), -INFINITY, /*exclusive=*/true);
  if (!ShapedType::isDynamic(queryDim) && queryDim > 0)
    return success();
  return op->emitOpError() << "expected attribute scale, as dimension 3 of query is "
                           << (queryDim == 0 ? "0" : "dynamic");
}

SmallVector<OpFoldResult> dimsOf(OpBuilder &builder, Location loc, Value value) {
  return tensor::getMixedSizes(builder, loc, value);
}

void addShape(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes, Value result,
              SmallVector<OpFoldResult> dims) {
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [index, dim] : llvm::enumerate(dims))
    if (!type.isDynamicDim(index))
      dim = builder.getIndexAttr(type.getDimSize(index));
  shapes.push_back(std::move(dims));
}

bool areCompatibleTypes(TypeRange inferred, TypeRange actual) {
  if (inferred.size() != actual.size())
    return false;
  for (auto [a, b] : llvm::zip(inferred, actual))
    if (getElementTypeOrSelf(a) != getElementTypeOrSelf(b) || failed(verifyCompatibleShape(a, b)))
      return false;
  return true;
}

} // namespace heddle::attn
