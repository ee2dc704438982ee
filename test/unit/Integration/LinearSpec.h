//===- LinearSpec.h - linear attention entries and their inputs -*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_LINEARSPEC_H
#define HEDDLE_TEST_INTEGRATION_LINEARSPEC_H

#include "Program.h"

namespace heddle::test {

/// What an entry of attn.linear_attention fixes at compile time.
struct LinearSpec {
  std::string rule = "gated_delta"; // linear, gated, delta or gated_delta
  DType type = DType::F32;          // of query, key, value and output
  int64_t queryHeads = 2, keyHeads = 2, valueHeads = 4, keyDim = 8, valueDim = 8;
  int decayRank = 3; // for gated rules: 1, 3 or 4
  DType gateType = DType::F32;
  bool normalize = false, nonCausal = false;
  bool initialState = true, ragged = false, slots = false;
  bool dynamicDims = false; // the dims of heads are not in the types; needs a scale
  DType indexType = DType::I32;
  std::optional<double> scale;
  /// Tokens of a chunk; 0: the recurrence.
  int64_t chunk = 0;

  bool isGated() const { return rule == "gated" || rule == "gated_delta"; }
  bool isDelta() const { return rule == "delta" || rule == "gated_delta"; }
  int64_t outputHeads() const { return std::max(queryHeads, valueHeads); }
  double factor() const;

  /// An entry with q, k, v, [decay], [beta], [state], [normalizer], [cu_seqlens], [slots] in and o out. With an initial state the final
  /// one is written over it; else it is an output of its own.
  std::string entry(const std::string &symbol) const;
  /// The options on one line.
  std::string text() const;
};

inline constexpr double kLinearEps = 1e-6;

/// Entries of several specs, compiled together: by the recurrence, or where a spec has a chunk, in the chunk form.
bool compileLinear(Program &program, const std::vector<LinearSpec> &specs, const Way &way = {});

/// How strong decay and beta are.
enum class Gates { Zero, Strong, Mixed, Ones };

/// The arrays of one call. Arrays of absent operands have no elements.
struct LinearInputs {
  Array query, key, value, decay, beta, state, normalizer, offsets, slots;

  /// Unit keys; with a normaliser keys and queries are positive.
  static LinearInputs random(const LinearSpec &spec, int64_t batch, int64_t tokens, Gates gates,
                             Random &random);
  /// Packed sequences of these lengths. With slots, sequence n has slots[n] of a pool.
  static LinearInputs packed(const LinearSpec &spec, const std::vector<int64_t> &lengths,
                             Gates gates, Random &random, const std::vector<int64_t> &slots = {},
                             int64_t pool = 0);

  int64_t sequences(const LinearSpec &spec) const;
  /// Tokens begin .. begin + count of every batch; states are shared.
  LinearInputs tokens(int64_t begin, int64_t count) const;
};

struct LinearOutputs {
  Array output, state, normalizer;
};

/// What the text of the operation says, in float64.
struct LinearResult {
  std::vector<double> output, state, normalizer;
};
LinearResult evaluateLinear(const LinearSpec &spec, const LinearInputs &inputs);

/// Calls the entry. States of `inputs` are not changed.
LinearOutputs callLinear(const Program &program, const std::string &entry, const LinearSpec &spec,
                         const LinearInputs &inputs);
Outcome tryCallLinear(const Program &program, const std::string &entry, const LinearSpec &spec,
                      LinearInputs inputs, LinearOutputs &outputs);

/// |actual - expected| <= limit |expected|, up to what the type can't hold, and no element is NaN.
void expectClose(const Array &actual, const std::vector<double> &expected, double limit,
                 const std::string &context);
void compareLinear(const LinearSpec &spec, const LinearOutputs &actual,
                   const LinearResult &expected, const std::string &context = "");

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_LINEARSPEC_H
