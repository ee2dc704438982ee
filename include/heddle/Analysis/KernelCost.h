//===- KernelCost.h - bytes and FLOPs of kernels ----------------*- C++ -*-===//

#ifndef HEDDLE_ANALYSIS_KERNELCOST_H
#define HEDDLE_ANALYSIS_KERNELCOST_H

#include "heddle/Analysis/ScalarEvaluator.h"
#include "heddle/Dialect/Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// What a kernel asks for. Bytes are those of global memory that its programs load and store, each as often as it is asked for, without
/// what lies outside of a view.
struct KernelCost {
  int64_t programs = 0;
  int64_t bytesIn = 0, bytesOut = 0;
  int64_t matrixFlops = 0; ///< of products of tiles and of contractions: 2 a multiply-add
  int64_t otherFlops = 0; ///< of other arithmetic on floats: 1 an operation, 2 a fused multiply-add
  /// What the formula of the kernel needs of matrixFlops, masked pairs left out; nothing where the kernel does not say.
  std::optional<int64_t> neededFlops;
  bool assumesData = false;  ///< counts lengths that are data as full, branches as taken
  bool isIncomplete = false; ///< some loop's trips are unknown and not counted

  int64_t flops() const;
  /// Whether some count is too large for 64 bits; it is INT64_MAX then, as sums with it are.
  bool overflows() const;
  /// FLOPs per byte; 0 if no byte is moved.
  double intensity() const;
  /// Adds `other`, `times` times.
  void add(const KernelCost &other, int64_t times = 1);
};

/// Extents of an argument; empty for scalars.
using ArgumentExtents = llvm::SmallVector<ScalarEvaluator::Extents>;

/// Values of scalar arguments where they are known; nothing for memrefs.
using ArgumentScalars = llvm::SmallVector<ScalarEvaluator::Extent>;

/// All programs of one launch of `kernel`. Programs are run through one by one, but for coordinates that do not matter.
KernelCost countTileKernel(tile::KernelOp kernel, std::array<ScalarEvaluator::Extent, 3> grid,
                           const ArgumentExtents &extents, const ArgumentScalars &scalars);

/// One call of a function whose work is in linalg operations on buffers.
KernelCost countLinalgKernel(mlir::func::FuncOp kernel, const ArgumentExtents &extents,
                             const ArgumentScalars &scalars);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_KERNELCOST_H
