//===- Dots.h - matrix products of a kernel ---------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_DOTS_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_DOTS_H

#include "DotOperand.h"

namespace heddle {

llvm::LogicalResult lowerProduct(KernelLowering &lowering, const DotForm &dot);

/// A product by multiply-adds, for types that mma.sync does not take.
llvm::LogicalResult lowerFmaProduct(KernelLowering &lowering, const DotForm &dot,
                                    const layout::MmaTiling &tiling);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_DOTS_H
