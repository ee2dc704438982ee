//===- CacheChecks.h - what an append relies on -----------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_CACHECHECKS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_CACHECHECKS_H

#include "PageTable.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// States at run time that the extents of an append's operands fit together, that the new rows are within the capacity, and that the
/// block table names pages for them, or slots their places.
class AppendChecks {
public:
  /// The extent of a dimension of an operand.
  using ExtentOf = std::function<mlir::OpFoldResult(mlir::Value tensor, unsigned dim)>;

  AppendChecks(TensorEmitter &emit, attn::KvAppendOp::Adaptor operands, ExtentOf extentOf)
      : emit(emit), operands(operands), extentOf(std::move(extentOf)) {}

  void emitAll();

  /// How many rows each sequence gets, if there is no new_len.
  mlir::Value count() { return extent(operands.getKey(), operands.getValue(), 1); }
  /// Those of one sequence.
  RowRange newRows(TensorEmitter &body, mlir::Value sequence, mlir::Value count);
  /// Nothing if the caches are contiguous.
  std::optional<PageTable> pageTable();
  /// How many sequences there are.
  mlir::Value batch();

private:
  struct NamedTensor {
    llvm::StringRef name;
    mlir::Value tensor;
  };

  /// Of two tensors for which it is the same; a static one if there is any.
  mlir::Value extent(mlir::Value first, mlir::Value second, unsigned dim);
  NamedTensor sequences();
  void requireSameDims();
  void requireSameDim(NamedTensor a, unsigned dim, NamedTensor b, unsigned otherDim);
  void requireRoom(mlir::Value count, mlir::Value capacity);
  void requireEnds(mlir::Value count, mlir::Value capacity);
  void requireSlots();

  TensorEmitter &emit;
  attn::KvAppendOp::Adaptor operands;
  ExtentOf extentOf;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_CACHECHECKS_H
