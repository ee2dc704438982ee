//===- LinearAttentionParts.h - operands of linear attention ----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LINEARATTENTIONPARTS_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LINEARATTENTIONPARTS_H

#include "Sequences.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// Operands and extents of one linear attention; what its recurrent and its chunk form have in common.
struct LinearAttentionParts {
  /// Emits the extents and the run-time checks. The numbers of heads must be static.
  LinearAttentionParts(TensorEmitter &emit, attn::LinearAttentionOp op,
                       attn::LinearAttentionOp::Adaptor operands, mlir::Type compute);

  attn::LinearAttentionOp op;
  attn::LinearAttentionOp::Adaptor operands;
  mlir::Type compute;
  Sequences sequences;
  mlir::OpFoldResult batch, tokens, keyDim, valueDim;
  int64_t valueHeads, outputHeads;
  /// Output heads of a value head.
  int64_t readers() const { return outputHeads / valueHeads; }

  /// Carries state [Hv, dk, dv], normaliser [Hv, dk] (if there is one) and output through all sequences, and gives the results of the
  /// operation. `run` changes the state of one sequence, in the type of the arithmetic, and writes its tokens of the output.
  using Run = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      TensorEmitter &, const Sequences::Sequence &, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> forEachSequence(TensorEmitter &emit, Run run);

  /// `rows`, whose dimension `headDim` counts the heads of a key or query, in the type of the arithmetic, with the head that each of
  /// `heads` value or output heads reads: [..., H, ...] becomes [..., heads, ...].
  mlir::Value forHeads(TensorEmitter &emit, mlir::Value rows, unsigned headDim,
                       int64_t heads) const;
};

/// `tensor` in another float type.
mlir::Value convertTensor(TensorEmitter &emit, mlir::Value tensor, mlir::Type type);

/// Refuses what can't be lowered: a dynamic number of heads.
llvm::LogicalResult verifyStaticHeads(attn::LinearAttentionOp op);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LINEARATTENTIONPARTS_H
