//===- LinearLawsTest.cpp - laws of linear attention ----------------------===//
//
// Chunk = recurrent = two calls; ragged = one by one; states in slots are those of
// sequences in order.
//
//===----------------------------------------------------------------------===//

#include "LinearSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {

LinearSpec spec(const std::string &rule, int decayRank, int64_t chunk) {
  LinearSpec made;
  made.rule = rule;
  made.decayRank = decayRank;
  made.chunk = chunk;
  return made;
}

/// Each rule, by token and in chunks.
std::vector<LinearSpec> allRules() {
  std::vector<LinearSpec> specs;
  for (int64_t chunk : {0, 64})
    for (auto [rule, rank] : {std::pair("linear", 3), std::pair("gated", 1), std::pair("gated", 3),
                              std::pair("gated", 4), std::pair("delta", 3),
                              std::pair("gated_delta", 3), std::pair("gated_delta", 4)})
      specs.push_back(spec(rule, rank, chunk));
  return specs;
}

std::string name(size_t i) { return "spec" + std::to_string(i); }

class LinearLaws : public testing::Test {
protected:
  static void SetUpTestSuite() {
    specs = allRules();
    program = new Program;
    isCompiled = compileLinear(*program, specs);
    for (LinearSpec each : specs) {
      each.ragged = true;
      ragged.push_back(each);
    }
    raggedProgram = new Program;
    isCompiled &= compileLinear(*raggedProgram, ragged);
  }
  static void TearDownTestSuite() {
    delete program;
    delete raggedProgram;
  }
  void SetUp() override { ASSERT_TRUE(isCompiled); }

  static inline std::vector<LinearSpec> specs, ragged;
  static inline Program *program, *raggedProgram;
  static inline bool isCompiled = false;
};

} // namespace

TEST_F(LinearLaws, LengthsAroundAChunk) {
  for (size_t i = 0; i < specs.size(); ++i)
    for (Gates gates : {Gates::Zero, Gates::Strong, Gates::Mixed, Gates::Ones})
      for (int64_t tokens : {0, 1, 63, 64, 65, 127, 130}) {
        Random random(tokens + 1);
        LinearInputs inputs = LinearInputs::random(specs[i], 1, tokens, gates, random);
        compareLinear(specs[i], callLinear(*program, name(i), specs[i], inputs),
                      evaluateLinear(specs[i], inputs),
                      "T=" + std::to_string(tokens) + " gates=" + std::to_string(int(gates)));
      }
}

TEST_F(LinearLaws, TwoCallsAreOne) {
  for (size_t i = 0; i < specs.size(); ++i)
    for (int64_t first : {1, 40, 64, 129}) {
      Random random(first);
      LinearInputs all = LinearInputs::random(specs[i], 2, 130, Gates::Mixed, random);
      LinearResult expected = evaluateLinear(specs[i], all);
      LinearInputs part = all.tokens(0, first);
      LinearOutputs one = callLinear(*program, name(i), specs[i], part);
      LinearInputs rest = all.tokens(first, 130 - first);
      rest.state = one.state;
      LinearOutputs two = callLinear(*program, name(i), specs[i], rest);
      Array whole(specs[i].type, {2, 130, specs[i].outputHeads(), specs[i].valueDim});
      for (int64_t place = 0; place < whole.count(); ++place) {
        Array::Index at = whole.indexOf(place), from = at;
        bool isFirst = at[1] < first;
        from[1] -= isFirst ? 0 : first;
        whole.set(at, (isFirst ? one : two).output.get(from));
      }
      compareLinear(specs[i], {whole, two.state, {}}, expected, "after " + std::to_string(first));
    }
}

// The recurrence does the same for every token: steps give the same bits as one call.
TEST_F(LinearLaws, StepsOfOneToken) {
  for (size_t i = 0; i < specs.size(); ++i) {
    Random random(5);
    LinearInputs all = LinearInputs::random(specs[i], 2, 9, Gates::Mixed, random);
    LinearOutputs whole = callLinear(*program, name(i), specs[i], all);
    Array state = all.state;
    for (int64_t t = 0; t < 9; ++t) {
      LinearInputs step = all.tokens(t, 1);
      step.state = state;
      LinearOutputs outputs = callLinear(*program, name(i), specs[i], step);
      if (!specs[i].chunk)
        EXPECT_TRUE(outputs.output.sameBits(whole.output.slice(1, t, 1))) << specs[i].text();
      state = outputs.state;
    }
    if (!specs[i].chunk)
      EXPECT_TRUE(state.sameBits(whole.state)) << specs[i].text();
    expectClose(state, whole.state.values(), 1e-5, specs[i].text());
  }
}

TEST_F(LinearLaws, RaggedIsOneByOne) {
  for (const std::vector<int64_t> &lengths :
       {std::vector<int64_t>{1, 64, 0, 65, 130}, {0, 64, 0, 1}, {}, {0}, {3, 0, 4}})
    for (size_t i = 0; i < ragged.size(); ++i) {
      Random random(int64_t(lengths.size()));
      LinearInputs inputs = LinearInputs::packed(ragged[i], lengths, Gates::Mixed, random);
      LinearOutputs outputs = callLinear(*raggedProgram, name(i), ragged[i], inputs);
      compareLinear(ragged[i], outputs, evaluateLinear(ragged[i], inputs));
      int64_t begin = 0;
      for (size_t n = 0; n < lengths.size(); ++n) {
        LinearInputs alone = inputs.tokens(begin, lengths[n]);
        alone.state = inputs.state.slice(0, int64_t(n), 1);
        LinearOutputs own = callLinear(*program, name(i), specs[i], alone);
        EXPECT_TRUE(own.output.sameBits(outputs.output.slice(1, begin, lengths[n])))
            << ragged[i].text() << " sequence " << n;
        EXPECT_TRUE(own.state.sameBits(outputs.state.slice(0, int64_t(n), 1)))
            << ragged[i].text() << " sequence " << n;
        // Without tokens a state stays as it is.
        if (lengths[n] == 0)
          EXPECT_TRUE(own.state.sameBits(alone.state));
        begin += lengths[n];
      }
    }
}

TEST_F(LinearLaws, NoBatch) {
  for (size_t i = 0; i < specs.size(); ++i) {
    Random random(1);
    callLinear(*program, name(i), specs[i],
               LinearInputs::random(specs[i], 0, 5, Gates::Mixed, random));
  }
}

TEST_F(LinearLaws, SixteenKeyHeadsAndADimOf100) {
  std::vector<LinearSpec> large;
  for (int64_t chunk : {0, 16})
    for (int rank : {3, 4}) {
      LinearSpec each = spec("gated_delta", rank, chunk);
      each.queryHeads = each.keyHeads = 16;
      each.valueHeads = 48;
      each.keyDim = 100;
      each.valueDim = 12;
      large.push_back(each);
    }
  Program own;
  ASSERT_TRUE(compileLinear(own, large));
  for (size_t i = 0; i < large.size(); ++i) {
    Random random(3);
    LinearInputs inputs = LinearInputs::random(large[i], 1, 20, Gates::Mixed, random);
    compareLinear(large[i], callLinear(own, name(i), large[i], inputs),
                  evaluateLinear(large[i], inputs));
  }
}

// Keys that are alike make the triangular system of a chunk hard.
TEST_F(LinearLaws, KeysThatAreAlike) {
  for (double cosine : {0.5, 0.9, 1.0})
    for (double beta : {0.5, 1.0, 1.9})
      for (size_t i = 0; i < specs.size(); ++i) {
        if (!specs[i].isDelta())
          continue;
        Random random(int64_t(cosine * 10));
        LinearInputs inputs = LinearInputs::random(specs[i], 1, 130, Gates::Zero, random);
        inputs.beta = Array::constant(DType::F32, inputs.beta.shape(), beta);
        int64_t dk = specs[i].keyDim;
        for (int64_t place = 0; place < inputs.key.count(); ++place) {
          double shared = std::sqrt(cosine / double(dk));
          inputs.key.set(inputs.key.indexOf(place),
                         shared + std::sqrt(1 - cosine) * inputs.key[place]);
        }
        for (int64_t row = 0; row < inputs.key.count(); row += dk) {
          double sum = 0;
          for (int64_t d = row; d < row + dk; ++d)
            sum += inputs.key[d] * inputs.key[d];
          for (int64_t d = row; d < row + dk; ++d)
            inputs.key.set(inputs.key.indexOf(d), inputs.key[d] / std::sqrt(sum));
        }
        LinearResult expected = evaluateLinear(specs[i], inputs);
        LinearOutputs actual = callLinear(*program, name(i), specs[i], inputs);
        std::string context =
            specs[i].text() + " cosine " + std::to_string(cosine) + " beta " + std::to_string(beta);
        expectClose(actual.output, expected.output, 1e-4, context);
        expectClose(actual.state, expected.state, 1e-4, context);
      }
}

// What a sequence reads must be its own: one-hot keys, values that are their token's number.
TEST_F(LinearLaws, EachTokenIsReadWhereItBelongs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    Random random(1);
    LinearInputs inputs = LinearInputs::random(specs[i], 2, 8, Gates::Ones, random);
    inputs.state = Array::constant(DType::F32, inputs.state.shape(), 0);
    auto oneHot = [](const Array::Index &at) { return at[1] == at[3] ? 1.0 : 0.0; };
    inputs.key = Array::filled(DType::F32, inputs.key.shape(), oneHot);
    // Token t asks for the key of token t / 2.
    inputs.query = Array::filled(DType::F32, inputs.query.shape(), [](const Array::Index &at) {
      return at[1] / 2 == at[3] ? 1.0 : 0.0;
    });
    auto number = [](int64_t batch, int64_t token, int64_t head) {
      return double(1000 * batch + 10 * token + head + 1);
    };
    inputs.value = Array::filled(DType::F32, inputs.value.shape(), [&](const Array::Index &at) {
      return number(at[0], at[1], at[2]);
    });
    LinearOutputs outputs = callLinear(*program, name(i), specs[i], inputs);
    double scale = specs[i].factor();
    for (int64_t place = 0; place < outputs.output.count(); ++place) {
      Array::Index at = outputs.output.indexOf(place);
      EXPECT_NEAR(outputs.output[place], scale * number(at[0], at[1] / 2, at[2]), 1e-3)
          << specs[i].text();
    }
  }
}

TEST_F(LinearLaws, SlotsOfAPool) {
  std::vector<LinearSpec> pooled;
  for (LinearSpec each : specs)
    for (bool isRagged : {false, true}) {
      each.slots = true;
      each.ragged = isRagged;
      pooled.push_back(each);
    }
  Program own;
  ASSERT_TRUE(compileLinear(own, pooled));
  for (size_t i = 0; i < pooled.size(); ++i) {
    // One large pool is enough.
    int64_t last = i == 0 ? 4100 : 12;
    Random random(7);
    LinearInputs inputs =
        LinearInputs::packed(pooled[i], {3, 4, 2}, Gates::Mixed, random, {5, -1, last}, last + 1);
    if (!pooled[i].ragged) {
      Array state = inputs.state, slots = inputs.slots;
      inputs = LinearInputs::random(pooled[i], 3, 4, Gates::Mixed, random);
      inputs.state = state;
      inputs.slots = slots;
    }
    // Nobody reads what is skipped.
    int64_t skipped = pooled[i].ragged ? 3 : 1;
    for (Array *rows : {&inputs.query, &inputs.key, &inputs.value})
      for (int64_t place = 0; place < rows->count(); ++place) {
        Array::Index at = rows->indexOf(place);
        bool isSkipped = pooled[i].ragged ? at[1] >= 3 && at[1] < 7 : at[0] == skipped;
        if (isSkipped)
          rows->set(at, NAN);
      }
    LinearOutputs outputs = callLinear(own, name(i), pooled[i], inputs);
    compareLinear(pooled[i], outputs, evaluateLinear(pooled[i], inputs));
    Array rest = inputs.state.copy();
    for (int64_t slot : {int64_t(5), last})
      for (int64_t place = 0; place < rest.slice(0, slot, 1).count(); ++place) {
        Array::Index at = rest.slice(0, slot, 1).indexOf(place);
        at[0] = slot;
        rest.set(at, outputs.state.get(at));
      }
    EXPECT_TRUE(outputs.state.sameBits(rest)) << pooled[i].text() << ": another slot was written";
  }
}
