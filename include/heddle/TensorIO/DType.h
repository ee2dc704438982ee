//===- DType.h - element types of tensors ---------------------------------===//

#ifndef HEDDLE_TENSORIO_DTYPE_H
#define HEDDLE_TENSORIO_DTYPE_H

#include "heddle/Runtime/HalfFloat.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// F8E4M3 has no infinities and is found in checkpoints only: entries take no tensors of it.
enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, F8E4M3 };

/// The name in descriptions and messages: f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool f8e4m3.
std::string_view dtypeName(DType type);

/// The type that dtypeName() gives this name, if any.
std::optional<DType> parseDType(std::string_view name);

/// Bytes of one element.
size_t dtypeSize(DType type);

bool isFloat(DType type);

/// DLPack's type code of a type; its bits are 8 * dtypeSize().
uint8_t dlpackCode(DType type);

/// Element `index` of a buffer as a double. Exact except for i64 past 2^53.
double loadAsDouble(DType type, const std::byte *data, size_t index);

/// Stores `value` as element `index`, rounded to nearest even. Integers must be in range.
void storeFromDouble(DType type, std::byte *data, size_t index, double value);

/// Element `index` of a buffer of an integer type (or bool).
int64_t loadAsInteger(DType type, const std::byte *data, size_t index);

/// "[2, 3]".
std::string shapeText(const std::vector<int64_t> &shape);

/// The product of the extents, or nothing if it or its size in bytes does not fit in int64.
std::optional<int64_t> elementCount(const std::vector<int64_t> &shape, DType type);

} // namespace heddle

#endif // HEDDLE_TENSORIO_DTYPE_H
