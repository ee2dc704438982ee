//===- Packing.h - operands of products in the order of use -----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_PACKING_H
#define HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_PACKING_H

#include "KStep.h"

namespace heddle {

/// Rows of lhs or columns of rhs that lie side by side in a packed buffer, with their steps from a first one on. What is past the last
/// row or column repeats it, and is never looked at.
struct Panel {
  mlir::Value operand;
  mlir::AffineMap map;
  int64_t width;
  mlir::Value valid;     ///< rows or columns that there are; may exceed `width`
  mlir::Value firstStep; ///< along k
  /// The point of the i-th row or column, k not set.
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> point;
};

class PanelPacker {
public:
  PanelPacker(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
              const ContractionTile &tile)
      : b(b), math(b), space(space), tile(tile), step(b, space, tile) {}

  /// Packs `count` steps of the panel to buffer[prefix, step, row or column].
  void pack(const Panel &panel, mlir::Value count, mlir::Value buffer, mlir::ValueRange prefix);

  /// Steps of all of k, rounded up to a multiple.
  mlir::Value paddedCount(int64_t multiple);
  /// A buffer [batch][row panel][step][width] for `rows` rows of lhs, `steps` long.
  mlir::Value allocateLhs(int64_t width, mlir::Value rows, mlir::Value steps);
  /// Packs all of lhs to it, by all threads. Steps behind k's end become zeros.
  void packLhs(int64_t width, mlir::Value packed, mlir::Value steps);

private:
  void packAlongK(const Panel &panel, mlir::Value whole, mlir::Value buffer,
                  mlir::ValueRange prefix);
  void packAlongN(const Panel &panel, mlir::Value whole, mlir::Value buffer,
                  mlir::ValueRange prefix);
  void packScalars(const Panel &panel, mlir::Value begin, mlir::Value end, mlir::Value buffer,
                   mlir::ValueRange prefix);

  mlir::ImplicitLocOpBuilder &b;
  IndexMath math;
  const ContractionSpace &space;
  const ContractionTile &tile;
  KStep step;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_PACKING_H
