//===- Tensor.h - a tensor that owns its memory ---------------------------===//

#ifndef HEDDLE_TENSORIO_TENSOR_H
#define HEDDLE_TENSORIO_TENSOR_H

#include "heddle/TensorIO/DType.h"
#include "heddle/TensorIO/Result.h"
#include <memory>

namespace heddle {

/// Dense row-major view of memory that somebody else owns.
struct TensorView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte *data = nullptr;
  size_t bytes = 0;

  int64_t count() const { return int64_t(bytes / dtypeSize(dtype)); }
};

/// Dense row-major tensor. Its memory is aligned to 64 bytes.
class Tensor {
public:
  Tensor() = default;

  /// A tensor of zeros; fails if it is too large for the address space or memory runs out.
  static Result<Tensor> zeros(DType dtype, std::vector<int64_t> shape);

  /// The same with whatever the memory held.
  static Result<Tensor> uninitialized(DType dtype, std::vector<int64_t> shape);

  /// A copy of a view.
  static Result<Tensor> copyOf(const TensorView &view);

  DType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return extents; }
  int64_t count() const { return int64_t(size / dtypeSize(type)); }
  size_t bytes() const { return size; }
  std::byte *data() { return memory.get(); }
  const std::byte *data() const { return memory.get(); }
  TensorView view() const { return {type, extents, memory.get(), size}; }

private:
  struct Free {
    void operator()(std::byte *pointer) const;
  };
  DType type = DType::F32;
  std::vector<int64_t> extents;
  size_t size = 0;
  std::unique_ptr<std::byte, Free> memory;
};

} // namespace heddle

#endif // HEDDLE_TENSORIO_TENSOR_H
