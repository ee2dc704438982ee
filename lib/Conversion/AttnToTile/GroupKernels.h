//===- GroupKernels.h - builds the kernels of groups ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_GROUPKERNELS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_GROUPKERNELS_H

#include "KernelBuilder.h"
#include "ProjectionPlan.h"
#include "RowsPlan.h"

namespace heddle {

/// Each builds the kernel of a group, and at `host` its dispatch, whose results are the group's outputs.
tile::DispatchOp buildProjection(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host,
                                 const KernelGroup &group, const ProjectionPlan &plan,
                                 const KernelTarget &target);
tile::DispatchOp buildRows(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host,
                           const KernelGroup &group, const RowsPlan &plan);
tile::DispatchOp buildInterleavedRope(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host,
                                      attn::RopeOp op, const RowsPlan &plan);
tile::DispatchOp buildNorm(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host,
                           mlir::Operation *norm);
tile::DispatchOp buildAppend(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host,
                             attn::KvAppendOp op);

/// A tensor for a result of a group: empty, with the extents that the group's operations give it, or the cache that is updated.
mlir::Value createInit(mlir::ImplicitLocOpBuilder &host, const KernelGroup &group,
                       mlir::Value output);

/// The extent of a dimension of a value of the group, computed from what comes from outside.
mlir::Value extentOf(mlir::ImplicitLocOpBuilder &host, const KernelGroup &group, mlir::Value value,
                     int64_t dim);

/// Which rows of the caches an append writes, and the code that does it.
class CacheRows {
public:
  /// Dimension `rowDim` of `rows` counts the new rows of a sequence, if there can be more than one.
  CacheRows(KernelBuilder &kernel, attn::KvAppendOp op, mlir::Value rows, int64_t rowDim)
      : kernel(kernel), op(op), rows(rows), rowDim(rowDim) {}

  /// Stores a block of new rows, which lie `at` in the tensor of new rows [batch, new rows, heads, dim], to a cache. Rows past the
  /// last new row, and past the capacity, are not stored.
  void store(Part block, mlir::Value cache, mlir::RankedTensorType cacheType, const Placement &at,
             BlockShape shape);

private:
  /// New rows of one sequence, and the position of the first.
  struct Run {
    Index sequence, first, count;
  };
  void storeRun(mlir::Value tile, Run run, Index firstRow, mlir::Value cache,
                mlir::RankedTensorType cacheType, Index head);

  KernelBuilder &kernel;
  attn::KvAppendOp op;
  mlir::Value rows;
  int64_t rowDim;
};

/// Names of the operations, once each, for reports.
llvm::SmallVector<llvm::StringRef> opNames(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_GROUPKERNELS_H
