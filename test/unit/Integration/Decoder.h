//===- Decoder.h - a small checkpoint under test ----------------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_DECODER_H
#define HEDDLE_TEST_INTEGRATION_DECODER_H

#include "Program.h"

namespace heddle::test {

/// The checkpoint test/goldens/models/llama, compiled once, with its weights.
class Decoder {
public:
  /// Null after a gtest failure.
  static Decoder *shared();

  /// The arguments of one call of 'prefill' or 'decode', besides the weights.
  struct Call {
    Array tokens, start, logits;
    std::vector<Array> caches;
  };

  /// Room for `length` tokens, all of them 0, in caches of `capacity` rows of NaN.
  Call makeCall(int64_t batch, int64_t length, int64_t capacity) const;

  Outcome tryCall(const std::string &entry, Call &call, int32_t threads = 0);

  int64_t vocabulary() const { return vocabularySize; }

private:
  Decoder() = default;
  bool load();

  Program program;
  std::vector<Array> weights;
  std::vector<Array::Index> cacheShapes; // [Hk, d] of each cache
  int64_t vocabularySize = 0;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_DECODER_H
