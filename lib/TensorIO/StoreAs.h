//===- StoreAs.h - stores numbers of a type known before a loop -*- C++ -*-===//

#ifndef HEDDLE_LIB_TENSORIO_STOREAS_H
#define HEDDLE_LIB_TENSORIO_STOREAS_H

#include "heddle/TensorIO/DType.h"

namespace heddle {

/// Calls `body` with a function that stores a number, a double, at an index of `out`, rounded once.
/// The types that weights have are told apart out here, not for each number.
template <typename Body> void withStore(DType type, std::byte *out, const Body &body) {
  auto *halves = reinterpret_cast<uint16_t *>(out);
  auto *floats = reinterpret_cast<float *>(out);
  switch (type) {
  case DType::BF16:
    return body([halves](size_t at, double number) { halves[at] = doubleToBFloat16(number); });
  case DType::F16:
    return body([halves](size_t at, double number) { halves[at] = doubleToFloat16(number); });
  case DType::F32:
    return body([floats](size_t at, double number) { floats[at] = float(number); });
  default:
    return body([=](size_t at, double number) { storeFromDouble(type, out, at, number); });
  }
}

} // namespace heddle

#endif // HEDDLE_LIB_TENSORIO_STOREAS_H
