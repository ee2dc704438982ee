//===- RowsPlan.h - how a group becomes a kernel of rows --------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_ROWSPLAN_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_ROWSPLAN_H

#include "BlockRules.h"

namespace heddle {

/// A group without products: its outputs, all of one shape, are computed block by block.
struct RowsPlan {
  /// Nothing if no kernel can compute the group.
  static std::optional<RowsPlan> of(const KernelGroup &group);

  /// The type of the first output.
  mlir::RankedTensorType type;
  /// Dimension that blocks of rows are cut from; -1 for vectors.
  int64_t rowDim;
  /// Columns of a row where blocks have to hold whole rows; else 0.
  int64_t rowColumns;
  /// A rotation of neighbouring columns, which no other operation shares a kernel with.
  bool isInterleaved;
  /// Extents of a block.
  BlockShape block;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_ROWSPLAN_H
