//===- EntryAttributes.h - attributes of an entry's arguments ---*- C++ -*-===//
//
// What importers write and the compiler reads at the border between a module and its callers. docs/entries.md describes each.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TRANSFORMS_ENTRYATTRIBUTES_H
#define HEDDLE_TRANSFORMS_ENTRYATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

inline constexpr llvm::StringLiteral nameAttr = "heddle.name";
inline constexpr llvm::StringLiteral dimsAttr = "heddle.dims";
inline constexpr llvm::StringLiteral roleAttr = "heddle.role";
/// On a weight that checkpoints store in parts, the pattern of their names, a string with one '*'.
inline constexpr llvm::StringLiteral partsAttr = "heddle.parts";
inline constexpr llvm::StringLiteral updatesAttr = "heddle.updates";
inline constexpr llvm::StringLiteral modelAttr = "heddle.model";
/// On an entry, its name: entries stay different functions even where their code is equal.
inline constexpr llvm::StringLiteral entryAttr = "heddle.entry";

/// The public functions of `module` that have a body, in order.
llvm::SmallVector<mlir::func::FuncOp> getEntries(mlir::ModuleOp module);

/// An error unless `entry` is one block that takes and returns ranked tensors, as before entry-to-buffers.
llvm::LogicalResult verifyEntryOnTensors(mlir::func::FuncOp entry);

/// An error unless `entry` takes a context first, as behind entry-to-buffers.
llvm::LogicalResult verifyEntryContext(mlir::func::FuncOp entry);

} // namespace heddle

#endif // HEDDLE_TRANSFORMS_ENTRYATTRIBUTES_H
