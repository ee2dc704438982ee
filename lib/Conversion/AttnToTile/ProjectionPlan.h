//===- ProjectionPlan.h - how a group becomes a projection ------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_PROJECTIONPLAN_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_PROJECTIONPLAN_H

#include "BlockRules.h"
#include "heddle/Target/GPUChips.h"

namespace heddle {

/// Products whose columns a program computes side by side, since an output needs them all. Segments follow each other in the grid.
struct ProjectionSegment {
  llvm::SmallVector<WeightProduct> products;
  llvm::SmallVector<mlir::Value> outputs;
  /// The type that the products' factors are multiplied in: theirs, or f32 if they differ, since the left one is the same tile.
  mlir::Type factorType() const;

  /// Columns of a head, where outputs are made of whole heads; then a block of columns is one. 0 otherwise.
  int64_t headDim = 0;
};

struct ProjectionPlan {
  /// Nothing if no kernel can compute the group.
  static std::optional<ProjectionPlan> of(const KernelGroup &group);

  /// The left factor of all products, in the group or from outside.
  mlir::Value lhs;
  /// The norm that computes it, if there is one.
  attn::RmsNormOp norm;
  /// A tensor from outside with the rows of `lhs`.
  mlir::Value anchor;
  /// Dimension of `anchor` that blocks of rows are cut from.
  int64_t rowDim = 0;
  llvm::SmallVector<ProjectionSegment> segments;
};

/// Extents of the tiles of a projection's kernel, and how it is compiled.
struct ProjectionForm {
  /// Of one segment. The table is for GPUs; CPUs run the same kernels. A chip with little shared memory has fewer stages.
  static ProjectionForm choose(const ProjectionPlan &plan, const ProjectionSegment &segment,
                               const GPUChip *chip = nullptr);

  int64_t rows, columns, depth;
  int64_t warps, stages;
};

/// The dimension of a tensor that blocks of rows are cut from: the last but one that has more than one row.
int64_t chooseRowDim(mlir::RankedTensorType type);

/// Wider heads have no kernel.
constexpr int64_t largestProjectedHead = 512;

/// The rows that an append writes for one of its results; any other value itself.
mlir::Value appendedRows(mlir::Value output);

/// The kinds of the dimensions that count rows, then `last`.
PlaceKinds rowPlaces(int64_t leading, int64_t rowDim, llvm::ArrayRef<PlaceKind> last);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_PROJECTIONPLAN_H
