//===- Tensor.cpp - a tensor that owns its memory -------------------------===//

#include "heddle/TensorIO/Tensor.h"
#include <cstdlib>
#include <cstring>

using namespace heddle;

void Tensor::Free::operator()(std::byte *pointer) const { std::free(pointer); }

Result<Tensor> Tensor::uninitialized(DType dtype, std::vector<int64_t> shape) {
  std::optional<int64_t> count = elementCount(shape, dtype);
  if (!count)
    return Failure{"shape " + shapeText(shape) + " of " + std::string(dtypeName(dtype)) +
                   " has more than 2^63 - 1 bytes"};
  Tensor tensor;
  tensor.size = size_t(*count) * dtypeSize(dtype);
  size_t padded = (tensor.size + 63) / 64 * 64;
  tensor.memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, padded ? padded : 64)));
  if (!tensor.memory)
    return Failure{"no memory for a tensor " + shapeText(shape) + " of " +
                   std::string(dtypeName(dtype)) + " (" + std::to_string(tensor.size) + " bytes)"};
  tensor.type = dtype;
  tensor.extents = std::move(shape);
  return tensor;
}

Result<Tensor> Tensor::zeros(DType dtype, std::vector<int64_t> shape) {
  Result<Tensor> tensor = uninitialized(dtype, std::move(shape));
  if (tensor)
    std::memset(tensor->data(), 0, tensor->bytes());
  return tensor;
}

Result<Tensor> Tensor::copyOf(const TensorView &view) {
  Result<Tensor> copy = uninitialized(view.dtype, view.shape);
  if (copy && copy->bytes())
    std::memcpy(copy->data(), view.data, copy->bytes());
  return copy;
}
