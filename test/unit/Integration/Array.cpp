//===- Array.cpp - tensors with strides for tests -------------------------===//

#include "Array.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace heddle::test {

uint64_t Random::bits() {
  // SplitMix64.
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::optional<int64_t> numberFromEnvironment(const char *name) {
  const char *text = std::getenv(name);
  return text ? std::optional<int64_t>(std::atoll(text)) : std::nullopt;
}

int64_t randomSeed() { return numberFromEnvironment("HEDDLE_RANDOM_SEED").value_or(1); }

static int64_t product(const Array::Index &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

static Array::Index denseStrides(const Array::Index &shape) {
  Array::Index strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    strides[d] = step;
  return strides;
}

/// Calls `visit` for all indices of a shape in row-major order.
template <typename Function> static void forEachIndex(const Array::Index &shape, Function visit) {
  Array::Index index(shape.size());
  for (int64_t left = product(shape); left > 0; --left) {
    visit(std::as_const(index));
    for (size_t d = shape.size(); d-- > 0; index[d] = 0)
      if (++index[d] < shape[d])
        break;
  }
}

Array::Array(DType type, Index shape)
    : elementType(type), extents(std::move(shape)), steps(denseStrides(extents)) {
  // 64 bytes more, so that a copy can be shifted and an empty array has an address.
  size_t bytes = size_t(product(extents)) * dtypeSize(type) + 64;
  memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)),
               [](std::byte *pointer) { std::free(pointer); });
  std::memset(memory.get(), 0xff, bytes);
}

Array Array::over(DType type, void *memory, Index shape, Index strides, int64_t firstElement) {
  Array array;
  array.elementType = type;
  array.memory.reset(static_cast<std::byte *>(memory), [](std::byte *) {});
  return array.withStrides(std::move(shape), std::move(strides), firstElement);
}

Array Array::filled(DType type, Index shape, const std::function<double(const Index &)> &value) {
  Array array(type, std::move(shape));
  forEachIndex(array.extents, [&](const Index &index) { array.set(index, value(index)); });
  return array;
}

Array Array::constant(DType type, Index shape, double value) {
  return filled(type, std::move(shape), [&](const Index &) { return value; });
}

Array Array::uniform(DType type, Index shape, Random &random, double low, double high) {
  return filled(type, std::move(shape), [&](const Index &) { return random.real(low, high); });
}

int64_t Array::count() const { return product(extents); }

Array::Index Array::indexOf(int64_t place) const {
  Index index(extents.size());
  for (size_t d = extents.size(); d-- > 0; place /= extents[d])
    index[d] = place % extents[d];
  return index;
}

std::byte *Array::address(const Index &index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset += index[d] * steps[d];
  return memory.get() + byteOffset + offset * int64_t(dtypeSize(elementType));
}

double Array::get(const Index &index) const { return loadAsDouble(elementType, address(index), 0); }

double Array::get(int64_t a, int64_t b, int64_t c, int64_t d) const {
  int64_t offset = a * steps[0] + b * steps[1] + c * steps[2] + d * steps[3];
  return loadAsDouble(elementType,
                      memory.get() + byteOffset + offset * int64_t(dtypeSize(elementType)), 0);
}

const double *Array::row(int64_t a, int64_t b, int64_t c) const {
  return reinterpret_cast<const double *>(memory.get()) + a * steps[0] + b * steps[1] +
         c * steps[2];
}

void Array::set(const Index &index, double value) {
  storeFromDouble(elementType, address(index), 0, value);
}

std::vector<double> Array::values() const {
  std::vector<double> list;
  list.reserve(size_t(count()));
  forEachIndex(extents, [&](const Index &index) { list.push_back(get(index)); });
  return list;
}

Array Array::slice(size_t dim, int64_t begin, int64_t extent) const {
  Array part = *this;
  part.byteOffset += size_t(begin * steps[dim]) * dtypeSize(elementType);
  part.extents[dim] = extent;
  return part;
}

Array Array::withStrides(Index shape, Index strides, int64_t firstElement) const {
  Array part = *this;
  part.byteOffset += size_t(firstElement) * dtypeSize(elementType);
  part.extents = std::move(shape);
  part.steps = std::move(strides);
  return part;
}

Array Array::copy(DType type) const {
  if (type != elementType)
    return filled(type, extents, [&](const Index &index) { return get(index); });
  Array other(type, extents);
  forEachIndex(extents, [&](const Index &index) {
    std::memcpy(other.address(index), address(index), dtypeSize(type));
  });
  return other;
}

Array Array::shiftedCopy(size_t bytes) const {
  Array other(elementType, extents);
  other.byteOffset = bytes;
  forEachIndex(extents, [&](const Index &index) {
    std::memcpy(other.address(index), address(index), dtypeSize(elementType));
  });
  return other;
}

bool Array::sameBits(const Array &other) const {
  if (elementType != other.elementType || extents != other.extents)
    return false;
  bool isSame = true;
  forEachIndex(extents, [&](const Index &index) {
    isSame &= std::memcmp(address(index), other.address(index), dtypeSize(elementType)) == 0;
  });
  return isSame;
}

bool Array::untouched() const {
  bool isUntouched = true;
  forEachIndex(extents, [&](const Index &index) {
    const std::byte *element = address(index);
    for (size_t byte = 0; byte < dtypeSize(elementType); ++byte)
      isUntouched &= element[byte] == std::byte(0xff);
  });
  return isUntouched;
}

DLTensor *Array::tensor() {
  view.data = memory.get();
  view.device = {kDLCPU, 0};
  view.ndim = int32_t(extents.size());
  view.dtype = {dlpackCode(elementType), uint8_t(8 * dtypeSize(elementType)), 1};
  view.shape = extents.data();
  view.strides = steps.data();
  view.byte_offset = byteOffset;
  return &view;
}

/// Calls `note(found, wanted)` for finite pairs; false if anything else differs.
static bool forFinitePairs(const Array &actual, const std::vector<double> &expected,
                           const std::function<void(double, double)> &note) {
  if (actual.count() != int64_t(expected.size()))
    return false;
  bool agrees = true;
  const double *wanted = expected.data();
  forEachIndex(actual.shape(), [&](const Array::Index &index) {
    double found = actual.get(index);
    if (std::isfinite(found) && std::isfinite(*wanted) && *wanted != 0)
      note(found, *wanted);
    else
      agrees &= found == *wanted || (std::isnan(found) && std::isnan(*wanted));
    ++wanted;
  });
  return agrees;
}

double relativeError(const Array &actual, const std::vector<double> &expected) {
  double error = 0, norm = 0;
  bool agrees = forFinitePairs(actual, expected, [&](double found, double wanted) {
    error += (found - wanted) * (found - wanted);
    norm += wanted * wanted;
  });
  if (!agrees)
    return INFINITY;
  return norm > 0 ? std::sqrt(error / norm) : 0;
}

double largestError(const Array &actual, const std::vector<double> &expected) {
  double largest = 0;
  bool agrees = forFinitePairs(actual, expected, [&](double found, double wanted) {
    largest = std::max(largest, std::abs(found - wanted));
  });
  return agrees ? largest : INFINITY;
}

double errorLimit(DType type) {
  return type == DType::F16 ? 6e-4 : type == DType::BF16 ? 4e-3 : 1e-5;
}

} // namespace heddle::test
