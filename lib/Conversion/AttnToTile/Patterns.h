//===- Patterns.h - the pattern sets of each family -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Target/GPUChips.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace heddle {

/// The kernels of a module, one for each form.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Builds at the end of the module what is not there yet.
  tile::KernelOp lookupOrBuild(mlir::Attribute form, mlir::RewriterBase &rewriter,
                               llvm::function_ref<tile::KernelOp()> build);

  /// Puts a kernel that is in no module yet at the end of this one; or erases it, and returns the kernel of a group that equals it.
  tile::KernelOp insertOrReuse(tile::KernelOp kernel);

  unsigned size() const { return kernels.size() + ofGroups.size(); }

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, tile::KernelOp> kernels;
  llvm::SmallVector<tile::KernelOp> ofGroups;
};

/// Weights of 2^15 are below the largest f16.
constexpr int64_t maxRescaleMargin = 15;

/// What kernels are made for.
struct KernelTarget {
  const GPUChip *chip = nullptr; ///< null: a CPU
  tile::DotPrecision f32Products = tile::DotPrecision::IEEE;
  double rescaleMargin = 0; ///< AttentionForm
};

void populateAttentionToTile(mlir::RewritePatternSet &patterns, KernelTable &kernels,
                             const KernelTarget &target);

/// Replaces the `scf.execute_region` of a group that attn-form-kernels has formed by the dispatch of its kernel.
llvm::LogicalResult lowerGroup(mlir::scf::ExecuteRegionOp op, KernelTable &kernels,
                               const KernelTarget &target);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_PATTERNS_H
