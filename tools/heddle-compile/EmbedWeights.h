//===- EmbedWeights.h - weights in a data file beside a module --*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H

#include "heddle/TensorIO/File.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The data file of a module: m.so has m.weights.safetensors.
std::string weightsFileOf(llvm::StringRef modulePath);

/// Writes the tensors of `checkpoint` that an entry of `module` takes as a weight to a file that becomes `path` when it is committed.
mlir::FailureOr<AtomicFile> stageWeights(mlir::ModuleOp module, llvm::StringRef checkpoint,
                                         llvm::StringRef path);

} // namespace heddle

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_EMBEDWEIGHTS_H
