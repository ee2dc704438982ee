//===- Array.h - tensors with strides for tests -----------------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_ARRAY_H
#define HEDDLE_TEST_INTEGRATION_ARRAY_H

#include "heddle/TensorIO/DType.h"

#include <dlpack/dlpack.h>

#include <functional>
#include <memory>
#include <optional>

namespace heddle::test {

/// A small generator whose numbers are the same everywhere.
class Random {
public:
  explicit Random(int64_t seed) : state(uint64_t(seed)) {}

  uint64_t bits();
  /// From low to high, both included.
  int64_t integer(int64_t low, int64_t high) {
    return low + int64_t(bits() % uint64_t(high - low + 1));
  }
  /// Uniform in [low, high).
  double real(double low, double high) {
    return low + (high - low) * double(bits() >> 11) * 0x1p-53;
  }
  bool chance(double probability) { return real(0, 1) < probability; }

private:
  uint64_t state;
};

/// A number that the environment variable of that name gives.
std::optional<int64_t> numberFromEnvironment(const char *name);

/// What random configurations depend on: HEDDLE_RANDOM_SEED, or 1.
int64_t randomSeed();

/// A view of shared memory with any strides.
class Array {
public:
  using Index = std::vector<int64_t>;

  Array() = default;

  /// A dense array whose bytes are all 0xff: NaN in every floating-point type.
  Array(DType type, Index shape);

  /// A view of memory that somebody else owns.
  static Array over(DType type, void *memory, Index shape, Index strides, int64_t firstElement);

  static Array filled(DType type, Index shape, const std::function<double(const Index &)> &value);
  static Array constant(DType type, Index shape, double value);
  static Array uniform(DType type, Index shape, Random &random, double low = -1, double high = 1);

  DType type() const { return elementType; }
  const Index &shape() const { return extents; }
  const Index &strides() const { return steps; }
  int64_t count() const;

  double get(const Index &index) const;
  /// The same for four dimensions, without allocation.
  double get(int64_t a, int64_t b, int64_t c, int64_t d) const;
  /// The values of one row of a dense f64 array of rank 4.
  const double *row(int64_t a, int64_t b, int64_t c) const;
  void set(const Index &index, double value);
  /// Element by its place in row-major order.
  double operator[](int64_t place) const { return get(indexOf(place)); }
  Index indexOf(int64_t place) const;

  /// All elements in row-major order.
  std::vector<double> values() const;

  /// Views of the same memory.
  Array slice(size_t dim, int64_t begin, int64_t extent) const;
  Array withStrides(Index shape, Index strides, int64_t firstElement = 0) const;
  /// A dense copy, of another type if given.
  Array copy() const { return copy(elementType); }
  Array copy(DType type) const;

  /// Memory shifted by bytes from where it should be; for misaligned bases.
  Array shiftedCopy(size_t bytes) const;

  /// Whether all elements have the same bits.
  bool sameBits(const Array &other) const;
  /// Whether every byte is 0xff still.
  bool untouched() const;

  /// A DLPack view; valid as long as this object stays where it is.
  DLTensor *tensor();

private:
  std::byte *address(const Index &index) const;

  DType elementType = DType::F32;
  Index extents, steps;
  std::shared_ptr<std::byte[]> memory;
  size_t byteOffset = 0;
  DLTensor view = {};
};

/// Relative Frobenius error over the finite elements. Infinite if zeros, infinities or NaN are
/// elsewhere than in `expected`.
double relativeError(const Array &actual, const std::vector<double> &expected);
/// The largest difference of an element; infinite under the same conditions.
double largestError(const Array &actual, const std::vector<double> &expected);

/// Limits on relativeError for one operation.
double errorLimit(DType type);

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_ARRAY_H
