//===- BlockRules.h - what TileEvaluator can compute ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_BLOCKRULES_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_BLOCKRULES_H

#include "Placement.h"
#include "heddle/Conversion/AttnToTile/KernelGroup.h"
#include "heddle/Dialect/Attn/Attn.h"
#include <map>
#include <vector>

namespace heddle {

/// A placement without its indices.
using PlaceKinds = llvm::SmallVector<PlaceKind, 4>;

/// Follows the operations of a group like TileEvaluator does, without writing a kernel.
class BlockRules {
public:
  explicit BlockRules(const KernelGroup &group) : group(group) {}

  /// Whether TileEvaluator can compute the block of a value. What follows is set before the first question.
  bool canCompute(mlir::Value tensor, llvm::ArrayRef<PlaceKind> at);

  /// Values that are bound, such as results of products.
  llvm::DenseSet<mlir::Value> bound;
  /// A norm whose row factors are given.
  mlir::Operation *walkedNorm = nullptr;
  /// Blocks hold rows of so many columns; 0 if they hold parts of rows.
  int64_t rowColumns = 0;

private:
  bool isWholeRow(mlir::RankedTensorType type) const {
    return rowColumns != 0 && type.getShape().back() == rowColumns;
  }
  bool canComputeLinalg(mlir::linalg::LinalgOp op, llvm::ArrayRef<PlaceKind> at);
  /// The body of an operation, and what has been asked about its values.
  struct BodyRules {
    mlir::linalg::LinalgOp op;
    PlaceKinds loops;
    llvm::DenseMap<mlir::Value, bool> answers;
  };
  bool canComputeBody(BodyRules &body, mlir::Value value);
  bool bodyFollowsRules(BodyRules &body, mlir::Value value);
  bool canGather(mlir::linalg::LinalgOp op, llvm::ArrayRef<PlaceKind> loops,
                 mlir::tensor::ExtractOp extract);

  bool followsRules(mlir::Value tensor, llvm::ArrayRef<PlaceKind> at);

  const KernelGroup &group;
  /// What has been asked: values that several others are computed from are followed once.
  using Question = std::pair<void *, std::vector<PlaceKind>>;
  std::map<Question, bool> answers;
};

/// Whether a kernel computes this elementwise operation of `arith` or `math` with tiles.
bool isTileArithmetic(mlir::Operation *op);

/// Whether it is elementwise work of linalg: no reductions, and a result that all loops index, each once.
bool isParallelLinalg(mlir::linalg::LinalgOp op);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_BLOCKRULES_H
