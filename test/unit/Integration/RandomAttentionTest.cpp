//===- RandomAttentionTest.cpp - random attention, several ways -----------===//
//
// Each configuration is compiled by its formula and as tile kernels for CPUs, and
// as GPU kernels that the simulator runs with all checks on; each call of it goes
// to all of them, and has to give what the formula gives in float64.
//
// A configuration is a function of its number and the seed. A failure prints the
// command that runs this one alone. HEDDLE_RANDOM_SEED=N gives other
// configurations, HEDDLE_RANDOM_CASES=N more or fewer.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kCallsPerSpec = 6;
static constexpr int64_t kDefaultCases = 360;
/// Configurations that are compiled at once.
static constexpr int64_t kSpecsPerProgram = 30;
static constexpr const char *kNumberVariable = "HEDDLE_RANDOM_ATTENTION";

template <typename T, size_t N> static const T &pick(Random &random, const T (&list)[N]) {
  return list[random.integer(0, int64_t(N) - 1)];
}

namespace {
/// A spec, and how a GPU multiplies its f32 operands.
struct RandomSpec {
  AttentionSpec spec;
  tile::DotPrecision f32Products;
};

using Dims = std::pair<int64_t, int64_t>;
} // namespace

static Dims randomDims(Random &random, DType type) {
  static const int64_t small[] = {1, 5, 8, 16, 24, 33, 36, 40, 56, 64};
  static const int64_t middle[] = {72, 80, 96, 112, 128};
  static const Dims large[] = {{160, 160}, {192, 192}, {224, 224}, {256, 256},
                               {512, 512}, {192, 128}, {576, 512}};
  double size = random.real(0, 1);
  // Kernels for f32 with large heads take long to compile; HeadsTest has them all.
  if (size > 0.92 && type != DType::F32)
    return pick(random, large);
  if (size > 0.75) {
    int64_t dim = pick(random, middle);
    return {dim, dim};
  }
  int64_t keyDim = pick(random, small);
  return {keyDim, random.chance(0.7) ? keyDim : pick(random, small)};
}

static std::array<bool, 4> randomBroadcast(Random &random) {
  std::array<bool, 4> full;
  for (bool &each : full)
    each = random.chance(0.6);
  return full;
}

static RandomSpec randomSpec(Random &random) {
  static const DType types[] = {DType::F16, DType::F16, DType::BF16, DType::F32, DType::F32};
  static const Dims ratios[] = {{20, 4}, {24, 4}, {28, 4}, {40, 4}, {64, 4}, {71, 1}};
  AttentionSpec spec;
  spec.type = pick(random, types);
  std::tie(spec.keyDim, spec.valueDim) = randomDims(random, spec.type);
  if (random.chance(0.1)) {
    std::tie(spec.heads, spec.keyHeads) = pick(random, ratios);
  } else {
    spec.keyHeads = random.integer(1, 3);
    spec.heads = spec.keyHeads * random.integer(1, 3);
  }
  spec.rule.causal = random.chance(0.5);
  if (random.chance(0.4)) {
    static const int64_t limits[] = {-1, 0, 1, 3, 6, 15, 16, 31, 63, 64, 100};
    spec.rule.left = pick(random, limits);
    spec.rule.right = pick(random, limits);
  }
  if (random.chance(0.25))
    spec.rule.softcap = random.real(0.5, 8);
  spec.dynamicDims = random.chance(0.05);
  // Scores stay within what random values of any head dimension give.
  if (spec.dynamicDims || random.chance(0.3))
    spec.rule.scale = random.real(0.3, 2) / std::sqrt(double(spec.keyDim));
  if (random.chance(0.3))
    spec.bias = randomBroadcast(random);
  if (random.chance(0.3))
    spec.mask = randomBroadcast(random);
  spec.biasType = random.chance(0.5) ? spec.type : DType::F32;
  spec.sinks = random.chance(0.25);
  spec.sinksType = random.chance(0.5) ? spec.type : DType::F32;
  spec.lengths = random.chance(0.35);
  spec.lengthsType = random.chance(0.5) ? DType::I32 : DType::I64;
  spec.slopesRank = random.chance(0.2) ? int(random.integer(1, 2)) : 0;
  if (random.chance(0.1)) {
    spec.keyType = pick(random, types);
    spec.valueType = pick(random, types);
  }
  // Small blocks: several of each kind in short sequences, and kernels that compile fast.
  static const std::vector<int64_t> blocks[] = {{16, 16}, {32, 16}, {16, 64}, {64, 32},
                                                {32, 80}, {64, 16}, {128, 32}};
  if (random.chance(spec.keyDim > 64 ? 0.3 : 0.6))
    spec.block = spec.keyDim > 128 ? blocks[random.integer(0, 1)] : pick(random, blocks);
  // Few queries, so that there may be several chunks of keys.
  static const std::vector<int64_t> chunks[] = {{}, {16, 16, 16}, {16, 16, 64}, {16, 32, 96}};
  if (random.chance(0.35)) {
    spec.queries = random.chance(0.5) ? 1 : random.integer(2, 8);
    spec.block = pick(random, chunks);
    spec.keys = random.chance(0.2) ? random.integer(0, 80) : -1;
    if (spec.rule.left >= 0 && random.chance(0.5))
      spec.rule.globalKeys = random.integer(1, 70);
  }
  // Of few configurations: it makes kernels longer.
  spec.firstKeyMass = random.chance(0.2);
  if (random.chance(0.2)) {
    static const ScoreForm forms[] = {ScoreForm::Distance, ScoreForm::Table, ScoreForm::Documents};
    spec.score = pick(random, forms);
    spec.max = random.chance(0.5);
    spec.sinkMass = spec.sinks;
  }
  bool ieee = spec.type == DType::F32 && random.chance(0.3);
  return {spec, ieee ? tile::DotPrecision::IEEE : tile::DotPrecision::TF32x3};
}

/// All pairs of these lengths come in turn, unless the heads are many; sometimes other ones.
static AttentionExtents randomExtents(Random &random, int64_t number, const AttentionSpec &spec) {
  static const int64_t lengths[] = {0, 1, 17, 64, 65, 257};
  AttentionExtents extents;
  int64_t pair = number * 7 % 36;
  extents.queries = lengths[pair / 6];
  extents.keys = lengths[pair % 6];
  extents.batch = random.integer(1, 2);
  if (random.chance(0.25)) {
    extents.batch = random.integer(0, 3);
    extents.queries = random.integer(0, 40);
    extents.keys = random.integer(0, 150);
  }
  if (spec.queries != -1)
    extents.queries = spec.queries;
  if (spec.keys != -1)
    extents.keys = spec.keys;
  const int64_t most = 4 << 20;
  auto work = [&] {
    return extents.batch * spec.heads * extents.queries * extents.keys * spec.keyDim;
  };
  if (work() > most)
    extents.batch = 1;
  if (work() > most && spec.queries == -1)
    extents.queries = std::min<int64_t>(extents.queries, spec.heads > 9 ? 3 : 65);
  if (work() > most && spec.keys == -1)
    extents.keys = std::min<int64_t>(extents.keys, 65);
  return extents;
}

static AttentionMemory randomMemory(Random &random) {
  static const AttentionMemory memories[] = {
      AttentionMemory::Dense,      AttentionMemory::Dense,      AttentionMemory::Fused,
      AttentionMemory::PaddedRows, AttentionMemory::HeadsFirst, AttentionMemory::SharedKeyHead};
  return pick(random, memories);
}

namespace {
/// Configurations of one range of numbers, compiled several ways.
class RandomPrograms {
public:
  RandomPrograms(int64_t seed, int64_t firstSpec, int64_t endSpec);

  /// Number = spec * kCallsPerSpec + call.
  void check(int64_t number);

private:
  /// Kernels for GPUs have static head dimensions, and one way for all products of f32. Tile kernels for CPUs take long to compile: each
  /// configuration is for one variant.
  bool takes(const Way &way, size_t i) const {
    const RandomSpec &spec = specs[i];
    if (way.isSimulated())
      return !spec.spec.dynamicDims && spec.f32Products == way.f32Products;
    const std::vector<std::string> &variants = hostVariants();
    // Emulated tiles differ in products of bf16 alone.
    if (!llvm::is_contained(variants, way.target))
      return spec.spec.type == DType::BF16;
    return way.kernels == KernelSource::Reference ||
           way.target == variants[(size_t(firstSpec) + i) % variants.size()];
  }

  /// The command that runs a case alone.
  std::string reproducer(int64_t number) const {
    return "HEDDLE_RANDOM_SEED=" + std::to_string(seed) + " " + kNumberVariable + "=" +
           std::to_string(number) + " IntegrationTests --gtest_filter=RandomAttention.*";
  }

  int64_t seed, firstSpec;
  std::vector<RandomSpec> specs;
  std::vector<std::pair<Way, Program>> programs;
};
} // namespace

static std::vector<Way> randomWays() {
  std::vector<Way> ways;
  for (const std::string &variant : testedVariants())
    ways.push_back(Way(variant, KernelSource::Tile));
  ways.push_back(Way(hostVariants().back(), KernelSource::Reference));
  for (tile::DotPrecision products : {tile::DotPrecision::TF32x3, tile::DotPrecision::IEEE}) {
    ways.push_back("sim-sm_80");
    ways.back().f32Products = products;
  }
  return ways;
}

RandomPrograms::RandomPrograms(int64_t seed, int64_t firstSpec, int64_t endSpec)
    : seed(seed), firstSpec(firstSpec) {
  for (int64_t i = firstSpec; i < endSpec; ++i) {
    Random random(seed * 1000003 + i);
    specs.push_back(randomSpec(random));
  }
  for (const Way &way : randomWays()) {
    Program program;
    std::vector<size_t> taken;
    for (auto [i, spec] : llvm::enumerate(specs))
      if (takes(way, i)) {
        program.add(spec.spec.entry("spec" + std::to_string(i)));
        taken.push_back(i);
      }
    if (taken.empty())
      continue;
    if (program.tryCompile(way).empty()) {
      programs.push_back({way, std::move(program)});
      continue;
    }
    // Which ones are it?
    for (size_t i : taken) {
      Program alone;
      alone.add(specs[i].spec.entry("alone"));
      std::string error = alone.tryCompile(way);
      EXPECT_EQ(error, "") << reproducer((firstSpec + int64_t(i)) * kCallsPerSpec) << " # "
                           << way.text() << " " << specs[i].spec.text();
    }
  }
}

void RandomPrograms::check(int64_t number) {
  size_t which = size_t(number / kCallsPerSpec - firstSpec);
  const AttentionSpec &spec = specs[which].spec;
  Random random(seed * 1000000007 + number);
  AttentionExtents extents = randomExtents(random, number, spec);
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  AttentionMemory memory = randomMemory(random);
  inputs.moveTo(memory);
  AttentionExpectation expected(spec, inputs);
  for (auto &[way, program] : programs) {
    if (!takes(way, which))
      continue;
    if (way.isSimulated())
      program.setOrder(uint64_t(number));
    SCOPED_TRACE(reproducer(number) + " # " + way.text() + " B=" + std::to_string(extents.batch) +
                 " Lq=" + std::to_string(extents.queries) + " Lk=" + std::to_string(extents.keys) +
                 " memory=" + std::to_string(int(memory)));
    AttentionOutputs outputs = callAttention(program, "spec" + std::to_string(which), spec, inputs);
    compareAttention(outputs, expected, spec, way.text());
  }
}

TEST(RandomAttention, AllWaysAgreeWithTheFormula) {
  int64_t seed = randomSeed();
  if (std::optional<int64_t> only = numberFromEnvironment(kNumberVariable)) {
    int64_t spec = *only / kCallsPerSpec;
    return RandomPrograms(seed, spec, spec + 1).check(*only);
  }
  int64_t cases = numberFromEnvironment("HEDDLE_RANDOM_CASES").value_or(kDefaultCases);
  for (int64_t first = 0; first * kCallsPerSpec < cases; first += kSpecsPerProgram) {
    int64_t end = std::min(first + kSpecsPerProgram, (cases + kCallsPerSpec - 1) / kCallsPerSpec);
    RandomPrograms programs(seed, first, end);
    for (int64_t number = first * kCallsPerSpec; number < std::min(cases, end * kCallsPerSpec);
         ++number)
      programs.check(number);
  }
}
