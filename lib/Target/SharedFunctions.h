//===- SharedFunctions.h - functions of several objects ---------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_SHAREDFUNCTIONS_H
#define HEDDLE_LIB_TARGET_SHAREDFUNCTIONS_H

#include "heddle/Target/CPUVariants.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The code of a module for one CPU variant, with its tasks outlined, before it becomes the LLVM dialect.
struct VariantModule {
  const CPUVariant *variant;
  mlir::ModuleOp module;
};

/// Leaves the body of a function that equals one of a lesser variant out, so that it is compiled once: the lesser variant's becomes a symbol
/// `<prefix>.shared.<function>.<variant>` of its object, and the other one a declaration of it. Only variants whose machine code may be
/// exchanged share: the same architecture and width of vectors, and no feature that the greater one lacks; what computes in bf16 also needs the same instructions for that. What a shared function refers to
/// is shared, too, or an equal constant or declaration. `modules` come from the least variant to the most demanding.
void shareFunctions(llvm::ArrayRef<VariantModule> modules, llvm::StringRef prefix);

/// Moves the largest function of `code`, with those that it alone calls, into a module of their own, which can be compiled beside the rest;
/// `code` keeps a declaration. The function is a symbol `<prefix>.<variant>.<function>`, unless it is shared. Null if all have less than
/// `leastOps` operations.
mlir::OwningOpRef<mlir::ModuleOp> splitLargestFunction(const VariantModule &code,
                                                       llvm::StringRef prefix, int64_t leastOps);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_SHAREDFUNCTIONS_H
