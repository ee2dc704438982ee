//===- HuggingFace.h - imports a Hugging Face checkpoint --------*- C++ -*-===//

#ifndef HEDDLE_IMPORT_HUGGINGFACE_H
#define HEDDLE_IMPORT_HUGGINGFACE_H

#include "heddle/Import/DecoderBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace heddle {

struct HuggingFaceImportOptions : DecoderBuildOptions {
  /// Import this layer alone, as a block, instead of the whole decoder.
  std::optional<int64_t> layer;
};

/// Imports a folder with config.json and *.safetensors. All weights are
/// checked against the config first. Returns null after error diagnostics,
/// which are located in config.json or in a tensor file; line 0 stands for the
/// file as a whole. The folder is not needed afterwards: weights become
/// arguments.
mlir::OwningOpRef<mlir::ModuleOp> importHuggingFace(mlir::MLIRContext *context,
                                                    llvm::StringRef folder,
                                                    const HuggingFaceImportOptions &options = {});

/// Imports one layer from the text of a config.json and a table of tensors,
/// without any file. Tensors outside "model.layers.N." are not looked at.
/// Diagnostics are located in a file of the name `configName`.
mlir::OwningOpRef<mlir::ModuleOp>
importHuggingFaceBlock(mlir::MLIRContext *context, llvm::StringRef configText,
                       const std::vector<WeightInfo> &tensors, int64_t layer,
                       const DecoderBuildOptions &options = {},
                       llvm::StringRef configName = "config.json");

} // namespace heddle

#endif // HEDDLE_IMPORT_HUGGINGFACE_H
