//===- TileEvaluator.h - blocks of tensors as tiles -------------*- C++ -*-===//
//
// Computes the block of a tensor that a program needs from the blocks of what the tensor is made of. It follows the operations of a
// group from a result to values from outside, which are loaded, and repeats on tiles what they say on tensors: the types, and with
// them the roundings, are the same.
//
// One block of a value is computed once in a scope; the code between `open` and `close` is a scope of its own, such as a loop's body.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEEVALUATOR_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEEVALUATOR_H

#include "KernelBuilder.h"
#include "TileMath.h"
#include "heddle/Conversion/AttnToTile/KernelGroup.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// An elementwise operation of `arith` or `math` on parts of a block, with what rows or columns one of them has.
Part applyToParts(TileEmitter &emit, mlir::Operation *op, llvm::ArrayRef<Part> operands,
                  BlockShape shape);

class TileEvaluator {
public:
  TileEvaluator(KernelBuilder &kernel, const KernelGroup &group, BlockShape shape)
      : shape(shape), kernel(kernel), emit(kernel.tiles()), group(group), zero(emit.index(0)) {}

  /// The block of `tensor` at a place.
  Part evaluate(mlir::Value tensor, const Placement &at);
  /// The same as a matrix of f32.
  Tile matrix(mlir::Value tensor, const Placement &at);
  /// Computes the block of an output and stores it to `memref`.
  void store(mlir::Value tensor, mlir::Value memref, const Placement &at);

  /// cos and sin of the angles of a block's rows, for all pairs of a head, times the attention factor.
  SinCos rotation(attn::RopeOp op, const Placement &at);

  /// What the block of a value is, wherever it is asked for in this scope.
  void bind(mlir::Value tensor, Part part) { bound[tensor] = part; }
  /// Blocks of a tensor from outside are read from `memref`, which is that of the tensor or of one of `others` with its type.
  void substitute(mlir::Value tensor, mlir::Value memref, llvm::ArrayRef<mlir::Value> others) {
    substitutes[tensor] = {memref, llvm::to_vector(others)};
  }
  /// Blocks of this norm need not hold whole rows: its factor of each row is given, or left out.
  void setRowFactor(attn::RmsNormOp norm, std::optional<Tile> factor) {
    walkedNorm = norm;
    rowFactor = factor;
  }

  void open() { scopes.push_back(known.size()); }
  void close() { known.truncate(scopes.pop_back_val()); }

  /// Columns of blocks start at multiples of their number.
  bool hasAlignedColumns = true;
  const BlockShape shape;

private:
  struct Known {
    mlir::Value tensor;
    Placement at;
    Part part;
  };

  Part compute(mlir::Value tensor, const Placement &at);
  Part load(mlir::Value tensor, const Placement &at, BlockShape extents);
  /// Memory of a tensor from outside whose block lies there.
  mlir::Value memory(mlir::Value tensor, const Placement &at);
  /// Columns 0 .. count - 1 of a vector.
  Part leadingColumns(mlir::Value vector, int64_t count);

  /// An elementwise operation of `arith` or `math` on parts.
  Part apply(mlir::Operation *op, llvm::ArrayRef<Part> operands) {
    return applyToParts(emit, op, operands, shape);
  }
  Part constant(mlir::Attribute element);

  // LinalgBlocks.cpp
  Part linalgBlock(mlir::linalg::LinalgOp op, const Placement &at);
  /// The body of an operation, and its values so far.
  struct Body {
    mlir::linalg::LinalgOp op;
    llvm::SmallVector<Place> loops;
    llvm::DenseMap<mlir::Value, Part> values;
  };
  Part bodyValue(Body &body, mlir::Value value);
  Part computeInBody(Body &body, mlir::Value value);
  Part gather(Body &body, mlir::tensor::ExtractOp extract);

  // RowBlocks.cpp
  Part rmsNorm(attn::RmsNormOp op, const Placement &at);
  Part rope(attn::RopeOp op, const Placement &at);

  Tile asTile(Part part, bool hasRows, bool hasColumns) {
    return emit.tile(spread(emit, part, hasRows, hasColumns, shape).value);
  }
  Tile asMatrix(Part part) { return asTile(part, true, true); }
  static Part matrixPart(Tile tile) { return {tile, true, true}; }

  KernelBuilder &kernel;
  TileEmitter &emit;
  const KernelGroup &group;
  Index zero;
  struct Substitute {
    mlir::Value memref;
    llvm::SmallVector<mlir::Value> others;
  };
  llvm::DenseMap<mlir::Value, Part> bound;
  llvm::DenseMap<mlir::Value, Substitute> substitutes;
  llvm::SmallVector<Known> known;
  llvm::SmallVector<size_t> scopes;
  attn::RmsNormOp walkedNorm;
  std::optional<Tile> rowFactor;
};

/// The place of operand dimensions that an indexing map names, given those of the loops.
Placement placeOperand(TileEmitter &emit, mlir::AffineMap map, llvm::ArrayRef<Place> loops);

/// The frequencies of a rope whose scaling needs no length of this call.
std::optional<std::vector<double>> staticFrequencies(attn::RopeOp op);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_TILEEVALUATOR_H
