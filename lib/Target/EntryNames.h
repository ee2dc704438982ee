//===- EntryNames.h - names that C entries may have -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_ENTRYNAMES_H
#define HEDDLE_LIB_TARGET_ENTRYNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Checks that every entry's name can be a C function beside the others: a C and C++ identifier that neither the languages, the C
/// library nor Heddle's runtime use, and that is not another entry's `<name>_workspace`. Emits an error at the first other one.
mlir::LogicalResult verifyEntryNames(llvm::ArrayRef<mlir::func::FuncOp> entries);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_ENTRYNAMES_H
