//===- LoopUtils.h - index arithmetic shared by the lowerings ---*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_LOOPUTILS_H
#define HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_LOOPUTILS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// Short forms for index arithmetic at the builder's insertion point. Constants fold, so that static extents cost nothing.
struct IndexMath {
  explicit IndexMath(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value floorDiv(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, int64_t y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value lessEqual(mlir::Value x, mlir::Value y);
  mlir::Value product(mlir::ValueRange factors);

  /// The coordinates of point `linear` in a row-major space of the given extents.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, mlir::ValueRange extents);

  mlir::ImplicitLocOpBuilder &b;
};

/// The extent of each loop of `op`, read from the operands' shapes.
llvm::SmallVector<mlir::Value> loopExtents(mlir::ImplicitLocOpBuilder &b,
                                           mlir::linalg::LinalgOp op);

/// Builds `scf.for %i = lo to hi step s { body(%i) }` without results.
void buildFor(mlir::ImplicitLocOpBuilder &b, mlir::Value lo, mlir::Value hi, mlir::Value step,
              llvm::function_ref<void(mlir::Value)> body);

/// Builds `scf.forall (%t) in (tasks) { body(%t) }`, marked as a loop over tasks.
void buildTasks(mlir::ImplicitLocOpBuilder &b, mlir::Value tasks,
                llvm::function_ref<void(mlir::Value)> body);

/// Builds `scf.if cond { then() } else { otherwise() }`.
void buildIf(mlir::ImplicitLocOpBuilder &b, mlir::Value cond, llvm::function_ref<void()> then,
             llvm::function_ref<void()> otherwise = nullptr);

/// `value` converted to the float type `type`; scalars and vectors.
mlir::Value convertFloat(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Type elementType);

/// Emits an error at `op` unless every option is positive and `lanes` is a power of two.
mlir::LogicalResult verifyTileOptions(mlir::Operation *op, int64_t lanes,
                                      llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> others);

/// The two shuffles by which stage d of a transposition swaps the off-diagonal d x d blocks of every 2d x 2d block: of rows i and i + d,
/// the first gives the new row i and the second the new row i + d.
std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<int64_t>> transposeStage(int64_t size,
                                                                                 int64_t d);

/// Transposes a square of values, one vector a row, a power of two of them.
void transposeSquare(mlir::ImplicitLocOpBuilder &b, llvm::MutableArrayRef<mlir::Value> rows);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_LOOPUTILS_H
