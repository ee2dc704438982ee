//===- EntryBuilder.h - signature of one public function --------*- C++ -*-===//
//
// Collects the named arguments of an entry, opens the function, and closes it
// with named results. Names, roles and dimension symbols become the heddle.*
// attributes that the compiler reads.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_ENTRYBUILDER_H
#define HEDDLE_LIB_IMPORT_DECODER_ENTRYBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

enum class EntryRole { Input, Weight, Cache, State };

class EntryBuilder {
public:
  explicit EntryBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// `dims` names the extents, "" where a dimension needs no symbol; an empty
  /// list leaves all names to the compiler.
  void addArgument(llvm::StringRef name, mlir::Type type, EntryRole role,
                   llvm::ArrayRef<llvm::StringRef> dims = {});

  /// The same for a weight, with the pattern of the names of its parts if it has any.
  void addWeight(llvm::StringRef name, mlir::Type type, llvm::StringRef parts);

  /// Creates the function; the builder then stands at the start of its body.
  void open(llvm::StringRef symbol);

  /// Argument by name; null if the entry has none of that name.
  mlir::Value argument(llvm::StringRef name) const;

  /// `updates` names the argument that this result is written back to.
  void addResult(llvm::StringRef name, mlir::Value value, llvm::StringRef updates = {});

  /// Returns the results; the builder then stands behind the function.
  mlir::func::FuncOp close();

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  llvm::StringMap<unsigned> argumentIndex;
  llvm::SmallVector<mlir::Type> argumentTypes;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttrs;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttrs;
};

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_ENTRYBUILDER_H
