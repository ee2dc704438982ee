//===- AttentionForms.h - where attention finds its keys --------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_ATTN_ATTENTIONFORMS_H
#define HEDDLE_DIALECTS_ATTN_ATTENTIONFORMS_H

#include "heddle/Dialect/Attn/Attn.h"

namespace heddle::attn {

/// How many sequences there are, and positions of keys of each, as far as types tell it. Those of packed sequences differ.
int64_t knownSequences(AttentionOp op);
int64_t knownKeys(AttentionOp op);

/// Checks the operands that name pages, packed sequences and lists of keys, against each other and against the tensors.
llvm::LogicalResult verifyForms(AttentionOp op);

} // namespace heddle::attn

#endif // HEDDLE_DIALECTS_ATTN_ATTENTIONFORMS_H
