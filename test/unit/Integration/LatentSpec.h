//===- LatentSpec.h - latent attention and its formula ----------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_LATENTSPEC_H
#define HEDDLE_TEST_INTEGRATION_LATENTSPEC_H

#include "Program.h"

namespace heddle::test {

/// What an entry fixes at compile time. Without `rope` there is none; all data are of one type.
struct LatentSpec {
  DType type = DType::F32;
  int64_t heads = 3, latent = 20, nope = 12, rope = 8, value = 10;
  std::string form = "expanded";
  bool causal = false, lengths = false;
  bool mask = false;      // of keys, [B, 1, 1, Lk]
  bool joinsRows = false; // rope keys in the rows of the latent
  bool oneQuery = false;  // known from the type, as in decoding
  int64_t listLength = 0; // 0: no index lists
  double scale = 0;       // 0: 1 / sqrt(nope + rope)

  double scaleValue() const;
  goldens::EntryText entry(const std::string &symbol) const;
  std::string text() const;
};

struct LatentInputs {
  Array queryNope, queryRope, latent, keyRope, kvUp;
  Array lengths; // if the spec has some
  Array lists;   // the same
  Array mask;    // the same

  /// Lengths and masks are all keys, and lists random keys, some of them -1, of which none is there twice.
  static LatentInputs random(const LatentSpec &spec, int64_t batch, int64_t queries, int64_t keys,
                             Random &random);
  /// Data behind the lengths, and rows that no list of their sequence names, become NaN.
  void spoilHiddenRows();
};

struct LatentOutputs {
  Array output, lse;
};

/// The results in double precision, one number after the other, by the formula of the operation.
struct LatentExpected {
  std::vector<double> output, lse;
};
LatentExpected evaluateLatent(const LatentSpec &spec, const LatentInputs &inputs);

Outcome tryCallLatent(const Program &program, const std::string &symbol, const LatentSpec &spec,
                      const LatentInputs &inputs, LatentOutputs &outputs);

/// Calls the entry and compares it with the formula.
LatentOutputs checkLatent(const Program &program, const std::string &symbol, const LatentSpec &spec,
                          const LatentInputs &inputs);

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_LATENTSPEC_H
