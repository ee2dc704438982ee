//===- Verify.cpp - comparison with expected values -----------------------===//

#include "Verify.h"
#include <cmath>
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

static std::vector<int64_t> unravel(int64_t offset, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; offset /= shape[d])
    index[d] = offset % shape[d];
  return index;
}

Comparison heddle::run::compare(const TensorView &actual, const TensorView &expected) {
  Comparison result;
  double errorSquares = 0, expectedSquares = 0;
  auto note = [&](int64_t i, double found, double wanted) {
    result.where = unravel(i, actual.shape);
    result.actual = found;
    result.expected = wanted;
  };
  for (int64_t i = 0, count = actual.count(); i < count; ++i) {
    double found = loadAsDouble(actual.dtype, actual.data, size_t(i));
    double wanted = loadAsDouble(expected.dtype, expected.data, size_t(i));
    if (!std::isfinite(found) || !std::isfinite(wanted)) {
      if (found == wanted || (std::isnan(found) && std::isnan(wanted)))
        continue;
      result.nonFinite = true;
      result.relativeError = result.largestError = INFINITY;
      note(i, found, wanted);
      return result;
    }
    double error = std::abs(found - wanted);
    errorSquares += error * error;
    expectedSquares += wanted * wanted;
    if (error > result.largestError) {
      result.largestError = error;
      note(i, found, wanted);
    }
  }
  result.relativeError = std::sqrt(errorSquares);
  if (expectedSquares > 0)
    result.relativeError /= std::sqrt(expectedSquares);
  return result;
}

Verdict heddle::run::judge(const std::string &name, const Comparison &comparison, double rtol,
                           std::optional<double> atol) {
  bool passed = !comparison.nonFinite && comparison.relativeError <= rtol &&
                (!atol || comparison.largestError <= *atol);
  char text[256];
  std::snprintf(text, sizeof(text), "relative error %.3g (limit %.3g), largest error %.3g",
                comparison.relativeError, rtol, comparison.largestError);
  std::string line = "verify " + name + ": " + (passed ? "ok: " : "FAILED: ") + text;
  if (atol) {
    std::snprintf(text, sizeof(text), " (limit %.3g)", *atol);
    line += text;
  }
  if (!comparison.where.empty()) {
    std::snprintf(text, sizeof(text), ": found %.9g, expected %.9g", comparison.actual,
                  comparison.expected);
    line += " at " + shapeText(comparison.where) + text;
  }
  return {passed, line};
}
