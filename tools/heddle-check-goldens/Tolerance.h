//===- Tolerance.h - how far an output may be off ---------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_TOLERANCE_H
#define HEDDLE_TOOLS_CHECKGOLDENS_TOLERANCE_H

#include "heddle/TensorIO/DType.h"
#include "heddle/TensorIO/Result.h"

#include <map>

namespace heddle::goldens {

/// What a limit is about.
enum class Quantity { Value, LogSumExp };

/// Limits on the relative Frobenius error of a tensor, from the text that a
/// golden file carries as `tolerance`:
///
///     relative Frobenius error: f32 1e-5, f16 2e-3, bf16 2e-2; LSE 1e-3 absolute; ...
///     o: f32 5e-3, f16 5e-3, bf16 2e-2 ...; lse 1e-6 relative; one_key: o exactly 1
///
/// 1. The numbers behind f32, f16 and bf16 count.
/// 2. An operation file whose f32 limit is the general 1e-5 gets the general
///    limits of a single operation where those are tighter: f16 6e-4, bf16 4e-3.
/// 3. LSE: 1e-5 in f32, else 1e-3, or what the file gives as relative.
/// 4. "C: o exactly N" sets the limit 0 for output o of case C.
class Tolerance {
public:
  /// The limits of an operation file, from its text.
  static Result<Tolerance> ofOperations(const std::string &text);
  /// The general limits of one operation, and of a layer, where roundings add up.
  static Tolerance ofOperation();
  static Tolerance ofLayer();
  /// The limits of a block file, from its text.
  static Result<Tolerance> ofBlocks(const std::string &text);
  /// The limits of a decoder of so many layers; rounding adds up over layers.
  static Tolerance ofDecoder(int64_t layers);

  double limit(DType type, Quantity quantity = Quantity::Value) const;
  double limit(DType type, const std::string &caseName, const std::string &output,
               Quantity quantity) const;

private:
  static Result<Tolerance> parse(const std::string &text);

  std::map<DType, double> values;
  double logSumExp = 0; // 0: the general limits
  std::map<std::pair<std::string, std::string>, double> exact;
};

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_TOLERANCE_H
