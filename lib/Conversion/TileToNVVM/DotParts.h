//===- DotParts.h - parts of a product that a warp may leave out -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_DOTPARTS_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_DOTPARTS_H

#include "DotOperand.h"

namespace heddle {

/// Steps along K and pairs of fragments along N that a warp computes together.
struct DotPart {
  llvm::SmallVector<int64_t> steps, pairs;
  /// For each condition of the product a mask of the warps that it decides for; empty: all warps compute the part.
  llvm::SmallVector<uint64_t> warpsOfCondition;
};

/// The parts of a product that `needs` tells apart, and what decides about them.
class DotParts {
public:
  DotParts(KernelLowering &lowering, const DotForm &dot, const layout::MmaTiling &tiling,
           const layout::Layout &accumulator)
      : lowering(lowering), dot(dot), tiling(tiling), accumulator(accumulator) {}

  /// Reports a tile of `needs` in which a warp does not hold the rows that it has of the result.
  llvm::LogicalResult verify() const;

  /// In the order of their first steps and pairs, each of which is in one part.
  llvm::SmallVector<DotPart> split(llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int64_t> pairs);

  /// Whether the warp needs a part, as i1 that all lanes have: for each fragment along M, or one for all of them. Empty: it does.
  llvm::SmallVector<mlir::Value> conditions(const DotPart &part);

private:
  void addWarps(llvm::SmallVector<uint64_t> &warps,
                llvm::function_ref<int64_t(int64_t warp)> firstOf, int64_t size);
  bool asksFragmentsApart();
  llvm::SmallVector<mlir::Value> flagsOf(mlir::Value condition, std::optional<int64_t> fragment);
  mlir::Value isNeeded(const DotPart &part, std::optional<int64_t> fragment);

  KernelLowering &lowering;
  const DotForm &dot;
  layout::MmaTiling tiling;
  const layout::Layout &accumulator;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_DOTPARTS_H
