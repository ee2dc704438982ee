//===- AttentionCases.cpp - random attention ------------------------------===//
//
// Small kernels of one CPU variant with every option of the op. Larger ones,
// several ways and in the simulator, are in RandomAttentionTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "../Integration/AttentionSpec.h"
#include "OpCase.h"

#include <cmath>

namespace heddle::test {

static AttentionSpec randomSpec(Random &random) {
  static const int64_t dims[] = {1, 3, 8, 16, 20, 32};
  static const std::vector<int64_t> blocks[] = {{16, 16}, {32, 16}, {16, 64}};
  AttentionSpec spec;
  spec.type = randomNarrowFloat(random);
  spec.keyDim = pick(random, dims);
  spec.valueDim = random.chance(0.7) ? spec.keyDim : pick(random, dims);
  spec.keyHeads = random.integer(1, 3);
  spec.heads = spec.keyHeads * random.integer(1, 4);
  spec.rule.causal = random.chance(0.5);
  if (random.chance(0.4)) {
    spec.rule.left = random.integer(-1, 20);
    spec.rule.right = random.integer(-1, 20);
    if (spec.rule.left >= 0 && random.chance(0.4))
      spec.rule.globalKeys = random.integer(1, 9);
  }
  if (random.chance(0.25))
    spec.rule.softcap = random.real(0.5, 8);
  if (random.chance(0.3))
    spec.rule.scale = random.real(-0.5, 1);
  auto broadcast = [&] {
    std::array<bool, 4> full;
    for (bool &each : full)
      each = random.chance(0.6);
    return full;
  };
  if (random.chance(0.25))
    spec.bias = broadcast();
  if (random.chance(0.25))
    spec.mask = broadcast();
  spec.biasType = randomNarrowFloat(random);
  spec.sinks = random.chance(0.3);
  spec.sinksType = randomNarrowFloat(random);
  spec.lengths = random.chance(0.4);
  spec.lengthsType = randomIndexType(random);
  spec.slopesRank = random.chance(0.2) ? int(random.integer(1, 2)) : 0;
  if (random.chance(0.15)) {
    spec.keyType = randomNarrowFloat(random);
    spec.valueType = randomNarrowFloat(random);
  }
  if (random.chance(0.4))
    spec.score = ScoreForm(random.integer(1, 3));
  spec.max = random.chance(0.3);
  spec.sinkMass = spec.sinks && random.chance(0.6);
  spec.firstKeyMass = random.chance(0.3);
  if (random.chance(0.4))
    spec.block = pick(random, blocks);
  if (random.chance(0.3)) {
    spec.queries = random.integer(1, 8);
    spec.block = random.chance(0.5) ? std::vector<int64_t>{16, 16, 32} : std::vector<int64_t>();
  }
  return spec;
}

/// All visible keys weigh the same, and each value says whose it is: a key too many or too few changes much.
static void markKeys(AttentionInputs &inputs) {
  for (int64_t i = 0; i < inputs.key.count(); ++i)
    if (!std::isnan(inputs.key[i]))
      inputs.key.set(inputs.key.indexOf(i), 0);
  for (int64_t i = 0; i < inputs.value.count(); ++i)
    if (Array::Index at = inputs.value.indexOf(i); !std::isnan(inputs.value[i]))
      inputs.value.set(at, at[1] % inputs.value.shape()[3] == at[3] ? double(at[1] % 13 + 1) : 0);
}

static OpCall attentionCall(const AttentionSpec &spec, Random &random) {
  AttentionExtents extents;
  extents.batch = random.chance(0.05) ? 0 : random.integer(1, 3);
  extents.queries = spec.queries >= 0 ? spec.queries : random.integer(0, 40);
  extents.keys = random.chance(0.1) ? random.integer(0, 1) : random.integer(0, 90);
  // A captured tensor has no extent of 0 where there are scores, and without keys there are none.
  AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
  if (random.chance(0.4))
    markKeys(inputs);
  static const AttentionMemory memories[] = {AttentionMemory::Dense, AttentionMemory::Dense,
                                             AttentionMemory::Fused, AttentionMemory::HeadsFirst,
                                             AttentionMemory::SharedKeyHead};
  inputs.moveTo(pick(random, memories));
  AttentionResult result = evaluateAttention(inputs.operands(spec), inputs.rule(spec));
  OpCall call;
  for (Array *argument : inputs.arguments(spec))
    call.add(*argument);
  // What a product of weights and values errs by is relative to the terms of its sum.
  std::vector<double> scales;
  for (double magnitude : result.magnitude)
    scales.insert(scales.end(), size_t(spec.valueDim), magnitude);
  bool isNarrow = spec.type != DType::F32 || spec.keyType || spec.valueType;
  call.expect(spec.type, {extents.batch, extents.queries, spec.heads, spec.valueDim}, result.output,
              scales);
  call.results.back().arithmetic = spec.type == DType::BF16 ? 8e-3 : isNarrow ? 1e-3 : 2e-5;
  auto statistic = [&](bool asked, const std::vector<double> &values, double base) {
    if (!asked)
      return;
    std::vector<double> scales;
    for (double value : values)
      scales.push_back(base + (std::isfinite(value) ? std::abs(value) : 0));
    call.expect(DType::F32, {extents.batch, spec.heads, extents.queries}, values, scales);
    call.results.back().arithmetic = isNarrow ? 1e-3 : 1e-5;
  };
  statistic(true, result.lse, 1);
  statistic(spec.max, result.max, 1);
  statistic(spec.sinkMass, result.sinkMass, 0.1);
  statistic(spec.firstKeyMass, result.firstKeyMass, 0.1);
  return call;
}

static OpCase attention(const std::string &symbol, Random &random) {
  AttentionSpec spec = randomSpec(random);
  return {spec.entry(symbol).text(), spec.text(),
          [spec](Random &random) { return attentionCall(spec, random); }};
}

const std::vector<OpKind> &attentionKinds() {
  static const std::vector<OpKind> kinds = {{"attention", attention, 80}};
  return kinds;
}

} // namespace heddle::test
