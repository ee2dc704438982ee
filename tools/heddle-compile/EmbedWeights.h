//===- EmbedWeights.h - weights in a data file beside a module --*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The data file of a module: m.so has m.weights.safetensors.
std::string weightsFileOf(llvm::StringRef modulePath);

/// Writes the tensors of `checkpoint` that an entry of `module` takes as a weight to `path`.
mlir::LogicalResult embedWeights(mlir::ModuleOp module, llvm::StringRef checkpoint,
                                 llvm::StringRef path);

} // namespace heddle

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H
