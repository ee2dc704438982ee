//===- AttentionFormula.h - softmax attention in float64 --------*- C++ -*-===//
//
// The definition of attn.attention, written row by row from its formulas and
// without sharing code with the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_INTEGRATION_ATTENTIONFORMULA_H
#define HEDDLE_TEST_INTEGRATION_ATTENTIONFORMULA_H

#include "Array.h"

#include <functional>
#include <optional>

namespace heddle::test {

/// Element [b, h, i, j] of a bias or mask, whose extents of 1 are broadcast.
double broadcast(const Array &array, int64_t b, int64_t h, int64_t i, int64_t j);

/// The operands that a call has; null where it has none.
struct AttentionOperands {
  const Array *query = nullptr, *key = nullptr, *value = nullptr;
  const Array *bias = nullptr, *mask = nullptr, *sinks = nullptr, *lengths = nullptr,
              *slopes = nullptr;
};

struct AttentionRule {
  bool causal = false;
  int64_t left = -1, right = -1;
  int64_t globalKeys = 0; // that `left` does not hide
  double softcap = 0;     // 0: none
  std::optional<double> scale;
  /// The score region: of a score, batch, head, position of the query and key.
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
};

/// Row-major [B, Lq, Hq, dv] and [B, Hq, Lq].
struct AttentionResult {
  std::vector<double> output, lse;
  /// The weight of key 0 of each row, its largest score and the weight of the sink, as lse is laid out.
  std::vector<double> firstKeyMass, max, sinkMass;
  /// Norm of each output row if all values were positive, [B, Lq, Hq]: what its errors are relative to.
  std::vector<double> magnitude;
};

/// Where a kernel rounds what the formula does not.
struct AttentionRounding {
  DType weights, output;
};

AttentionResult evaluateAttention(const AttentionOperands &operands, const AttentionRule &rule,
                                  const std::optional<AttentionRounding> &rounding = {});

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_ATTENTIONFORMULA_H
