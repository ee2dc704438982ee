//===- OpCase.cpp - what generators of random cases share -----------------===//

#include "OpCase.h"

#include <cmath>

namespace heddle::test {

void PrintTo(const OpKind &kind, std::ostream *os) { *os << kind.name; }

DType randomFloat(Random &random) {
  static const DType types[] = {DType::F32, DType::F32, DType::F16, DType::BF16, DType::F64};
  return pick(random, types);
}

DType randomNarrowFloat(Random &random) {
  static const DType types[] = {DType::F32, DType::F32, DType::F16, DType::BF16};
  return pick(random, types);
}

DType randomIndexType(Random &random) { return random.chance(0.5) ? DType::I32 : DType::I64; }

int64_t randomWidth(Random &random) {
  static const int64_t widths[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 96, 100, 128, 257};
  return pick(random, widths);
}

Array::Index RandomShape::extents(Random &random) const {
  Array::Index shape;
  for (int64_t extent : type)
    shape.push_back(extent >= 0 ? extent : random.chance(0.04) ? 0 : random.integer(1, most));
  return shape;
}

RandomShape randomRows(Random &random, int low, int high, int64_t width, bool dynamicWidth) {
  RandomShape shape;
  int64_t rank = random.integer(low, high);
  shape.most = rank > 5 ? 2 : rank > 3 ? 3 : 6;
  for (int64_t d = 0; d + 1 < rank; ++d)
    shape.type.push_back(random.chance(0.6)    ? -1
                         : random.chance(0.05) ? 0
                                               : random.integer(1, shape.most));
  shape.type.push_back(dynamicWidth ? -1 : width);
  return shape;
}

Array randomRowsOf(DType type, const Array::Index &shape, Random &random, double range) {
  Array rows = Array::uniform(type, shape, random, -range, range);
  int64_t width = shape.back();
  for (int64_t first = 0; width > 0 && first < rows.count(); first += width) {
    double kind = random.real(0, 1);
    if (kind > 0.2)
      continue;
    double value = kind < 0.1 ? 0 : random.real(-range, range);
    for (int64_t i = 0; i < width; ++i)
      rows.set(rows.indexOf(first + i), value);
  }
  return rows;
}

std::string attributeText(const std::vector<std::string> &attributes) {
  std::string text;
  for (const std::string &attribute : attributes)
    text += (text.empty() ? " {" : ", ") + attribute;
  return text.empty() ? "" : text + "}";
}

double unitOf(DType type) {
  switch (type) {
  case DType::F64:
    return 0x1p-53;
  case DType::F32:
    return 0x1p-24;
  case DType::F16:
    return 0x1p-11;
  case DType::BF16:
    return 0x1p-8;
  default:
    return 0;
  }
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

} // namespace heddle::test
