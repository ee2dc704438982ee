//===- Placement.h - where a block lies in a tensor -------------*- C++ -*-===//
//
// A program computes a block of rows and columns. In a tensor of any rank, a block is given by one place for each dimension: an index
// that fixes it, or the first row, or the first column. With blocks of 32 rows, head h of rows 64 .. 95 of sequence b is
//
//   [batch, seq, heads, dim]     { Fixed b, Row 64, Fixed h, Column 0 }
//   [batch, seq, heads * dim]    { Fixed b, Row 64, Column h * dim }
//   [dim]                        { Column 0 }
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_PLACEMENT_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_PLACEMENT_H

#include "heddle/Conversion/AttnToTile/TileEmitter.h"

namespace heddle {

enum class PlaceKind { Fixed, Row, Column };

struct Place {
  PlaceKind kind;
  Index at;
  /// Dimensions of tensors with the same number have the same extent; -1 says nothing.
  int loop = -1;
};

using Placement = llvm::SmallVector<Place, 4>;

/// Extents of the tiles that a block consists of.
struct BlockShape {
  int64_t rows, columns;
};

/// A block of a tensor as a value: a matrix, or less where all rows or all columns are equal.
struct Part {
  mlir::Value value;
  bool hasRows, hasColumns;

  bool isScalar() const { return !hasRows && !hasColumns; }
};

/// A view of a tensor's block, and where in the view it starts.
struct BlockView {
  mlir::Value view;
  llvm::SmallVector<mlir::Value, 2> first;
  bool hasRows, hasColumns;
  /// The view's rows are the block's columns.
  bool isTransposed;
};

/// The view of `memref`, whose extents `type` may know, that a block lies in. At most one place is a row, and one a column; not all
/// are fixed.
BlockView viewOf(TileEmitter &emit, mlir::Value memref, mlir::RankedTensorType type,
                 const Placement &at);

/// The block; with `padded`, elements past the tensor's extents are 0.
Part loadBlock(TileEmitter &emit, mlir::Value memref, mlir::RankedTensorType type,
               const Placement &at, BlockShape shape, bool padded);

/// Whether blocks that start at multiples of their extents never reach past the tensor.
bool fitsWhole(mlir::RankedTensorType type, const Placement &at, BlockShape shape);

/// Stores a matrix; what lies past the tensor's extents is not stored.
void storeBlock(TileEmitter &emit, Part part, mlir::Value memref, mlir::RankedTensorType type,
                const Placement &at, BlockShape shape);

/// The part with its elements repeated along rows and columns as asked for, which are at least those that it has.
Part spread(TileEmitter &emit, Part part, bool hasRows, bool hasColumns, BlockShape shape);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_PLACEMENT_H
