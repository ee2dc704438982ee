//===- AttentionKernel.h - builds the kernel of softmax attention -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONKERNEL_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONKERNEL_H

#include "AttentionForm.h"

namespace heddle {

/// A private kernel at the builder's insertion point. Its grid is x = query blocks * query heads * batch.
tile::KernelOp buildAttentionKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                    const AttentionForm &form);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONKERNEL_H
