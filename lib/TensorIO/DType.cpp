//===- DType.cpp - element types of tensors -------------------------------===//

#include "heddle/TensorIO/DType.h"
#include <cmath>
#include <cstring>
#include <dlpack/dlpack.h>

using namespace heddle;

namespace {

struct TypeFacts {
  DType type;
  std::string_view name;
  size_t size;
  uint8_t dlpackCode;
  bool isFloat;
};

constexpr uint8_t dlpackBool = 6, dlpackFloat8 = 10;

constexpr TypeFacts facts[] = {
    {DType::F64, "f64", 8, kDLFloat, true},
    {DType::F32, "f32", 4, kDLFloat, true},
    {DType::F16, "f16", 2, kDLFloat, true},
    {DType::BF16, "bf16", 2, kDLBfloat, true},
    {DType::I64, "i64", 8, kDLInt, false},
    {DType::I32, "i32", 4, kDLInt, false},
    {DType::I16, "i16", 2, kDLInt, false},
    {DType::I8, "i8", 1, kDLInt, false},
    {DType::U8, "u8", 1, kDLUInt, false},
    {DType::Bool, "bool", 1, dlpackBool, false},
    {DType::F8E4M3, "f8e4m3", 1, dlpackFloat8, true},
};

const TypeFacts &factsOf(DType type) { return facts[size_t(type)]; }

template <typename T> T load(const std::byte *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(std::byte *data, size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

/// A sign, 4 bits of exponent and 3 of mantissa; all ones is NaN, nothing is infinite.
double float8ToDouble(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  double value = (bits & 127) == 127 ? std::nan("")
                 : exponent == 0     ? std::ldexp(mantissa, -9)
                                     : std::ldexp(8 + mantissa, exponent - 10);
  return bits & 128 ? -value : value;
}

/// The nearest number, that of even bits of two as near; 448 at most.
uint8_t doubleToFloat8(double value) {
  uint8_t sign = std::signbit(value) ? 128 : 0;
  if (std::isnan(value))
    return sign | 127;
  double size = std::fmin(std::fabs(value), 448);
  int exponent = size < std::ldexp(1, -6) ? -6 : std::ilogb(size);
  // In steps of the last place; a step past the mantissa is one of the exponent.
  double steps = std::nearbyint(std::ldexp(size, 3 - exponent));
  return uint8_t(sign | int(steps + 8 * (exponent + 6)));
}

} // namespace

std::string_view heddle::dtypeName(DType type) { return factsOf(type).name; }

std::optional<DType> heddle::parseDType(std::string_view name) {
  for (const TypeFacts &fact : facts)
    if (fact.name == name)
      return fact.type;
  return std::nullopt;
}

size_t heddle::dtypeSize(DType type) { return factsOf(type).size; }

bool heddle::isFloat(DType type) { return factsOf(type).isFloat; }

uint8_t heddle::dlpackCode(DType type) { return factsOf(type).dlpackCode; }

double heddle::loadAsDouble(DType type, const std::byte *data, size_t index) {
  switch (type) {
  case DType::F64:
    return load<double>(data, index);
  case DType::F32:
    return load<float>(data, index);
  case DType::F16:
    return float16ToFloat(load<uint16_t>(data, index));
  case DType::BF16:
    return bfloat16ToFloat(load<uint16_t>(data, index));
  case DType::F8E4M3:
    return float8ToDouble(load<uint8_t>(data, index));
  default:
    return double(loadAsInteger(type, data, index));
  }
}

void heddle::storeFromDouble(DType type, std::byte *data, size_t index, double value) {
  switch (type) {
  case DType::F64:
    return store<double>(data, index, value);
  case DType::F32:
    return store<float>(data, index, float(value));
  case DType::F16:
    return store<uint16_t>(data, index, doubleToFloat16(value));
  case DType::BF16:
    return store<uint16_t>(data, index, doubleToBFloat16(value));
  case DType::I64:
    return store<int64_t>(data, index, int64_t(value));
  case DType::I32:
    return store<int32_t>(data, index, int32_t(value));
  case DType::I16:
    return store<int16_t>(data, index, int16_t(value));
  case DType::I8:
    return store<int8_t>(data, index, int8_t(value));
  case DType::U8:
    return store<uint8_t>(data, index, uint8_t(value));
  case DType::Bool:
    return store<uint8_t>(data, index, value != 0);
  case DType::F8E4M3:
    return store<uint8_t>(data, index, doubleToFloat8(value));
  }
}

int64_t heddle::loadAsInteger(DType type, const std::byte *data, size_t index) {
  switch (type) {
  case DType::I64:
    return load<int64_t>(data, index);
  case DType::I32:
    return load<int32_t>(data, index);
  case DType::I16:
    return load<int16_t>(data, index);
  case DType::I8:
    return load<int8_t>(data, index);
  case DType::U8:
  case DType::Bool:
    return load<uint8_t>(data, index);
  default:
    return int64_t(loadAsDouble(type, data, index));
  }
}

std::string heddle::shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d)
      text += ", ";
    text += std::to_string(shape[d]);
  }
  return text + "]";
}

std::optional<int64_t> heddle::elementCount(const std::vector<int64_t> &shape, DType type) {
  int64_t count = 1, bytes = int64_t(dtypeSize(type));
  // An empty tensor's other extents must multiply to something sane as well.
  for (int64_t extent : shape) {
    count *= extent == 0 ? 0 : 1;
    if (extent < 0 || __builtin_mul_overflow(bytes, extent == 0 ? 1 : extent, &bytes))
      return std::nullopt;
  }
  return count == 0 ? 0 : bytes / int64_t(dtypeSize(type));
}
