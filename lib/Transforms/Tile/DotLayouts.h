//===- DotLayouts.h - how products are spread over warps --------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_DOTLAYOUTS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_DOTLAYOUTS_H

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Layout/MmaPlan.h"

namespace heddle {

/// How the threads of a CTA compute one product.
struct DotPlan {
  bool usesMma; ///< matrix instructions; else multiply-adds of operands in shared memory
  int k, bits;  ///< of the instruction and its inputs
  layout::MmaTiling tiling;

  /// The layout of acc and result. Without matrix instructions it is the same.
  tile::LayoutAttr accumulator(mlir::MLIRContext *context) const;
  /// The layout of `a` in registers, as the tile is stored (K x M with transpose_a). Of the two orders of K that inputs of 32 bits
  /// admit it is the instruction's.
  tile::LayoutAttr operandA(tile::DotOp op) const;
  /// The same with the order in which an accumulator holds its columns; null if there is no choice.
  tile::LayoutAttr operandAInOrderOfAccumulator(tile::DotOp op) const;
};

/// Warps lie along M as far as M / 16 goes, the others along N. Reports extents that do not fill the fragments.
llvm::FailureOr<DotPlan> planDot(tile::DotOp op, int64_t warps);

/// Whether matrix instructions take these operands.
bool usesMatrixInstructions(mlir::Type operand, tile::DotPrecision precision);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_DOTLAYOUTS_H
