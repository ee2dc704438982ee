//===- Tokens.cpp - pieces of tensors [B, T, ...] -------------------------===//

#include "Tokens.h"

#include <cstring>

namespace heddle::goldens {

/// Bytes of one token of one batch.
static size_t tokenBytes(DType type, const std::vector<int64_t> &shape) {
  size_t bytes = dtypeSize(type);
  for (size_t dim = 2; dim < shape.size(); ++dim)
    bytes *= size_t(shape[dim]);
  return bytes;
}

Tensor sliceTokens(const TensorView &tensor, int64_t begin, int64_t count) {
  std::vector<int64_t> shape = tensor.shape;
  size_t bytes = tokenBytes(tensor.dtype, shape), length = size_t(shape[1]);
  shape[1] = count;
  Tensor slice = std::move(*Tensor::zeros(tensor.dtype, shape));
  for (size_t b = 0; b < size_t(shape[0]); ++b)
    std::memcpy(slice.data() + b * size_t(count) * bytes,
                tensor.data + (b * length + size_t(begin)) * bytes, size_t(count) * bytes);
  return slice;
}

void insertTokens(Tensor &tensor, const TensorView &slice, int64_t begin) {
  size_t bytes = tokenBytes(slice.dtype, slice.shape);
  size_t count = size_t(slice.shape[1]), length = size_t(tensor.shape()[1]);
  for (size_t b = 0; b < size_t(slice.shape[0]); ++b)
    std::memcpy(tensor.data() + (b * length + size_t(begin)) * bytes,
                slice.data + b * count * bytes, count * bytes);
}

} // namespace heddle::goldens
