//===- InputModule.h - reads what heddle-compile compiles -------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_INPUTMODULE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_INPUTMODULE_H

#include "heddle/Import/HuggingFace.h"

#include "llvm/Support/SourceMgr.h"

namespace heddle {

/// Reads `path`: a checkpoint folder, an .mlir file, or "-" for IR on standard input. Null after an error message.
mlir::OwningOpRef<mlir::ModuleOp> readInput(mlir::MLIRContext *context, llvm::SourceMgr &sources,
                                            llvm::StringRef path,
                                            const HuggingFaceImportOptions &options);

/// Removes every entry that `names` does not list; all stay if it is empty. An unknown name is an error that lists the entries.
mlir::LogicalResult keepEntries(mlir::ModuleOp module, llvm::ArrayRef<std::string> names);

} // namespace heddle

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_INPUTMODULE_H
