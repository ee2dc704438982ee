//===- KeyPositions.h - where queries and keys stand ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_KEYPOSITIONS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_KEYPOSITIONS_H

#include "TensorEmitter.h"

namespace heddle {

/// Where a key stands relative to a query, as signed indices. The queries of a sequence stand at its last positions.
struct KeyPositions {
  mlir::Value key;
  /// Null if every column is a key.
  mlir::Value isKey;
  /// p = i + (length - Lq).
  mlir::Value query;
  /// j - p.
  mlir::Value distance;

  KeyPositions() = default;
  /// Of query i and key j. The sequence has `kvLen` keys, or as many as columns if that is null.
  KeyPositions(TensorEmitter &body, mlir::Value i, mlir::Value j, mlir::Value queries,
               mlir::Value columns, mlir::Value kvLen);

  /// Whether the column is a key, not behind the query if `causal`; null if every one is.
  mlir::Value visible(TensorEmitter &body, bool causal) const;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_KEYPOSITIONS_H
