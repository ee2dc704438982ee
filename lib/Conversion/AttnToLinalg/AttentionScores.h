//===- AttentionScores.h - scores of softmax attention ----------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONSCORES_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONSCORES_H

#include "AttentionKeys.h"

namespace heddle {

/// Operands and extents of one attention operation. Query heads are viewed as
/// keyHeads x group, so that each group reads one key head.
struct AttentionParts {
  /// Emits the extents and the run-time checks. The number of key heads must be
  /// static.
  AttentionParts(TensorEmitter &emit, attn::AttentionOp op, attn::AttentionOp::Adaptor operands,
                 mlir::Type compute);

  attn::AttentionOp op;
  attn::AttentionOp::Adaptor operands;
  mlir::Type compute;
  AttentionKeys source;
  /// `keys` counts the columns of the scores.
  mlir::OpFoldResult batch, queries, keyHeads, group, keys, valueDim;
};

/// The scores that the softmax is taken of, [B, Hk, r, Lq, Lk]:
///   s = scale q.k -> softcap -> score region -> alibi -> bias -> -inf where not visible.
mlir::Value emitMaskedScores(TensorEmitter &emit, const AttentionParts &parts);

/// States that captured tensors have elements where there are scores; `extents` are those of the scores.
void requireCaptures(TensorEmitter &emit, mlir::ValueRange captures,
                     llvm::ArrayRef<mlir::OpFoldResult> extents);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_ATTENTIONSCORES_H
