//===- AttentionSpec.h - attention entries and their inputs -----*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H
#define HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H

#include "AttentionFormula.h"
#include "Program.h"

#include <array>

namespace heddle::test {

/// What an attention entry fixes at compile time.
struct AttentionSpec {
  DType type = DType::F32;                 // of query and output
  std::optional<DType> keyType, valueType; // where they differ from `type`
  int64_t heads = 1, keyHeads = 1, keyDim = 16, valueDim = 16;
  AttentionRule rule;
  /// For each of [B, Hq, Lq, Lk] whether bias or mask has the full extent; otherwise 1.
  std::optional<std::array<bool, 4>> bias, mask;
  DType biasType = DType::F32, sinksType = DType::F32, lengthsType = DType::I32;
  bool sinks = false, lengths = false;
  int slopesRank = 0;       // 0: no slopes
  bool dynamicDims = false; // the head dims are not in the types; needs a scale

  /// An entry with the present operands of AttentionOperands in order, then o and lse.
  goldens::EntryText entry(const std::string &symbol) const;
  /// The options on one line.
  std::string text() const;
};

/// Extents of one call.
struct AttentionExtents {
  int64_t batch = 1, queries = 1, keys = 1;
};

/// The arrays of one call.
struct AttentionInputs {
  Array query, key, value, bias, mask, sinks, lengths, slopes;

  /// Random values; a tenth of the biases is -inf, some sinks are infinite, and key and value rows
  /// past a length hold NaN.
  static AttentionInputs random(const AttentionSpec &spec, const AttentionExtents &extents,
                                Random &random);

  AttentionOperands operands(const AttentionSpec &spec) const;
};

/// What a call gave.
struct AttentionOutputs {
  Array output, lse;
};

/// Calls the entry that `spec` describes.
AttentionOutputs callAttention(const Program &program, const std::string &entry,
                               const AttentionSpec &spec, AttentionInputs &inputs,
                               int32_t threads = 0);

/// Calls it and compares with the formula; `context` leads the message of a failure.
AttentionOutputs checkAttention(const Program &program, const std::string &entry,
                                const AttentionSpec &spec, AttentionInputs &inputs,
                                const std::string &context = "");

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H
