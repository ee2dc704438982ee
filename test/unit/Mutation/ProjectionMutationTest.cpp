//===- ProjectionMutationTest.cpp - mistakes in projections are found -----===//
//
// The kernels of fused projections that heddle-compile makes for sm_80, with one mistake each, as AttentionMutationTest.cpp does it:
// what a whole decoder block has of them, in both kinds of 16-bit data and in f32 (three products of tf32).
//
//===----------------------------------------------------------------------===//

#include "../Integration/ProjectionSpec.h"
#include "MutantSearch.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
struct ProjectionCase {
  const char *name;
  ProjectionSpec spec;
};

void PrintTo(const ProjectionCase &each, std::ostream *os) { *os << each.name; }

class ProjectionMutation : public testing::TestWithParam<ProjectionCase> {};
} // namespace

static std::vector<ProjectionCase> projectionCases() {
  // More blocks of depth than a pipeline has stages. The last one is whole, or not; so is the only block of columns of one of them.
  ProjectionSpec qkv, gated, residual, wide;
  qkv.kind = ProjectionKind::QueryKeyValue;
  qkv.type = DType::BF16;
  qkv.depth = 176;
  gated.kind = ProjectionKind::Gated;
  gated.type = DType::F16;
  gated.depth = 192;
  gated.columns = 128;
  residual.type = DType::F16;
  residual.depth = 176;
  residual.columns = 28;
  wide = gated;
  wide.type = DType::F32;
  wide.columns = 64;
  return {{"bf16_query_key_value", qkv},
          {"f16_gated", gated},
          {"f16_residual", residual},
          {"f32_gated", wide}};
}

INSTANTIATE_TEST_SUITE_P(Kernels, ProjectionMutation, testing::ValuesIn(projectionCases()),
                         [](const auto &info) { return info.param.name; });

static Probe probeOf(const ProjectionSpec &spec, ProjectionExtents extents) {
  Random random(41);
  ProjectionCall call(spec, extents, random);
  Probe probe{std::to_string(extents.batch) + "x" + std::to_string(extents.rows),
              std::move(call.arguments),
              {}};
  // Gated values are up to 40, others up to 8.
  double limit = spec.type == DType::F32   ? 4.5e-5
                 : spec.type == DType::F16 ? (spec.kind == ProjectionKind::Gated ? 0.1 : 0.02)
                                           : 0.15;
  for (ProjectionCall::Expected &each : call.expected)
    probe.expected.push_back({each.name, each.argument, std::move(each.values), limit});
  return probe;
}

TEST_P(ProjectionMutation, EachIsFound) {
  const ProjectionSpec &spec = GetParam().spec;
  // A thread copies and stores every 32nd row or less: the last row is another one of these each time. Then two sequences of more than a
  // block of rows.
  std::vector<Probe> probes;
  for (int64_t rows : {20, 37, 70, 100})
    probes.push_back(probeOf(spec, {1, rows, 120, 5}));
  probes.push_back(probeOf(spec, {2, 130, 150, 11}));
  findAllMutants(GetParam().name, spec.entry("entry"), std::move(probes));
}
