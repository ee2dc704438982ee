//===- KernelBuilder.h - a kernel and its dispatch --------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H

#include "Patterns.h"
#include "Placement.h"

namespace heddle {

/// One extent of a grid: as many programs as there are blocks in a dimension of a tensor, or a fixed number.
struct GridAxis {
  static GridAxis blocks(mlir::Value tensor, int64_t dim, int64_t block) {
    return {tensor, dim, block};
  }
  static GridAxis count(int64_t number) { return {nullptr, 0, number}; }

  mlir::Value tensor;
  int64_t dim;
  int64_t number; ///< extent of a block, or programs
};

/// Writes a kernel and the dispatch that runs it. The kernel's arguments are added as the code of its body asks for them.
class KernelBuilder {
public:
  /// `host` stands where the dispatch goes.
  KernelBuilder(KernelTable &kernels, mlir::ImplicitLocOpBuilder &host, llvm::StringRef name);

  /// At the end of the kernel's body.
  TileEmitter &tiles() { return *body; }

  /// The kernel's argument for a tensor that it loads from, a scalar of the host, or a tensor that it stores to.
  mlir::Value input(mlir::Value tensor);
  mlir::Value scalar(mlir::Value value);
  mlir::Value output(mlir::Value init);
  /// The argument that `tensor` already has, as output or else as input.
  mlir::Value argument(mlir::Value tensor);

  /// The coordinates of a program in a grid that is flattened on x, the first axis fastest.
  llvm::SmallVector<Index> setGrid(llvm::ArrayRef<GridAxis> axes);

  /// States which dimensions of a tensor of the kernel equal others.
  void noteLoops(mlir::Value tensor, const Placement &at);

  /// States that the kernel's formula has a matrix product with these extents, each a dimension of a tensor that the kernel loads.
  void noteProduct(llvm::ArrayRef<std::pair<mlir::Value, int64_t>> extents);

  /// Ends the kernel, or drops it if there is an equal one, and makes the dispatch. `ops` names what it computes.
  tile::DispatchOp finish(tile::ConfigAttr config, llvm::ArrayRef<llvm::StringRef> ops);

private:
  mlir::Value insertArgument(unsigned position, mlir::Value operand);
  Index extentInKernel(const GridAxis &axis);
  mlir::ArrayAttr neededFlops();

  KernelTable &kernels;
  mlir::ImplicitLocOpBuilder &host;
  tile::KernelOp kernel;
  std::optional<TileEmitter> body;
  llvm::SmallVector<mlir::Value> inputs, scalars, outputs;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments, outputArguments;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> loops;
  mlir::Value programs;
  llvm::SmallVector<llvm::SmallVector<std::pair<mlir::Value, int64_t>>> products; ///< of arguments
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H
