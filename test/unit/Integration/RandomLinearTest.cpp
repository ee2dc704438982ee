//===- RandomLinearTest.cpp - random linear attention, two forms ----------===//
//
// Each configuration is compiled by its recurrence and in its chunk form; each
// call goes to both, and has to give what the formula gives in float64.
//
// A configuration is a function of its number and the seed. A failure prints the
// command that runs this one alone. HEDDLE_RANDOM_SEED=N gives other
// configurations, HEDDLE_RANDOM_CASES=N more or fewer.
//
//===----------------------------------------------------------------------===//

#include "LinearSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kCallsPerSpec = 4;
static constexpr int64_t kDefaultCases = 160;
/// Configurations that are compiled at once.
static constexpr int64_t kSpecsPerProgram = 12;
static constexpr const char *kNumberVariable = "HEDDLE_RANDOM_LINEAR";

template <typename T, size_t N> static const T &pick(Random &random, const T (&list)[N]) {
  return list[random.integer(0, int64_t(N) - 1)];
}

static LinearSpec randomSpec(Random &random) {
  static const char *rules[] = {"linear", "gated", "delta", "gated_delta", "gated_delta"};
  static const DType types[] = {DType::F32, DType::F32, DType::F16, DType::BF16};
  static const int64_t dims[] = {1, 4, 5, 8, 12, 16, 24, 33};
  LinearSpec spec;
  spec.rule = pick(random, rules);
  spec.type = pick(random, types);
  spec.keyHeads = random.integer(1, 3);
  spec.valueHeads = spec.keyHeads * random.integer(1, 3);
  spec.queryHeads = random.chance(0.7) ? spec.keyHeads : spec.valueHeads * random.integer(1, 3);
  spec.keyDim = pick(random, dims);
  spec.valueDim = pick(random, dims);
  static const int ranks[] = {1, 3, 3, 4, 4};
  spec.decayRank = pick(random, ranks);
  spec.gateType = random.chance(0.7) ? DType::F32 : spec.type;
  spec.dynamicDims = random.chance(0.15);
  if (spec.dynamicDims || random.chance(0.3))
    spec.scale = random.real(0.2, 2);
  if (spec.rule == "linear") {
    spec.normalize = random.chance(0.4);
    spec.nonCausal = random.chance(0.3);
  }
  spec.indexType = random.chance(0.5) ? DType::I32 : DType::I64;
  spec.ragged = random.chance(0.35);
  spec.slots = random.chance(0.3);
  // The number of packed sequences is that of the states.
  spec.initialState = spec.slots || spec.ragged || random.chance(0.7);
  static const int64_t chunks[] = {1, 2, 7, 16, 64};
  spec.chunk = pick(random, chunks);
  return spec;
}

static LinearInputs randomInputs(const LinearSpec &spec, Random &random) {
  static const Gates kinds[] = {Gates::Mixed, Gates::Mixed, Gates::Zero, Gates::Strong,
                                Gates::Ones};
  static const int64_t lengths[] = {0, 1, 2, 5, 15, 16, 17, 33, 64, 65};
  Gates gates = pick(random, kinds);
  int64_t sequences = random.integer(0, 4), pool = sequences + random.integer(1, 3);
  std::vector<int64_t> slots, own;
  for (int64_t slot = 0; slot < pool; ++slot)
    slots.push_back(slot);
  for (int64_t n = 0; n < sequences; ++n) {
    std::swap(slots[size_t(n)], slots[size_t(random.integer(n, pool - 1))]);
    own.push_back(pick(random, lengths));
  }
  slots.resize(size_t(sequences));
  for (int64_t &slot : slots)
    slot = random.chance(0.2) ? -1 : slot;
  if (spec.ragged)
    return LinearInputs::packed(spec, own, gates, random, slots, pool);
  LinearInputs inputs = LinearInputs::random(spec, sequences, pick(random, lengths), gates, random);
  if (!spec.slots)
    return inputs;
  inputs.slots = Array::filled(spec.indexType, {sequences},
                               [&](const auto &at) { return double(slots[size_t(at[0])]); });
  inputs.state =
      Array::uniform(DType::F32, {pool, spec.valueHeads, spec.keyDim, spec.valueDim}, random);
  if (spec.normalize)
    inputs.normalizer =
        Array::uniform(DType::F32, {pool, spec.valueHeads, spec.keyDim}, random, 0, 1);
  return inputs;
}

namespace {
/// Configurations of one range of numbers.
class RandomLinearPrograms {
public:
  RandomLinearPrograms(int64_t seed, int64_t firstSpec, int64_t endSpec)
      : seed(seed), firstSpec(firstSpec) {
    for (int64_t i = firstSpec; i < endSpec; ++i) {
      Random random(seed * 1000003 + i);
      LinearSpec chunked = randomSpec(random), plain = chunked;
      plain.chunk = 0;
      specs.push_back(plain);
      specs.push_back(chunked);
    }
    const std::vector<std::string> &variants = hostVariants();
    isCompiled = compileLinear(
        program, specs, Way(variants[size_t(firstSpec / kSpecsPerProgram) % variants.size()]));
  }

  /// Number = spec * kCallsPerSpec + call.
  void check(int64_t number) {
    ASSERT_TRUE(isCompiled);
    size_t first = size_t(number / kCallsPerSpec - firstSpec) * 2;
    Random random(seed * 1000000007 + number);
    LinearInputs inputs = randomInputs(specs[first], random);
    LinearResult expected = evaluateLinear(specs[first], inputs);
    SCOPED_TRACE("HEDDLE_RANDOM_SEED=" + std::to_string(seed) + " " + kNumberVariable + "=" +
                 std::to_string(number) + " IntegrationTests --gtest_filter=RandomLinear.*");
    for (size_t i : {first, first + 1})
      compareLinear(specs[i], callLinear(program, "spec" + std::to_string(i), specs[i], inputs),
                    expected);
  }

private:
  int64_t seed, firstSpec;
  std::vector<LinearSpec> specs; // the recurrence and the chunk form of each
  Program program;
  bool isCompiled = false;
};
} // namespace

TEST(RandomLinear, BothFormsAgreeWithTheFormula) {
  int64_t seed = randomSeed();
  if (std::optional<int64_t> only = numberFromEnvironment(kNumberVariable)) {
    int64_t spec = *only / kCallsPerSpec;
    return RandomLinearPrograms(seed, spec, spec + 1).check(*only);
  }
  int64_t cases = numberFromEnvironment("HEDDLE_RANDOM_CASES").value_or(kDefaultCases);
  for (int64_t first = 0; first * kCallsPerSpec < cases; first += kSpecsPerProgram) {
    int64_t end = std::min(first + kSpecsPerProgram, (cases + kCallsPerSpec - 1) / kCallsPerSpec);
    RandomLinearPrograms programs(seed, first, end);
    for (int64_t number = first * kCallsPerSpec; number < std::min(cases, end * kCallsPerSpec);
         ++number)
      programs.check(number);
  }
}
