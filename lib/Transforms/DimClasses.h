//===- DimClasses.h - which dimensions of a function are equal --*- C++ -*-===//
//
// A union-find over the dimensions of all tensors and over index values. Two are joined where an op is only defined if they are equal:
//
//  1. linalg: all operand dimensions that one loop indexes; results with their inits.
//  2. tensor.dim: its result with the dimension read. tensor.empty, generate, expand_shape, slices: a dynamic size operand with the
//     dimension it sets; groups of one dimension, unit ones aside, in reshapes; casts; insertions with their destination.
//  3. Elementwise ops: all operands and results. scf.forall: shared outputs, their block arguments and results.
//  4. scf.for may carry tensors whose extents change, so a carried dimension is one class only if the body, looked at alone, yields the
//     extent that it took or the one that the loop began with. A result of scf.if, or of a select by a scalar, is joined where both
//     sides agree. As one such fact may prove another, this is repeated until nothing changes.
//  5. tile.dispatch: operands with their results, and dimensions of one number in `heddle.loops`.
//  6. attn.require that two extents are equal, where both are extents of arguments: the border then checks it.
//
// A static extent gives its class that value; two different ones are a contradiction. Whoever adds an op that ties dimensions in another
// way adds its rule here; a missing rule makes names less shared, and the result dimension that depends on it an error, never a wrong
// number.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TRANSFORMS_DIMCLASSES_H
#define HEDDLE_LIB_TRANSFORMS_DIMCLASSES_H

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace heddle {

class DimClasses {
public:
  /// Joins all that the function's body ties together.
  void addFunction(mlir::func::FuncOp function);

  /// The class of dimension `dim` of a tensor, or of an index value with dimension -1.
  int find(mlir::Value value, int64_t dim) { return root(id(value, dim)); }

  /// Whether two tensors of one rank have the same extents.
  bool haveEqualExtents(mlir::Value a, mlir::Value b);

  /// The extent of a class, if it is static.
  std::optional<int64_t> constant(int classId) const { return constants[classId]; }

  /// Two extents that were found to be equal but are not.
  std::optional<std::pair<int64_t, int64_t>> contradiction() const { return different; }

private:
  int id(mlir::Value value, int64_t dim);
  int root(int node);
  void join(int a, int b);
  void setConstant(int node, int64_t extent);

  void addTensor(mlir::Value value);
  void addOp(mlir::Operation *op);
  void addLinalg(mlir::linalg::LinalgOp op);
  void addDispatch(tile::DispatchOp op);
  void addRequirements(mlir::func::FuncOp function);
  void addControlFlow(mlir::func::FuncOp function);

  void joinAll(mlir::Value a, mlir::Value b);
  void joinSizes(mlir::Value tensor, llvm::ArrayRef<mlir::OpFoldResult> sizes);
  void joinReshape(mlir::Value collapsed, mlir::Value expanded,
                   llvm::ArrayRef<mlir::ReassociationIndices> groups);
  void joinIfProven(mlir::Value carried, mlir::Value init, mlir::Value yielded, mlir::Value result);

  llvm::DenseMap<std::pair<mlir::Value, int64_t>, int> ids;
  std::vector<int> parents;
  std::vector<std::optional<int64_t>> constants;
  std::optional<std::pair<int64_t, int64_t>> different;
  bool changed = false;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_DIMCLASSES_H
