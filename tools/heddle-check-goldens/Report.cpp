//===- Report.cpp - compares outputs and keeps count ----------------------===//

#include "Report.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace heddle::goldens {

Tensor convert(const TensorView &view, DType type) {
  if (!isFloat(view.dtype))
    type = view.dtype;
  Result<Tensor> tensor = Tensor::zeros(type, view.shape);
  if (view.dtype == type) {
    if (view.bytes)
      std::memcpy(tensor->data(), view.data, view.bytes);
  } else {
    for (int64_t i = 0; i < view.count(); ++i)
      storeFromDouble(type, tensor->data(), size_t(i),
                      loadAsDouble(view.dtype, view.data, size_t(i)));
  }
  return std::move(*tensor);
}

static std::string numberText(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", number);
  return text;
}

static std::string elementText(const TensorView &view, int64_t offset) {
  std::vector<int64_t> index(view.shape.size());
  for (size_t d = index.size(); d-- > 0; offset /= view.shape[d])
    index[d] = offset % view.shape[d];
  return shapeText(index);
}

void Report::print(const std::string &what, const std::string &text) const {
  std::printf("%s%s%s: %s: %s\n", file.c_str(), configuration.empty() ? "" : " ",
              configuration.c_str(), what.c_str(), text.c_str());
}

void Report::compare(const std::string &what, const TensorView &actual, const TensorView &expected,
                     double limit) {
  if (actual.shape != expected.shape)
    return check(what, false,
                 "shape is " + shapeText(actual.shape) + ", expected " + shapeText(expected.shape));
  double errorSquares = 0, expectedSquares = 0;
  for (int64_t i = 0; i < actual.count(); ++i) {
    double found = loadAsDouble(actual.dtype, actual.data, size_t(i));
    double wanted = loadAsDouble(expected.dtype, expected.data, size_t(i));
    bool bothFinite = std::isfinite(found) && std::isfinite(wanted) && wanted != 0;
    if (!bothFinite) {
      if (found == wanted || (std::isnan(found) && std::isnan(wanted)))
        continue;
      return check(what, false,
                   numberText(found) + " at " + elementText(actual, i) + ", expected exactly " +
                       numberText(wanted));
    }
    errorSquares += (found - wanted) * (found - wanted);
    expectedSquares += wanted * wanted;
  }
  double error = expectedSquares > 0 ? std::sqrt(errorSquares / expectedSquares) : 0;
  check(what, error <= limit, "error " + numberText(error) + ", limit " + numberText(limit));
}

void Report::compareBits(const std::string &what, const TensorView &actual,
                         const TensorView &expected) {
  if (actual.shape != expected.shape || actual.dtype != expected.dtype)
    return check(what, false,
                 "found " + std::string(dtypeName(actual.dtype)) + " " + shapeText(actual.shape) +
                     ", expected " + std::string(dtypeName(expected.dtype)) + " " +
                     shapeText(expected.shape));
  size_t size = dtypeSize(actual.dtype);
  for (int64_t i = 0; i < actual.count(); ++i)
    if (std::memcmp(actual.data + size_t(i) * size, expected.data + size_t(i) * size, size) != 0)
      return check(what, false, "other bits at " + elementText(actual, i));
  check(what, true, "same bits");
}

void Report::check(const std::string &what, bool passed, const std::string &text) {
  ++checked;
  failed += !passed;
  print(what, (passed ? "ok: " : "FAILED: ") + text);
}

void Report::fail(const std::string &what, const std::string &why) {
  ++failed;
  print(what, "FAILED: " + why);
}

void Report::note(const std::string &text) { std::printf("%s\n", text.c_str()); }

int Report::finish() const {
  if (checked == 0 && failed == 0)
    std::printf("there is nothing to check; expected .safetensors files, or folders with such or "
                "with a config.json\n");
  std::printf("%lld outputs checked, %lld failed\n", static_cast<long long>(checked),
              static_cast<long long>(failed));
  return failed != 0 || checked == 0 ? 1 : 0;
}

} // namespace heddle::goldens
