//===- Patterns.h - the pattern sets of each family -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {

/// The kernels of a module, one for each form.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Builds at the end of the module what is not there yet.
  tile::KernelOp lookupOrBuild(mlir::Attribute form, mlir::RewriterBase &rewriter,
                               llvm::function_ref<tile::KernelOp()> build);

  unsigned size() const { return kernels.size(); }

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, tile::KernelOp> kernels;
};

void populateAttentionToTile(mlir::RewritePatternSet &patterns, KernelTable &kernels);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H
