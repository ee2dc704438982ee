//===- InputModule.cpp - reads what heddle-compile compiles ---------------===//

#include "InputModule.h"

#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace heddle {

OwningOpRef<ModuleOp> readInput(MLIRContext *context, llvm::SourceMgr &sources, StringRef path,
                                const HuggingFaceImportOptions &options) {
  if (llvm::sys::fs::is_directory(path))
    return importHuggingFace(context, path, options);
  StringRef extension = llvm::sys::path::extension(path);
  if (path != "-" && extension != ".mlir") {
    llvm::WithColor::error() << path << ": expected a checkpoint folder or an .mlir file"
                             << (llvm::sys::fs::exists(path) ? "" : "; there is no such file")
                             << "\n";
    return nullptr;
  }
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer) {
    llvm::WithColor::error() << message << "\n";
    return nullptr;
  }
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

LogicalResult keepEntries(ModuleOp module, ArrayRef<std::string> names) {
  if (names.empty())
    return success();
  SmallVector<func::FuncOp> entries = getEntries(module);
  for (const std::string &name : names)
    if (llvm::none_of(entries, [&](func::FuncOp entry) { return entry.getName() == name; })) {
      std::string known;
      for (func::FuncOp entry : entries)
        known += (known.empty() ? "" : ", ") + entry.getName().str();
      return module.emitError() << "there is no entry '" << name << "'; the module has: " << known;
    }
  for (func::FuncOp entry : entries)
    if (!llvm::is_contained(names, entry.getName()))
      entry.setPrivate();
  return success();
}

} // namespace heddle
