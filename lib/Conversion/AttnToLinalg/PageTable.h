//===- PageTable.h - rows of sequences in pages -----------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PAGETABLE_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PAGETABLE_H

#include "TensorEmitter.h"

namespace heddle {

/// Some rows of a sequence; both are indices.
struct RowRange {
  mlir::Value first, count;
};

/// Row p of sequence b is slot p mod pageSize of page blockTable[b, p / pageSize].
/// Entries that no row asked for needs are neither read nor refused.
class PageTable {
public:
  /// `pages` is how many there are, `pageSize` the rows of each; both are indices.
  PageTable(mlir::Value blockTable, mlir::Value pages, mlir::Value pageSize)
      : blockTable(blockTable), pages(pages), pageSize(pageSize) {}

  /// The number of rows of a sequence that the table can address.
  mlir::Value capacity(TensorEmitter &emit) const;

  /// Gives the rows of a sequence that a call needs.
  using RowsOf = llvm::function_ref<RowRange(TensorEmitter &, mlir::Value sequence)>;

  /// States that the table names an existing page for all rows needed, which
  /// must be within the capacity.
  void requirePages(TensorEmitter &emit, RowsOf rowsOf) const;

  /// Rows of one sequence that follow each other in one page.
  struct Run {
    mlir::Value page, slot; // where they are
    mlir::Value offset;     // of the first, counted from the first row of the range
    mlir::Value count;
  };
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(TensorEmitter &, const Run &,
                                                                 mlir::ValueRange carried)>;

  /// A loop over the pages that hold `rows` of `sequence`, in order.
  mlir::ResultRange forEachRun(TensorEmitter &emit, mlir::Value sequence, RowRange rows,
                               mlir::ValueRange inits, Body body) const;

private:
  /// The entries [first, end) of a sequence that `rows` need.
  std::pair<mlir::Value, mlir::Value> entriesOf(TensorEmitter &emit, RowRange rows) const;

  mlir::Value blockTable, pages, pageSize;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_PAGETABLE_H
