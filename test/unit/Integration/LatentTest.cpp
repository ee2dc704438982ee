//===- LatentTest.cpp - laws of latent attention --------------------------===//

#include "LatentSpec.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

//===----------------------------------------------------------------------===//
// Both forms, with the extents of models
//===----------------------------------------------------------------------===//

/// Lowerings do not differ between variants of the CPU.
static const std::vector<Way> &oneWay() {
  static const std::vector<Way> ways = {Way()};
  return ways;
}

static const std::vector<Way> &simulatedWay() {
  static const std::vector<Way> ways = {"sim-sm_80"};
  return ways;
}

namespace {

/// A latent of 512, with 128 channels of keys besides 64 of rope. All forms come in two halves: expanded, then absorbed.
template <typename Suite> class LatentFormsOf : public EachWay<Suite> {
public:
  static void addForms(Program &program, int64_t heads, const std::vector<DType> &types,
                       const std::vector<bool> &ropes) {
    specs.clear();
    for (const char *form : {"expanded", "absorbed"})
      for (DType type : types)
        for (bool oneQuery : {false, true})
          for (bool withRope : ropes) {
            LatentSpec spec;
            spec.type = type;
            spec.form = form;
            spec.oneQuery = oneQuery;
            // One query of many heads is computed as many queries.
            spec.heads = oneQuery ? 20 : heads;
            spec.latent = 512;
            spec.nope = spec.value = 128;
            spec.rope = withRope ? 64 : 0;
            spec.joinsRows = withRope;
            spec.causal = true;
            spec.mask = withRope;
            specs.push_back(spec);
            program.add(spec.entry("spec" + std::to_string(specs.size() - 1)));
          }
  }

protected:
  void checkForms(int64_t keys) const;

private:
  static inline std::vector<LatentSpec> specs;
};

class LatentForms : public LatentFormsOf<LatentForms> {
public:
  static void addEntries(Program &program) {
    addForms(program, /*heads=*/8, {DType::F32, DType::BF16}, {false, true});
  }
};

/// The simulator takes its time.
class LatentFormsOnGPU : public LatentFormsOf<LatentFormsOnGPU> {
public:
  static void addEntries(Program &program) { addForms(program, /*heads=*/2, {DType::F16}, {true}); }
};

} // namespace

HEDDLE_TEST_EACH_WAY(LatentForms, oneWay);
HEDDLE_TEST_EACH_WAY(LatentFormsOnGPU, simulatedWay);

template <typename Suite> void LatentFormsOf<Suite>::checkForms(int64_t keys) const {
  size_t half = specs.size() / 2;
  for (size_t number = 0; number < half; ++number) {
    const LatentSpec &expanded = specs[number], &absorbed = specs[number + half];
    Random random(int64_t(number) + 1);
    int64_t queries = expanded.oneQuery ? 1 : keys;
    LatentInputs inputs = LatentInputs::random(expanded, 1, queries, keys, random);
    for (int64_t j = 0; j < 5; ++j)
      inputs.mask.set({0, 0, 0, j}, 0);
    LatentOutputs a =
        checkLatent(*this->program, "spec" + std::to_string(number), expanded, inputs);
    LatentOutputs b =
        checkLatent(*this->program, "spec" + std::to_string(number + half), absorbed, inputs);
    EXPECT_LT(relativeError(a.output, b.output.values()), 2 * errorLimit(expanded.type))
        << expanded.text();
  }
}

TEST_P(LatentForms, AbsorbedIsExpanded) { checkForms(/*keys=*/129); }
TEST_P(LatentFormsOnGPU, AbsorbedIsExpanded) { checkForms(/*keys=*/17); }

//===----------------------------------------------------------------------===//
// Lengths, lists, rows without keys
//===----------------------------------------------------------------------===//

namespace {

/// Small extents with all combinations of what an operation can have.
class LatentParts : public EachWay<LatentParts> {
public:
  static void addEntries(Program &program) {
    specs.clear();
    for (const char *form : {"expanded", "absorbed"})
      for (int64_t rope : {0, 8})
        for (bool joinsRows : {false, true})
          for (bool lengths : {false, true})
            for (int64_t listLength : {0, 9}) {
              LatentSpec spec;
              spec.form = form;
              spec.rope = rope;
              spec.joinsRows = joinsRows && rope != 0;
              spec.lengths = lengths;
              spec.listLength = listLength;
              spec.causal = lengths;
              spec.mask = lengths != joinsRows;
              if (listLength != 0 && lengths)
                spec.type = DType::F16;
              specs.push_back(spec);
              program.add(spec.entry("spec" + std::to_string(specs.size() - 1)));
            }
  }

  static std::string name(size_t number) { return "spec" + std::to_string(number); }

  static inline std::vector<LatentSpec> specs;
};

} // namespace

HEDDLE_TEST_EACH_WAY(LatentParts, oneWay);

TEST_P(LatentParts, AgreesWithTheFormula) {
  for (size_t number = 0; number < specs.size(); ++number)
    for (auto [batch, queries, keys] :
         {std::tuple(2, 5, 7), std::tuple(1, 70, 70), std::tuple(3, 1, 40), std::tuple(2, 4, 1),
          std::tuple(2, 3, 0), std::tuple(0, 3, 5), std::tuple(2, 0, 5)}) {
      Random random(int64_t(number) * 100 + keys);
      LatentInputs inputs = LatentInputs::random(specs[number], batch, queries, keys, random);
      for (int64_t b = 0; b < batch && specs[number].lengths; ++b)
        inputs.lengths.set({b}, double(random.integer(0, keys)));
      // Padding on the left of all sequences but the last; one has nothing else.
      for (int64_t b = 0; b + 1 < batch; ++b)
        for (int64_t j = 0; j < (b == 0 ? keys : keys / 2); ++j)
          inputs.mask.set({b, 0, 0, j}, 0);
      inputs.spoilHiddenRows();
      checkLatent(*program, name(number), specs[number], inputs);
    }
}

TEST_P(LatentParts, ListOfAllKeysIsDense) {
  for (size_t number = 0; number < specs.size(); ++number) {
    if (specs[number].listLength == 0)
      continue;
    Random random(int64_t(number) + 7);
    LatentInputs inputs = LatentInputs::random(specs[number], 2, 6, 8, random);
    // All keys in falling order, behind a gap: those that a query does not see change nothing.
    inputs.lists = Array::filled(DType::I32, {2, 6, 9}, [](const Array::Index &at) {
      return at[2] == 3 ? -1 : at[2] < 3 ? 7 - at[2] : 8 - at[2];
    });
    LatentOutputs sparse = checkLatent(*program, name(number), specs[number], inputs);
    LatentSpec dense = specs[number];
    dense.listLength = 0;
    LatentExpected expected = evaluateLatent(dense, inputs);
    EXPECT_LT(relativeError(sparse.output, expected.output), errorLimit(dense.type))
        << dense.text();
  }
}

TEST_P(LatentParts, ListOfNothingGivesZero) {
  for (size_t number = 0; number < specs.size(); ++number) {
    if (specs[number].listLength == 0)
      continue;
    Random random(int64_t(number) + 9);
    LatentInputs inputs = LatentInputs::random(specs[number], 1, 3, 8, random);
    for (int64_t t = 0; t < 9; ++t)
      inputs.lists.set({0, 1, t}, -1);
    inputs.spoilHiddenRows();
    LatentOutputs outputs = checkLatent(*program, name(number), specs[number], inputs);
    for (int64_t h = 0; h < specs[number].heads; ++h) {
      EXPECT_EQ(outputs.output.get({0, 1, h, 0}), 0);
      EXPECT_EQ(outputs.lse.get({0, h, 1}), -INFINITY);
    }
  }
}

/// A sequence behind padding gives what it gives without, to the last bit but for the order of sums.
TEST_P(LatentParts, PaddingOnTheLeftChangesNothing) {
  for (size_t number = 0; number < specs.size(); ++number) {
    const LatentSpec &spec = specs[number];
    if (!spec.mask)
      continue;
    for (const auto &[queries, count] : {std::pair(7, 7), std::pair(1, 33), std::pair(4, 20)}) {
      int64_t keys = count;
      constexpr int64_t padding = 3;
      Random random(int64_t(number) + 13);
      LatentInputs padded = LatentInputs::random(spec, 2, queries, keys + padding, random);
      LatentInputs alone = padded;
      auto without = [&](const Array &rows) {
        return Array::filled(rows.type(), {1, keys, rows.shape()[2]}, [&](const Array::Index &at) {
          return rows.get({0, at[1] + padding, at[2]});
        });
      };
      auto first = [&](const Array &rows) {
        Array::Index shape = rows.shape();
        shape[0] = 1;
        return Array::filled(rows.type(), shape,
                             [&](const Array::Index &at) { return rows.get(at); });
      };
      for (int64_t j = 0; j < padding; ++j)
        padded.mask.set({0, 0, 0, j}, 0);
      alone.queryNope = first(padded.queryNope);
      alone.queryRope = first(padded.queryRope);
      alone.latent = without(padded.latent);
      alone.keyRope = without(padded.keyRope);
      alone.mask = Array::constant(DType::Bool, {1, 1, 1, keys}, 1);
      alone.lengths = Array::constant(DType::I32, {1}, double(keys));
      alone.lists = first(padded.lists);
      for (int64_t at = 0; at < alone.lists.count(); ++at)
        alone.lists.set(alone.lists.indexOf(at), std::max(alone.lists[at] - double(padding), -1.0));
      LatentOutputs a = checkLatent(*program, name(number), spec, padded);
      LatentOutputs b = checkLatent(*program, name(number), spec, alone);
      EXPECT_LT(relativeError(first(a.output), b.output.values()), errorLimit(spec.type))
          << spec.text();
      EXPECT_LT(relativeError(first(a.lse), b.lse.values()), 1e-5) << spec.text();
    }
  }
}

/// Latents are one-hot, so that the output is the mean number of the keys that a query sees: one key more or less shows.
TEST_P(LatentParts, KeysAreTheOnesThatAreSeen) {
  for (size_t number = 0; number < specs.size(); ++number) {
    const LatentSpec &spec = specs[number];
    Random random(int64_t(number) + 11);
    int64_t keys = spec.latent, rowsOfHead = spec.nope + spec.value;
    LatentInputs inputs = LatentInputs::random(spec, 1, 5, keys, random);
    if (spec.lengths)
      inputs.lengths.set({0}, double(keys - 3));
    inputs.latent = Array::filled(spec.type, inputs.latent.shape(),
                                  [](const Array::Index &at) { return at[1] == at[2]; });
    inputs.kvUp = Array::filled(spec.type, inputs.kvUp.shape(), [&](const Array::Index &at) {
      return at[0] % rowsOfHead < spec.nope ? 0 : double(at[1]);
    });
    inputs.keyRope = Array::constant(spec.type, inputs.keyRope.shape(), 0);
    LatentOutputs outputs = checkLatent(*program, name(number), spec, inputs);
    std::vector<double> expected = evaluateLatent(spec, inputs).output;
    EXPECT_LT(largestError(outputs.output, expected), spec.type == DType::F32 ? 1e-4 : 2e-2)
        << spec.text();
  }
}

TEST_P(LatentParts, RefusesIndicesThatAreNoKeys) {
  for (size_t number = 0; number < specs.size(); ++number) {
    if (specs[number].listLength == 0)
      continue;
    for (int64_t wrong : {-2, 8}) {
      Random random(3);
      LatentInputs inputs = LatentInputs::random(specs[number], 2, 3, 8, random);
      inputs.lists.set({1, 2, 4}, double(wrong));
      LatentOutputs outputs;
      Outcome outcome = tryCallLatent(*program, name(number), specs[number], inputs, outputs);
      EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
      EXPECT_EQ(outcome.message, name(number) + ": indices[1][2][4] is " + std::to_string(wrong) +
                                     ", expected a value from -1 to 7");
      EXPECT_TRUE(outputs.output.untouched());
    }
  }
}
