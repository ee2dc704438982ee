//===- LatentEdgesTest.cpp - latent attention at its edges ----------------===//
//
// Both forms for odd extents, for queries that see nothing, and for scores that are
// too large for 16 bits. One query of many heads is computed as many queries, so it is
// a case of its own.
//
//===----------------------------------------------------------------------===//

#include "LatentSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static const std::vector<Way> &oneWay() {
  static const std::vector<Way> ways = {Way()};
  return ways;
}

namespace {

/// All forms come in two halves: expanded, then absorbed.
class LatentEdges : public EachWay<LatentEdges> {
public:
  static void addEntries(Program &program) {
    specs.clear();
    for (const char *form : {"expanded", "absorbed"})
      for (DType type : {DType::F32, DType::F16, DType::BF16})
        for (bool oneQuery : {false, true})
          for (int64_t rope : {0, 7}) {
            LatentSpec spec;
            spec.form = form;
            spec.type = type;
            spec.oneQuery = oneQuery;
            spec.heads = oneQuery ? 17 : 3;
            spec.latent = 21;
            spec.nope = 13;
            spec.rope = rope;
            spec.value = 11;
            spec.joinsRows = rope != 0;
            spec.causal = spec.lengths = spec.mask = true;
            specs.push_back(spec);
            program.add(spec.entry("spec" + std::to_string(specs.size() - 1)));
          }
  }

protected:
  /// What both forms give, each compared with the formula.
  std::pair<LatentOutputs, LatentOutputs> both(size_t number, const LatentInputs &inputs) const {
    size_t other = number + specs.size() / 2;
    return {checkLatent(*program, "spec" + std::to_string(number), specs[number], inputs),
            checkLatent(*program, "spec" + std::to_string(other), specs[other], inputs)};
  }

  static inline std::vector<LatentSpec> specs;
};

} // namespace

HEDDLE_TEST_EACH_WAY(LatentEdges, oneWay);

/// No keys, lengths of 0, more queries than keys, sequences that are nothing but padding.
TEST_P(LatentEdges, QueriesThatSeeNothing) {
  for (size_t number = 0; number < specs.size() / 2; ++number)
    for (int64_t keys : {0, 1, 3, 33}) {
      const LatentSpec &spec = specs[number];
      // The lse of a few keys is a score, and projected keys in bf16 are no closer than 2^-9: RandomOps has limits for it.
      if (spec.type == DType::BF16)
        continue;
      Random random(int64_t(number) * 100 + keys);
      LatentInputs inputs = LatentInputs::random(spec, 4, spec.oneQuery ? 1 : 6, keys, random);
      inputs.lengths.set({0}, 0);
      inputs.lengths.set({1}, double(keys / 2));
      for (int64_t j = 0; j < keys; ++j) {
        inputs.mask.set({2, 0, 0, j}, 0);
        inputs.mask.set({3, 0, 0, j}, j >= keys / 3);
      }
      inputs.spoilHiddenRows();
      auto [expanded, absorbed] = both(number, inputs);
      EXPECT_LE(relativeError(absorbed.output, expanded.output.values()), 2 * errorLimit(spec.type))
          << spec.text() << " keys " << keys;
      for (int64_t b : {0, 2})
        for (int64_t h = 0; h < spec.heads; ++h)
          for (const LatentOutputs *outputs : {&expanded, &absorbed}) {
            EXPECT_EQ(outputs->output.get({b, 0, h, 0}), 0) << spec.text();
            EXPECT_EQ(outputs->lse.get({b, h, 0}), -INFINITY) << spec.text();
          }
    }
}

/// Channel a of key a is large, and so is channel a of a query that looks for it: its score, far above what f16 holds, takes all.
/// The values tell which key it is.
TEST_P(LatentEdges, ScoresAboveTheRangeOfF16) {
  for (size_t number = 0; number < specs.size() / 2; ++number) {
    const LatentSpec &spec = specs[number];
    int64_t keys = spec.nope, rowsOfHead = spec.nope + spec.value;
    double large = spec.type == DType::F16 ? 2000 : 0x1p40;
    // Weights are rounded as data are, and so is the output: a unit in the last place.
    double lastPlace = spec.type == DType::F32   ? 0x1p-20
                       : spec.type == DType::F16 ? 0x1p-10
                                                 : 0x1p-7;
    Random random(int64_t(number) + 1);
    LatentInputs inputs = LatentInputs::random(spec, 1, spec.oneQuery ? 1 : keys, keys, random);
    inputs.queryNope = Array::filled(spec.type, inputs.queryNope.shape(), [&](const auto &at) {
      return at[3] == (spec.oneQuery ? at[2] % keys : at[1]) ? large : 0;
    });
    inputs.latent = Array::filled(spec.type, inputs.latent.shape(), [&](const auto &at) {
      return at[2] < spec.nope ? (at[1] == at[2] ? large : 0) : double(at[1] + 1);
    });
    inputs.kvUp = Array::filled(spec.type, inputs.kvUp.shape(),
                                [&](const auto &at) { return at[0] % rowsOfHead == at[1]; });
    auto [expanded, absorbed] = both(number, inputs);
    for (int64_t i = 0; i < inputs.queryNope.shape()[1]; ++i)
      for (int64_t h = 0; h < spec.heads; ++h) {
        double key = double((spec.oneQuery ? h % keys : i) + 1);
        for (const LatentOutputs *outputs : {&expanded, &absorbed})
          EXPECT_NEAR(outputs->output.get({0, i, h, 0}), key, key * lastPlace) << spec.text();
      }
  }
}
