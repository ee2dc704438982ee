//===- TextConstants.h - texts that generated code refers to ----*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TEXTCONSTANTS_H
#define HEDDLE_LIB_TRANSFORMS_TEXTCONSTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// Zero-terminated constants of a module, one for equal texts. Their symbols are `prefix` and a number.
class TextConstants {
public:
  TextConstants(mlir::ModuleOp module, llvm::StringRef prefix) : module(module), prefix(prefix) {}

  /// The address of `text`, as an `!llvm.ptr` at the builder's place.
  mlir::Value address(mlir::ImplicitLocOpBuilder &b, llvm::StringRef text);

private:
  mlir::ModuleOp module;
  llvm::StringRef prefix;
  llvm::StringMap<mlir::StringAttr> symbols;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TEXTCONSTANTS_H
