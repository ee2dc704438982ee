//===- Verify.h - comparison with expected values -------------------------===//

#ifndef HEDDLE_TOOLS_RUN_VERIFY_H
#define HEDDLE_TOOLS_RUN_VERIFY_H

#include "heddle/TensorIO/Tensor.h"

namespace heddle {
namespace run {

struct Comparison {
  double relativeError = 0;        // |actual - expected| / |expected|, both Frobenius norms
  double largestError = 0;         // of one element
  std::vector<int64_t> where;      // its index
  bool nonFinite = false;          // one is NaN or infinite where the other differs; `where` says
  double actual = 0, expected = 0; // the elements there
};

/// Compares tensors of one shape; the types may differ. Equal infinities agree, and so do two NaN.
/// If the expected tensor is 0 the relative error is the absolute one.
Comparison compare(const TensorView &actual, const TensorView &expected);

/// Describes the comparison on one line and says whether it keeps the limits.
struct Verdict {
  bool passed;
  std::string text;
};
Verdict judge(const std::string &name, const Comparison &comparison, double rtol,
              std::optional<double> atol);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_VERIFY_H
