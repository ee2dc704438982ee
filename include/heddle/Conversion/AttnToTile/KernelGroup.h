//===- KernelGroup.h - operations that one kernel computes ------*- C++ -*-===//
//
// What attn-form-kernels asks before it puts operations into one kernel, and what attn-to-tile builds the kernel from, so that both
// agree on what is possible.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CONVERSION_ATTNTOTILE_KERNELGROUP_H
#define HEDDLE_CONVERSION_ATTNTOTILE_KERNELGROUP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// Operations on tensors, and their results that are used by others.
struct KernelGroup {
  bool contains(mlir::Operation *op) const { return op && ops.contains(op); }
  /// Whether a value is computed in the group.
  bool computes(mlir::Value value) const { return contains(value.getDefiningOp()); }

  llvm::SetVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> outputs;
};

/// The attribute of an `scf.execute_region` that stands for a kernel; its value says of which family.
inline constexpr llvm::StringLiteral kernelAttr = "heddle.kernel";

/// Which builder makes the kernel of a group.
enum class KernelFamily {
  Projection, ///< products with weights, with what comes before and after
  Rows,       ///< elementwise work, and what needs whole rows of a head
  Norm,       ///< a normalisation alone
  Cache,      ///< an append alone
};
llvm::StringRef stringifyKernelFamily(KernelFamily family);

/// A product with a matrix that all rows share: out[rows..., n] = sum_k lhs[rows..., k] rhs[n, k] or rhs[k, n].
struct WeightProduct {
  /// Nothing if the operation is no such product of f32, f16 or bf16.
  static std::optional<WeightProduct> match(mlir::Operation *op);

  mlir::Value lhs() const { return op->getOperand(0); }
  mlir::Value rhs() const { return op->getOperand(1); }
  mlir::Value result() const { return op->getResult(0); }
  /// The type in which both factors are multiplied.
  mlir::Type factorType() const;
  /// Extents of n and k, or dynamic.
  int64_t columns() const;
  int64_t depth() const;

  mlir::Operation *op;
  bool isTransposed; ///< rhs[n, k]
};

/// The family of the kernel that can compute a group; nothing if there is none.
std::optional<KernelFamily> findKernelFamily(const KernelGroup &group);

/// Lets a rotation whose frequencies depend on the positions of the call take them from a tensor, which other operations compute. They
/// compute in f64, and have no kernel.
void splitLengthDependence(mlir::Operation *op, mlir::RewriterBase &rewriter);

/// Whether the kernels of all attentions that use the result of an operation compute it themselves.
bool isPartOfAttention(mlir::Operation *op);

/// Column blocks of the grid of a projection's kernel: how often each row's prologue is computed. 0 if it is not known.
int64_t countColumnBlocks(const KernelGroup &group);

} // namespace heddle

#endif // HEDDLE_CONVERSION_ATTNTOTILE_KERNELGROUP_H
