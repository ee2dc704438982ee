//===- AttentionSpec.h - attention entries and their inputs -----*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H
#define HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H

#include "AttentionFormula.h"
#include "Program.h"

#include <array>
#include <vector>

namespace heddle::test {

/// Score regions that entries may have.
enum class ScoreForm {
  None,
  Distance, // less 1/8 of the distance, times the number of the head from 1
  Table, // plus the element [head, key - position + 8] of a captured table, at its borders the last one
  Documents // -inf where a captured [B, Lk] differs at position and key
};

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
  bool firstKeyMass = false, max = false, sinkMass = false; // results more
  ScoreForm score = ScoreForm::None;
  int slopesRank = 0;       // 0: no slopes
  bool dynamicDims = false; // the head dims are not in the types; needs a scale
  /// Numbers of queries and keys that the types say; -1: any.
  int64_t queries = -1, keys = -1;
  /// `tile.config`: queries and keys of a block of the tile kernel, and keys of a chunk; empty: what it chooses.
  std::vector<int64_t> block;

  /// An entry with the present operands of AttentionOperands in order, then o, lse and first.
  goldens::EntryText entry(const std::string &symbol) const;
  /// The options on one line.
  std::string text() const;
};

/// Extents of one call.
struct AttentionExtents {
  int64_t batch = 1, queries = 1, keys = 1;
};

/// How query, key and value lie in memory.
enum class AttentionMemory {
  Dense,
  Fused,        // slices of one projection, or of two where there are more keys than queries
  HeadsFirst,   // [B, H, L, d], transposed
  PaddedRows,   // rows with a gap behind them
  SharedKeyHead // one key head in memory, which all see by a stride of 0
};

/// The arrays of one call.
struct AttentionInputs {
  Array query, key, value, bias, mask, sinks, lengths, slopes, captured;

  /// Random values; a tenth of the biases is -inf, some sinks are infinite, and key and value rows
  /// past a length hold NaN.
  static AttentionInputs random(const AttentionSpec &spec, const AttentionExtents &extents,
                                Random &random);

  AttentionOperands operands(const AttentionSpec &spec) const;
  /// The rule of `spec` with its score region.
  AttentionRule rule(const AttentionSpec &spec) const;
  /// Those that the entry has, in its order.
  std::vector<Array *> arguments(const AttentionSpec &spec);

  /// Moves query, key and value. With SharedKeyHead all key heads become the first one.
  void moveTo(AttentionMemory memory);
};

/// What a call gave.
struct AttentionOutputs {
  Array output, lse;
  Array max, sinkMass, firstKeyMass; // only if they are asked for
};

/// Calls the entry that `spec` describes.
AttentionOutputs callAttention(const Program &program, const std::string &entry,
                               const AttentionSpec &spec, AttentionInputs &inputs,
                               int32_t threads = 0);

/// What a call should give: by the formula, and rounded where a kernel for 16-bit data rounds.
struct AttentionExpectation {
  AttentionExpectation(const AttentionSpec &spec, const AttentionInputs &inputs);

  AttentionResult exact;
  std::optional<AttentionResult> rounded;
};

/// Compares outputs as a whole and row by row; `context` leads the message of a failure.
void compareAttention(const AttentionOutputs &outputs, const AttentionExpectation &expected,
                      const AttentionSpec &spec, const std::string &context);

/// Calls it and compares.
AttentionOutputs checkAttention(const Program &program, const std::string &entry,
                                const AttentionSpec &spec, AttentionInputs &inputs,
                                const std::string &context = "");

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_ATTENTIONSPEC_H
