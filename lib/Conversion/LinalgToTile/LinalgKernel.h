//===- LinalgKernel.h - builds the kernel of a linalg op --------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGKERNEL_H
#define HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGKERNEL_H

#include "LinalgPlan.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {

/// Writes the body of a kernel at the end of a block. `arguments` maps what the operation uses from outside to the kernel's arguments;
/// outputs of rank 0 are mapped to memrefs of one element.
void buildLinalgKernel(TileEmitter &emit, mlir::linalg::LinalgOp op, const LinalgPlan &plan,
                       const mlir::IRMapping &arguments);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOTILE_LINALGKERNEL_H
