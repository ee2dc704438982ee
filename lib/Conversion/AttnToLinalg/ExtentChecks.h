//===- ExtentChecks.h - extents that have to be equal -----------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_EXTENTCHECKS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_EXTENTCHECKS_H

#include "TensorEmitter.h"

namespace heddle {

/// A dimension of an operand, as messages call it.
struct NamedExtent {
  llvm::StringRef tensor;
  unsigned dim;
  mlir::OpFoldResult extent;
};

/// States at run time that two extents are equal, unless types or values tell it. Where loops over slices stand for an operation, nothing
/// else ties them together.
void requireEqualExtents(TensorEmitter &emit, llvm::StringRef operation, NamedExtent a,
                         NamedExtent b);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_EXTENTCHECKS_H
