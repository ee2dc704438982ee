//===- GlobalAccess.h - which registers an access moves at once -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_GLOBALACCESS_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_GLOBALACCESS_H

#include "KernelLowering.h"

namespace heddle {

/// The registers that one instruction moves: neighbours in memory, `pointer` being that of the first one.
struct AccessRun {
  llvm::SmallVector<int64_t> registers;
  mlir::Value pointer;
  mlir::Value inside; ///< null: known to be inside
};

/// The runs of one row.
struct AccessRow {
  llvm::SmallVector<AccessRun> runs;
  mlir::Value inside; ///< null: known to be inside
};

/// How the registers of a tile are moved from or to a view, with code for the addresses and the conditions at the builder's
/// insertion point. `isChecked`: elements may be outside of the view.
mlir::FailureOr<llvm::SmallVector<AccessRow>>
planAccess(KernelLowering &lowering, mlir::Operation *op, mlir::RankedTensorType tile,
           const GlobalView &view, mlir::ValueRange indices, bool isChecked);

/// `count` neighbours in memory, as elements; or as pairs of 16-bit elements.
llvm::SmallVector<mlir::Value> loadRun(KernelLowering &lowering, mlir::Value pointer,
                                       mlir::Type element, int64_t count, bool asPairs);

/// Stores neighbours, given as elements or pairs.
void storeRun(KernelLowering &lowering, mlir::Value pointer, mlir::Type element,
              llvm::ArrayRef<mlir::Value> values, bool arePairs);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_GLOBALACCESS_H
