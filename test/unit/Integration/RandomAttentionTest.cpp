//===- RandomAttentionTest.cpp - random attention against its formula -----===//
//
// A configuration is a function of its number and the seed. A failure prints
// the command that runs this configuration alone; HEDDLE_RANDOM_SEED=N gives
// other configurations.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"

#include "heddle/Target/CPUVariants.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kSpecs = 50;
static constexpr int64_t kCallsPerSpec = 5;
static constexpr const char *kNumberVariable = "HEDDLE_RANDOM_ATTENTION";

static AttentionSpec randomSpec(Random &random) {
  AttentionSpec spec;
  const DType types[] = {DType::F32, DType::F16, DType::BF16};
  spec.type = types[random.integer(0, 2)];
  spec.keyHeads = random.integer(1, 3);
  spec.heads = spec.keyHeads * random.integer(1, 4);
  const int64_t dims[] = {1, 5, 8, 16, 24, 33, 40, 64};
  spec.keyDim = dims[random.integer(0, 7)];
  spec.valueDim = random.chance(0.5) ? spec.keyDim : dims[random.integer(0, 7)];
  spec.rule.causal = random.chance(0.5);
  if (random.chance(0.4)) {
    spec.rule.left = random.integer(-1, 6);
    spec.rule.right = random.integer(-1, 4);
  }
  if (random.chance(0.25))
    spec.rule.softcap = random.real(0.5, 8);
  spec.dynamicDims = random.chance(0.15);
  if (spec.dynamicDims || random.chance(0.3))
    spec.rule.scale = random.real(0.05, 0.8);
  auto broadcast = [&] {
    std::array<bool, 4> full;
    for (bool &each : full)
      each = random.chance(0.6);
    return full;
  };
  if (random.chance(0.3))
    spec.bias = broadcast();
  if (random.chance(0.3))
    spec.mask = broadcast();
  spec.biasType = random.chance(0.5) ? spec.type : DType::F32;
  spec.sinks = random.chance(0.25);
  spec.sinksType = random.chance(0.5) ? spec.type : DType::F32;
  spec.lengths = random.chance(0.35);
  spec.lengthsType = random.chance(0.5) ? DType::I32 : DType::I64;
  spec.slopesRank = random.chance(0.2) ? int(random.integer(1, 2)) : 0;
  if (random.chance(0.2)) {
    spec.keyType = types[random.integer(0, 2)];
    spec.valueType = types[random.integer(0, 2)];
  }
  return spec;
}

static AttentionExtents randomExtents(Random &random) {
  AttentionExtents extents;
  extents.batch = random.integer(1, 3);
  extents.queries = random.chance(0.3) ? 1 : random.integer(0, 21);
  extents.keys = random.chance(0.2) ? extents.queries : random.integer(0, 40);
  if (random.chance(0.15)) {
    extents.queries = random.integer(0, 80);
    extents.keys = random.integer(0, 300);
  }
  return extents;
}

/// Kernels for GPUs have a static head dimension.
static bool isSupported(const AttentionSpec &spec, const std::string &variant) {
  return lookupCPUVariant(variant) || !spec.dynamicDims;
}

/// Configurations of one CPU variant or simulated target; number = spec * kCallsPerSpec + call.
static void checkAll(const std::string &variant, KernelSource kernels, int64_t seed,
                     std::optional<int64_t> only) {
  Program program;
  std::vector<AttentionSpec> specs;
  for (int64_t i = 0; i < kSpecs; ++i) {
    Random random(seed * 1000 + i);
    specs.push_back(randomSpec(random));
    if (isSupported(specs.back(), variant) && (!only || *only / kCallsPerSpec == i))
      program.add(specs.back().entry("spec" + std::to_string(i)));
  }
  if (!program.compile(variant, kernels))
    return;
  for (int64_t number = 0; number < kSpecs * kCallsPerSpec; ++number) {
    if (only && *only != number)
      continue;
    const AttentionSpec &spec = specs[size_t(number / kCallsPerSpec)];
    if (!isSupported(spec, variant))
      continue;
    Random random(seed * 1000000 + number);
    AttentionExtents extents = randomExtents(random);
    AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
    std::string reproducer =
        "HEDDLE_RANDOM_SEED=" + std::to_string(seed) + " " + kNumberVariable + "=" +
        std::to_string(number) + " IntegrationTests --gtest_filter=RandomAttention.* # " + variant +
        (kernels == KernelSource::Tile ? " tile" : " reference") +
        " B=" + std::to_string(extents.batch) + " Lq=" + std::to_string(extents.queries) +
        " Lk=" + std::to_string(extents.keys);
    checkAttention(program, "spec" + std::to_string(number / kCallsPerSpec), spec, inputs,
                   reproducer);
  }
}

TEST(RandomAttention, SimulatedKernelsAgreeWithTheFormula) {
  checkAll("sim-sm_80", KernelSource::Tile, randomSeed(), numberFromEnvironment(kNumberVariable));
}

TEST(RandomAttention, AgreesWithTheFormula) {
  for (const std::string &variant : hostVariants())
    for (KernelSource kernels : {KernelSource::Tile, KernelSource::Reference})
      checkAll(variant, kernels, randomSeed(), numberFromEnvironment(kNumberVariable));
}
