//===- Report.h - compares outputs and keeps count --------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_REPORT_H
#define HEDDLE_TOOLS_CHECKGOLDENS_REPORT_H

#include "heddle/TensorIO/Result.h"
#include "heddle/TensorIO/Tensor.h"

namespace heddle::goldens {

/// A copy of a tensor in another floating-point type, rounded to nearest even;
/// tensors of other types are copied as they are.
Tensor convert(const TensorView &view, DType type);

class Report {
public:
  /// Begins a file; the lines that follow name it.
  void beginFile(const std::string &path) { file = path; }
  /// Words behind the file's name in every line, such as "avx512 f16".
  void setConfiguration(const std::string &words) { configuration = words; }

  /// One output whose finite elements have a relative Frobenius error of at
  /// most `limit` and whose zeros, infinities and NaN are where `expected` has them.
  void compare(const std::string &what, const TensorView &actual, const TensorView &expected,
               double limit);
  /// One output that must have the same bits.
  void compareBits(const std::string &what, const TensorView &actual, const TensorView &expected);
  /// One output judged elsewhere.
  void check(const std::string &what, bool passed, const std::string &text);
  /// Something that could not be checked at all.
  void fail(const std::string &what, const std::string &why);
  /// One output that has no right answer to compare with.
  void skip(const std::string &what, const std::string &why) {
    print(what, "not compared: " + why);
  }
  /// Something that is left out for a good reason.
  void note(const std::string &text);

  /// Prints the last line; the exit code.
  int finish() const;

private:
  void print(const std::string &what, const std::string &text) const;

  std::string file, configuration;
  int64_t checked = 0, failed = 0;
};

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_REPORT_H
