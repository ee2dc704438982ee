//===- AttentionKeys.h - which keys attention reads, and where --*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONKEYS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONKEYS_H

#include "PageTable.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// The columns of a tensor of scores. Where all queries of a batch have the same keys, columns are positions, and rows of `key` and
/// `value`; pages are copied to such rows. With lists and packed sequences a column is a candidate for a key of one query.
class AttentionKeys {
public:
  /// Emits the run-time checks of lengths, tables, offsets and lists.
  AttentionKeys(TensorEmitter &emit, attn::AttentionOp op, attn::AttentionOp::Adaptor operands);

  bool arePerQuery() const { return op.hasKeysPerQuery(); }
  mlir::OpFoldResult columns() const { return columnCount; }
  /// [sequences, rows, Hk, d], or [1, rows, Hk, d] if they are packed.
  mlir::Value key() const { return keyRows; }
  mlir::Value value() const { return valueRows; }
  /// Whether rows at or past kv_len are 0.
  bool areCleared() const { return op.getBlockTable() != nullptr; }

  /// A pair of a query and a column, as indices. All of them are inside of what they count, also where the column is no key.
  struct Pair {
    mlir::Value sequence;
    mlir::Value query, queries;   // number within the sequence, and how many there are
    mlir::Value position, length; // of the key, and of all keys of the sequence
    mlir::Value isKey;            // i1
    mlir::Value batch, row;       // where the key is in key() and value()
  };
  /// With keys per query only; the arguments are places in the tensors of queries, heads and scores.
  Pair pair(TensorEmitter &body, mlir::Value batch, mlir::Value keyHead, mlir::Value query,
            mlir::Value column) const;

  /// Whether a position is one of global_ids.
  mlir::Value isGlobal(TensorEmitter &body, mlir::Value position) const;

private:
  void requireExtents(TensorEmitter &emit);
  void requireBatch(TensorEmitter &emit);
  void gatherPages(TensorEmitter &emit);
  void findSequences(TensorEmitter &emit);
  void requireLists(TensorEmitter &emit);
  mlir::Value extent(TensorEmitter &emit, mlir::Value tensor, unsigned dim) const;
  mlir::Value sequenceCount(TensorEmitter &emit) const;

  // Accessors that ODS generates are not const.
  mutable attn::AttentionOp op;
  mutable attn::AttentionOp::Adaptor operands;
  mlir::Value keyRows, valueRows;
  mlir::OpFoldResult columnCount;
  mlir::Value sequenceOf; // the sequence of each packed query; null if there are none
  mlir::Value globals;    // for each position how often global_ids has it; null if there are none
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONKEYS_H
