//===- SharedBuffers.h - buffers for tiles of a kernel ----------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_SHAREDBUFFERS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_SHAREDBUFFERS_H

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/IR/Builders.h"

namespace heddle {

/// Makes buffers at the top of a kernel, one for each request.
class SharedBuffers {
public:
  explicit SharedBuffers(tile::KernelOp kernel) : kernel(kernel) {}

  /// A buffer of this shape and element type, swizzled for copies of rows and for ldmatrix where rows are multiples of 16 bytes; of rank 1,
  /// in order.
  mlir::TypedValue<tile_nv::BufferType> forOperand(mlir::Location loc, mlir::RankedTensorType type);

  /// Stores `tile` and loads it in another layout at the builder's insertion point. The buffer's layout is the one, of row-major and
  /// column-major with and without swizzle, in which both need the fewest passes over the banks. Reports layouts whose digits fit none.
  llvm::FailureOr<mlir::Value> exchange(mlir::OpBuilder &builder, mlir::Location loc,
                                        mlir::Value tile, tile::LayoutAttr layout);

private:
  mlir::TypedValue<tile_nv::BufferType> allocate(mlir::Location loc, mlir::RankedTensorType type,
                                                 const layout::Layout &layout);

  tile::KernelOp kernel;
  mlir::Operation *last = nullptr;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_SHAREDBUFFERS_H
