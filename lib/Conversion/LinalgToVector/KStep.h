//===- KStep.h - what one step along k of a product holds -------*- C++ -*-===//
//
// A step is one element, converted to the accumulator's type, or a pair of neighbouring bf16 elements as they are:
//
//     step     memory                        one step of a register tile
//     f32      left [rows][1]                acc[r][c] += left[r] * right[c]
//              right [columns][1]
//     pair     left [rows][2]                acc[r][c] += left[r][0] * right[c][0] + left[r][1] * right[c][1]
//              right [columns][2]
//
// Pairs are handled as i32 until they are multiplied: packing, transposing and broadcasting them is that of single elements. The element
// behind an odd k's last one is 0.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_KSTEP_H
#define HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_KSTEP_H

#include "Contraction.h"

namespace heddle {

/// Whether steps are pairs.
bool multipliesPairs(const Contraction &c, const ContractionTile &tile);

class KStep {
public:
  KStep(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space, const ContractionTile &tile);

  /// k elements of a step: 1 or 2.
  int64_t size() const { return pairs ? 2 : 1; }
  /// Steps of all of k, and those that are whole.
  mlir::Value count() const { return steps; }
  mlir::Value wholeCount() const { return wholeSteps; }
  /// Type of a step in packed buffers.
  mlir::Type type() const { return stepType; }
  mlir::VectorType vector() const { return mlir::VectorType::get({lanes}, stepType); }

  /// Step number `step` of the row or column at `point`, whose k is not set; any strides. Loads nothing behind the end of k.
  mlir::Value load(mlir::Value operand, mlir::AffineMap map, llvm::SmallVector<mlir::Value> point,
                   mlir::Value step);
  /// The same for a whole step of an operand that is contiguous along k.
  mlir::Value loadWhole(mlir::Value operand, mlir::AffineMap map,
                        llvm::SmallVector<mlir::Value> point, mlir::Value step);
  /// `lanes` whole steps from `step` on, of an operand that is contiguous along k.
  mlir::Value loadAlongK(mlir::Value operand, mlir::AffineMap map,
                         llvm::SmallVector<mlir::Value> point, mlir::Value step);
  /// One whole step of `lanes` columns from `point` on, of rhs where it is contiguous along n.
  mlir::Value loadAlongN(llvm::SmallVector<mlir::Value> point, mlir::Value step);

  /// Fetches the line of step number `step`, which may lie behind the end.
  void prefetch(mlir::Value operand, mlir::AffineMap map, llvm::SmallVector<mlir::Value> point,
                mlir::Value step);

  mlir::Value broadcast(mlir::Value step);
  /// acc + x * y, vectors of steps and a vector of accumulators.
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value acc);
  /// A sum, or a vector of them, in the type in which it is stored.
  mlir::Value toResult(mlir::Value sum);
  /// A step of zeros.
  mlir::Value zero();

private:
  mlir::Value firstOf(mlir::Value step);

  mlir::ImplicitLocOpBuilder &b;
  IndexMath math;
  const Contraction &c;
  int64_t lanes;
  bool pairs;
  mlir::Type stepType;
  mlir::Value depth, steps, wholeSteps;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_KSTEP_H
