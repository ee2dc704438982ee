//===- LatentAttention.h - latent attention as softmax attention *- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LATENTATTENTION_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LATENTATTENTION_H

#include "TensorEmitter.h"
#include "heddle/Dialect/Attn/Attn.h"

namespace heddle {

/// The order of products of latent attention.
enum class LatentForm { Expanded, Absorbed };

/// Reports an error unless all extents are static that code depends on.
llvm::LogicalResult verifyStaticExtents(attn::LatentAttentionOp op);

/// Projections and an `attn.attention` that give the results of a latent attention in one form. Products with W_UK and W_UV are rounded
/// to the element types of the operands; with a type `wide` they are kept in it, and the form is always the expanded one. Index lists
/// make it a loop over queries, each of which attends to a copy of the rows that it chose.
llvm::SmallVector<mlir::Value> emitLatentAttention(TensorEmitter &emit, attn::LatentAttentionOp op,
                                                   attn::LatentAttentionOp::Adaptor operands,
                                                   LatentForm form, mlir::Type wide = {});

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_LATENTATTENTION_H
