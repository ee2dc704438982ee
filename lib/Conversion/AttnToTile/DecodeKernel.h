//===- DecodeKernel.h - kernels of attention with few queries ---*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_DECODEKERNEL_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_DECODEKERNEL_H

#include "AttentionForm.h"

namespace heddle {

/// Results of chunks, which are the last operands of one kernel and the first of the other: accumulators [B, chunks, rows, dv], and
/// maxima and sums [B, chunks, 2, rows], where rows are Hq Lq, those of a key head together and those of a query in it, and the last
/// extent is filled up to whole cache lines. All are f32.
llvm::SmallVector<mlir::RankedTensorType> partialTypes(const AttentionForm &form);

/// Operands and results of the kernels, in the order of their arguments.
llvm::SmallVector<AttentionPart> decodeInputs(const AttentionForm &form);
llvm::SmallVector<AttentionPart> mergeInputs(const AttentionForm &form);
llvm::SmallVector<AttentionPart> attentionOutputs(const AttentionForm &form);

/// A private kernel with the arguments decodeInputs, partialTypes, and with one chunk attentionOutputs. Its grid is x = chunks * batch,
/// or with one chunk x = key heads * batch.
tile::KernelOp buildDecodeKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                 const AttentionForm &form);

/// Where there is more than one chunk: a private kernel with the arguments partialTypes, mergeInputs, the number of keys of each
/// sequence where kv_len does not say it, attentionOutputs. Its grid is x = key heads * batch.
tile::KernelOp buildMergeKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                const AttentionForm &form);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_DECODEKERNEL_H
