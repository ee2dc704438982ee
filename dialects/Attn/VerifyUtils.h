//===- VerifyUtils.h - shared parts of attn verifiers -----------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_ATTN_VERIFYUTILS_H
#define HEDDLE_DIALECTS_ATTN_VERIFYUTILS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/APFloat.h"
#include <optional>
#include <string>

namespace heddle::attn {

/// An operand together with the name it has in the operation's assembly.
struct NamedOperand {
  llvm::StringRef name;
  mlir::Value value;

  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  int64_t dim(unsigned index) const { return type().getDimSize(index); }
};

/// Whether two extents can be equal; a dynamic one agrees with everything.
bool dimsAgree(int64_t a, int64_t b);

/// The more precise of two extents that agree.
int64_t knownDim(int64_t a, int64_t b);

/// Reports an error unless dimension `dim` of `operand` agrees with dimension
/// `otherDim` of `other`.
llvm::LogicalResult verifySameDim(mlir::Operation *op, NamedOperand operand, unsigned dim,
                                  NamedOperand other, unsigned otherDim);

/// Reports an error unless each dimension of a bias or mask, if it is there, is 1 or the extent of
/// the scores.
llvm::LogicalResult verifyScoreOperand(mlir::Operation *op, NamedOperand operand,
                                       llvm::ArrayRef<int64_t> scores);

/// A number as it is written by hand, such as 0.5 or 1e-05.
std::string numberText(double value);

/// Reports an error unless `value` is finite and at least `low` (above `low`
/// if `exclusive`).
llvm::LogicalResult verifyNumber(mlir::Operation *op, llvm::StringRef name, double value,
                                 double low, bool exclusive);

/// Reports an error unless `window`, if it is there, has two values that are -1 or more.
llvm::LogicalResult verifyWindow(mlir::Operation *op,
                                 std::optional<llvm::ArrayRef<int64_t>> window);

/// Reports an error unless `scale` is finite, or absent with dimension 3 of query, `queryDim`, known and above 0: it gives the scale then.
llvm::LogicalResult verifyScale(mlir::Operation *op, std::optional<llvm::APFloat> scale,
                                int64_t queryDim);

/// The dimensions of `value` as attributes or `tensor.dim` operations.
llvm::SmallVector<mlir::OpFoldResult> dimsOf(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value value);

/// Adds the shape of a result, given its dimensions; extents that the result's type knows become attributes.
void addShape(mlir::OpBuilder &builder, mlir::ReifiedRankedShapedTypeDims &shapes,
              mlir::Value result, llvm::SmallVector<mlir::OpFoldResult> dims);

/// Whether types agree one by one: the same element type, and extents that can be equal.
bool areCompatibleTypes(mlir::TypeRange inferred, mlir::TypeRange actual);

} // namespace heddle::attn

#endif // HEDDLE_DIALECTS_ATTN_VERIFYUTILS_H
