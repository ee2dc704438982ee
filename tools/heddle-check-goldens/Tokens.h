//===- Tokens.h - pieces of tensors [B, T, ...] -----------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_TOKENS_H
#define HEDDLE_TOOLS_CHECKGOLDENS_TOKENS_H

#include "heddle/TensorIO/Tensor.h"

namespace heddle::goldens {

/// A copy of tokens `begin` to `begin + count` of each batch.
Tensor sliceTokens(const TensorView &tensor, int64_t begin, int64_t count);

/// Writes tokens from `begin` on.
void insertTokens(Tensor &tensor, const TensorView &slice, int64_t begin);

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_TOKENS_H
