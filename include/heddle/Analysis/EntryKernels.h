//===- EntryKernels.h - the kernels that an entry launches ------*- C++ -*-===//

#ifndef HEDDLE_ANALYSIS_ENTRYKERNELS_H
#define HEDDLE_ANALYSIS_ENTRYKERNELS_H

#include "heddle/Analysis/KernelCost.h"

#include "llvm/ADT/StringMap.h"

namespace heddle {

/// Attribute of a kernel: an array of the names of the operations that it does.
inline constexpr llvm::StringLiteral kernelOpsAttr = "heddle.ops";

/// All launches of one kernel by one call of an entry.
struct KernelUse {
  std::string kernel;
  std::vector<std::string> ops; ///< names of the operations inside
  int64_t launches = 0;
  /// Grid of the first launch: as a formula of the entry's dimensions, and its extents. Empty for kernels that are no tile kernels.
  std::string gridFormula;
  std::vector<int64_t> grid;
  bool gridVaries = false;    ///< between launches
  std::vector<int64_t> block; ///< of its config
  std::optional<int64_t> warps, stages;
  KernelCost cost; ///< of all launches
};

struct EntryKernels {
  std::string name;
  /// Symbols of the entry's dimensions and the extents that were counted with, in order of appearance.
  std::vector<std::pair<std::string, int64_t>> extents;
  std::vector<KernelUse> uses; ///< in order of first launch
};

/// What an extent is where nothing is said: 1 for a symbol that is the first dimension of an argument of rank 2 or more, such as a batch,
/// and else 512.
inline constexpr int64_t defaultExtent = 512;

/// The kernels that `entry`, as --heddle-linalg-to-kernels leaves it, launches if its symbols have the extents `given`.
EntryKernels collectKernels(mlir::func::FuncOp entry, const llvm::StringMap<int64_t> &given);

/// An index as a formula of the dimensions of the arguments of `entry`, such as "ceildiv(L, 64) * B"; "?" stands for what depends on
/// data.
std::string describeIndex(mlir::Value index);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_ENTRYKERNELS_H
