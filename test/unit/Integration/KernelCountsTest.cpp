//===- KernelCountsTest.cpp - what simulated attention moves and computes -===//
//
// The simulator's counts are exact, so that they are tests of performance. For a
// block of rows that sees keys [begin, end), docs/read-a-kernel-report.md defines
//
//   needed bytes  of its queries, outputs and lse once, and of end - begin keys and values
//   needed FLOPs  2 (dk + dv) for each pair of a query and a key that it sees
//
// Kernels may ask for 1.05 times these bytes, and compute one block of scores more than
// these FLOPs for each block of rows, at all of its edges together (causal, ends of a
// window, last key); what they ask for fills the sectors, and no access of shared memory
// conflicts with another.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"
#include "ProjectionSpec.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static AttentionSpec countsSpec(DType type, int64_t dim) {
  AttentionSpec spec;
  spec.type = type;
  spec.heads = 2;
  spec.keyDim = spec.valueDim = dim;
  return spec;
}

namespace {
/// Rows of a block, and the keys that some row of it sees.
struct RowBlock {
  int64_t rows, begin, end;
};

/// What is needed for one call.
struct Needs {
  double bytes = 0, flops = 0;
  int64_t rowBlocks = 0;
};

/// What a launch did.
struct Counts {
  double bytes, sectors, conflicts, flops;
  double needed; // FLOPs, as the module itself knows them
  nlohmann::json ops;
};
} // namespace

/// Keys that the row at `position` sees, as [first, second).
static std::pair<int64_t, int64_t> visibleKeys(const AttentionRule &rule, int64_t position,
                                               int64_t keys) {
  int64_t begin = rule.left >= 0 ? std::max<int64_t>(position - rule.left, 0) : 0;
  int64_t end = rule.causal ? position + 1 : rule.right >= 0 ? position + rule.right + 1 : keys;
  end = std::max<int64_t>(std::min(end, keys), begin);
  return {begin, end};
}

/// The keys of a row left of those, which are global.
static int64_t globalKeys(const AttentionRule &rule, int64_t position, int64_t keys) {
  return std::min(visibleKeys(rule, position, keys).first, rule.globalKeys);
}

static Needs needsOf(const AttentionSpec &spec, const AttentionExtents &extents,
                     int64_t rowsOfBlock) {
  Needs needs;
  double element = double(dtypeSize(spec.type)), dims = double(spec.keyDim + spec.valueDim);
  for (int64_t first = 0; first < extents.queries; first += rowsOfBlock) {
    int64_t last = std::min(first + rowsOfBlock, extents.queries) - 1;
    int64_t shift = extents.keys - extents.queries;
    int64_t begin = visibleKeys(spec.rule, first + shift, extents.keys).first;
    int64_t end = visibleKeys(spec.rule, last + shift, extents.keys).second;
    needs.bytes += double(last - first + 1) * (dims * element + 4);
    needs.bytes += double(end - begin) * dims * element;
    for (int64_t row = first; row <= last; ++row) {
      auto [from, to] = visibleKeys(spec.rule, row + shift, extents.keys);
      needs.flops +=
          double(to - from + globalKeys(spec.rule, row + shift, extents.keys)) * 2 * dims;
    }
    ++needs.rowBlocks;
  }
  double heads = double(extents.batch * spec.heads);
  return {needs.bytes * heads, needs.flops * heads, int64_t(double(needs.rowBlocks) * heads)};
}

static Counts countsOf(const Program &program) {
  nlohmann::json kernels = program.takeReport();
  EXPECT_EQ(kernels.size(), 1u);
  const nlohmann::json &kernel = kernels.at(0), &total = kernel.at("total");
  auto sum = [&](const char *load, const char *store) {
    return total.at(load).get<double>() + total.at(store).get<double>();
  };
  return {sum("global_load_bytes", "global_store_bytes"),
          sum("global_load_sectors", "global_store_sectors"),
          total.at("shared_conflicts").get<double>(),
          total.at("mma_flops").get<double>(),
          kernel.at("needed_flops").get<double>(),
          kernel.at("ops")};
}

/// Queries and keys of a block.
struct BlockShape {
  int64_t rows, keys;
};

/// The block that kernels for up to 256 columns in 16 bits and any number of queries take.
static constexpr BlockShape usualBlock{128, 64};

/// FLOPs that are done of one block of scores: columns are padded to whole fragments.
static double blockFlops(const AttentionSpec &spec, BlockShape block) {
  auto padded = [](int64_t columns) { return (columns + 15) / 16 * 16; };
  double once = double(block.rows * block.keys * 2 * (padded(spec.keyDim) + padded(spec.valueDim)));
  return once * (spec.type == DType::F32 ? 3 : 1);
}

/// FLOPs over the needed ones, in blocks of scores for each block of rows.
static double excessBlocks(const AttentionSpec &spec, const Counts &counts, const Needs &needs,
                           BlockShape block) {
  double pairs = needs.flops / double(2 * (spec.keyDim + spec.valueDim));
  double scores = counts.flops / blockFlops(spec, {1, 1});
  return (scores - pairs) / double(block.rows * block.keys * needs.rowBlocks);
}

namespace {
struct CountsCase {
  DType type;
  int64_t dim;
};
class KernelCounts : public testing::TestWithParam<CountsCase> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Types, KernelCounts,
                         testing::Values(CountsCase{DType::F16, 64}, CountsCase{DType::F16, 128},
                                         CountsCase{DType::F16, 256}, CountsCase{DType::BF16, 64},
                                         CountsCase{DType::BF16, 128},
                                         CountsCase{DType::BF16, 256}),
                         [](const auto &info) {
                           return std::string(dtypeName(info.param.type)) + "_" +
                                  std::to_string(info.param.dim);
                         });

TEST_P(KernelCounts, StayWithinTheirBounds) {
  auto [type, dim] = GetParam();
  std::vector<AttentionSpec> specs(3, countsSpec(type, dim));
  specs[1].rule.causal = true;
  specs[2].rule.causal = true;
  specs[2].rule.left = 255;
  Program program;
  for (auto [i, spec] : llvm::enumerate(specs))
    program.add(spec.entry("spec" + std::to_string(i)));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  for (auto [i, spec] : llvm::enumerate(specs))
    for (AttentionExtents extents :
         {AttentionExtents{1, 512, 512}, AttentionExtents{2, 256, 640}}) {
      Random random(33);
      AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
      callAttention(program, "spec" + std::to_string(i), spec, inputs);
      Counts counts = countsOf(program);
      Needs needs = needsOf(spec, extents, usualBlock.rows);
      SCOPED_TRACE(spec.text());
      double edges = double(spec.rule.causal) + double(spec.rule.left >= 0);
      EXPECT_EQ(counts.conflicts, 0);
      EXPECT_EQ(counts.needed, needs.flops);
      EXPECT_GE(counts.bytes, needs.bytes) << "less than what is needed: the formula is wrong";
      EXPECT_LE(counts.bytes, 1.05 * needs.bytes);
      EXPECT_GE(counts.bytes / (32 * counts.sectors), 0.95);
      EXPECT_GE(counts.flops, needs.flops);
      double excess = excessBlocks(spec, counts, needs, usualBlock);
      EXPECT_LE(excess, 0.5 * edges);
      std::printf("counts: %s Lq=%lld: bytes %.4f of the needed ones, sectors %.4f, FLOPs %.4f, "
                  "%.3f blocks more, conflicts %.0f\n",
                  spec.text().c_str(), static_cast<long long>(extents.queries),
                  counts.bytes / needs.bytes, counts.bytes / (32 * counts.sectors),
                  counts.flops / needs.flops, excess, counts.conflicts);
    }
}

// Edges of one head dimension anywhere: windows of any length, positions of queries and numbers of keys that are no multiples of a block of
// keys, windows that begin before key 0.
namespace {
struct EdgeCase {
  const char *name;
  DType type;
  int64_t dim;
  BlockShape block;
};
void PrintTo(const EdgeCase &each, std::ostream *os) { *os << each.name; }
class EdgeCounts : public testing::TestWithParam<EdgeCase> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Types, EdgeCounts,
                         testing::Values(EdgeCase{"f16_64", DType::F16, 64, {128, 64}},
                                         EdgeCase{"f16_512", DType::F16, 512, {64, 32}},
                                         EdgeCase{"f32_64", DType::F32, 64, {128, 32}}),
                         [](const auto &info) { return info.param.name; });

TEST_P(EdgeCounts, StayWithinTheirBoundsAnywhere) {
  const EdgeCase &edge = GetParam();
  std::vector<AttentionSpec> specs;
  auto add = [&](int64_t left, int64_t right, bool causal, int64_t globalKeys = 0) {
    AttentionSpec &spec = specs.emplace_back(countsSpec(edge.type, edge.dim));
    spec.rule.left = left;
    spec.rule.right = right;
    spec.rule.causal = causal;
    spec.rule.globalKeys = globalKeys;
  };
  bool isLarge = edge.dim > 64;
  add(-1, -1, true);
  add(100, -1, true);
  for (int64_t left : {0, 3, 31, 62, 64, 127, 190, 257})
    if (!isLarge || left == 31 || left == 62)
      add(left, -1, true);
  if (!isLarge) {
    add(70, -1, false);
    add(9, 13, false);
    add(100, -1, true, 75);
  }
  Program program;
  for (auto [i, spec] : llvm::enumerate(specs))
    program.add(spec.entry("spec" + std::to_string(i)));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  for (auto [i, spec] : llvm::enumerate(specs)) {
    double most = 0;
    for (int64_t keys : {256, 512, 513, 527, 543, 544, 575}) {
      AttentionExtents extents{1, 256, keys};
      Random random(39);
      AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
      callAttention(program, "spec" + std::to_string(i), spec, inputs);
      Counts counts = countsOf(program);
      double excess =
          excessBlocks(spec, counts, needsOf(spec, extents, edge.block.rows), edge.block);
      EXPECT_EQ(counts.conflicts, 0) << spec.text();
      EXPECT_GE(excess, 0) << spec.text() << " keys=" << keys;
      EXPECT_LE(excess, 1.0) << spec.text() << " keys=" << keys;
      most = std::max(most, excess);
    }
    std::printf("counts: %s: at most %.3f blocks more\n", spec.text().c_str(), most);
  }
}

// Tails: what lies outside of the tensors is neither read nor written.
TEST_P(KernelCounts, TailsAreNotMoved) {
  auto [type, dim] = GetParam();
  AttentionSpec spec = countsSpec(type, dim);
  Program program;
  program.add(spec.entry("attention"));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  for (AttentionExtents extents : {AttentionExtents{1, 129, 65}, AttentionExtents{2, 1, 300}}) {
    Random random(34);
    AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
    callAttention(program, "attention", spec, inputs);
    EXPECT_EQ(countsOf(program).bytes, needsOf(spec, extents, usualBlock.rows).bytes);
  }
}

// The module knows what its formula needs: by positions, by the lengths of sequences, with keys that a window does not hide.
TEST(NeededFlops, FollowLengthsAndWindows) {
  AttentionSpec causal = countsSpec(DType::F16, 64);
  causal.rule.causal = true;
  causal.lengths = true;
  AttentionSpec window = causal;
  window.rule.left = 20;
  window.valueDim = 32;
  Program program;
  program.add(causal.entry("causal"));
  program.add(window.entry("window"));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  Random random(37);
  const std::vector<int64_t> lengths{100, 3, 0};
  for (auto [name, spec] : {std::pair("causal", &causal), std::pair("window", &window)}) {
    AttentionInputs inputs = AttentionInputs::random(*spec, {3, 5, 100}, random);
    inputs.lengths = Array::filled(
        DType::I32, {3}, [&](const Array::Index &i) { return double(lengths[size_t(i[0])]); });
    callAttention(program, name, *spec, inputs);
    double pairs = 0;
    for (int64_t keys : lengths)
      for (int64_t row = 0; row < 5; ++row) {
        auto [from, to] = visibleKeys(spec->rule, keys - 5 + row, keys);
        pairs += double(to - from);
      }
    EXPECT_EQ(countsOf(program).needed,
              pairs * double(spec->heads * 2 * (spec->keyDim + spec->valueDim)));
  }
}

// In a decode step with a window, bytes follow the window and not the length of the cache.
TEST(DecodeCounts, BytesFollowTheWindow) {
  AttentionSpec spec = countsSpec(DType::F16, 64);
  spec.rule.causal = true;
  spec.rule.left = 3;
  spec.lengths = true;
  Program program;
  program.add(spec.entry("attention"));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  double before = 0;
  for (int64_t length : {128, 4096}) {
    Random random(35);
    AttentionInputs inputs = AttentionInputs::random(spec, {1, 1, length}, random);
    inputs.lengths = Array::constant(DType::I32, {1}, double(length));
    callAttention(program, "attention", spec, inputs);
    Counts counts = countsOf(program);
    if (before)
      EXPECT_EQ(counts.bytes, before);
    before = counts.bytes;
    // At most a block of keys and values for each head.
    EXPECT_LE(counts.bytes, 2 * (64 * 2 * 64 * 2 + 2 * 64 * 2 + 4 + 4 * 128));
  }
}

// For every head dimension of edge case 5, with a causal mask and a window whose length is no multiple of anything: shared memory is read and
// written without conflicts, and edges cost at most a block of scores.
namespace {
struct HeadDims {
  int64_t key, value;
};
class HeadDimCounts : public testing::TestWithParam<DType> {};

constexpr HeadDims headDims[] = {{8, 8},     {16, 16},   {24, 24},   {36, 36},   {40, 40},
                                 {48, 48},   {56, 56},   {64, 64},   {72, 72},   {80, 80},
                                 {96, 96},   {112, 112}, {128, 128}, {160, 160}, {192, 192},
                                 {224, 224}, {256, 256}, {512, 512}, {192, 128}, {576, 512}};

/// The first block of the table in AttentionForm.cpp that the shared memory of sm_80 holds.
BlockShape blockOf(DType type, HeadDims dims) {
  int64_t columns = std::max(dims.key, dims.value);
  if (type != DType::F32)
    return columns <= 256 ? BlockShape{128, 64} : BlockShape{64, 32};
  if (columns <= 128)
    return {128, 32};
  if (columns <= 160)
    return {128, 64};
  if (columns <= 256)
    return columns <= 192 ? BlockShape{64, 64} : BlockShape{64, 32};
  return columns <= 512 ? BlockShape{16, 32} : BlockShape{16, 16};
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Types, HeadDimCounts, testing::Values(DType::F16, DType::BF16, DType::F32),
                         [](const auto &info) { return std::string(dtypeName(info.param)); });

TEST_P(HeadDimCounts, HaveNoConflictsAndCheapEdges) {
  DType type = GetParam();
  std::vector<AttentionSpec> specs;
  Program program;
  for (HeadDims dims : headDims) {
    AttentionSpec spec = countsSpec(type, dims.key);
    spec.valueDim = dims.value;
    spec.rule.causal = true;
    spec.rule.left = 100;
    program.add(spec.entry("spec" + std::to_string(specs.size())));
    specs.push_back(spec);
  }
  ASSERT_TRUE(program.compile("sim-sm_80"));
  for (auto [i, spec] : llvm::enumerate(specs)) {
    AttentionExtents extents{1, 256, 384};
    Random random(36);
    AttentionInputs inputs = AttentionInputs::random(spec, extents, random);
    callAttention(program, "spec" + std::to_string(i), spec, inputs);
    Counts counts = countsOf(program);
    for (const nlohmann::json &op : counts.ops)
      EXPECT_EQ(op.at("shared_conflicts").get<int64_t>(), 0) << spec.text() << " " << op.at("name");
    BlockShape block = blockOf(type, headDims[i]);
    Needs needs = needsOf(spec, extents, block.rows);
    double excess = excessBlocks(spec, counts, needs, block);
    EXPECT_EQ(counts.needed, needs.flops);
    EXPECT_GE(excess, 0) << spec.text();
    // Matrix instructions of f32 have parts of 8 keys, with which a row of 16 computes up to 22 hidden ones.
    EXPECT_LE(excess, block.keys == 16 ? 22.0 / 16 : 1.0) << spec.text();
    std::printf("counts: %s: %.3f blocks more\n", spec.text().c_str(), excess);
  }
}

// A projection loads its rows and weights once for each block of columns and of rows, the vectors that go with them once for each
// program, and stores its results. With K deep, e bytes of an element, blocks as in --print-kernels:
//
//   needed bytes  = e (blocks of columns x rows x K  +  blocks of rows x columns of all products x K  +  results  +  residual)
//                   + e programs x K of a norm  +  e blocks of rows x columns of a bias  +  4 blocks of columns x rows of positions
//
// f16 reads the rows of a norm twice.
namespace {
struct ProjectionCountsCase {
  const char *name;
  ProjectionSpec spec;
  int64_t rows, columns; // of a block; columns of each product
};

void PrintTo(const ProjectionCountsCase &each, std::ostream *os) { *os << each.name; }

class ProjectionCounts : public testing::TestWithParam<ProjectionCountsCase> {};

std::vector<ProjectionCountsCase> projectionCases() {
  ProjectionSpec qkv, gated, residual;
  qkv.kind = ProjectionKind::QueryKeyValue;
  qkv.depth = 512;
  qkv.heads = 4;
  qkv.keyHeads = 2;
  qkv.headDim = 64;
  gated.kind = ProjectionKind::Gated;
  gated.depth = 512;
  gated.columns = 256;
  residual.depth = 512;
  residual.columns = 256;
  auto of = [](ProjectionSpec spec, DType type) {
    spec.type = type;
    return spec;
  };
  return {{"f16_query_key_value", of(qkv, DType::F16), 128, 64},
          {"bf16_query_key_value", of(qkv, DType::BF16), 128, 64},
          {"f32_query_key_value", of(qkv, DType::F32), 64, 64},
          {"f16_gated", of(gated, DType::F16), 128, 64},
          {"bf16_gated", of(gated, DType::BF16), 128, 64},
          {"f32_gated", of(gated, DType::F32), 64, 32},
          {"f16_residual", of(residual, DType::F16), 128, 128},
          {"bf16_residual", of(residual, DType::BF16), 128, 128},
          {"f32_residual", of(residual, DType::F32), 64, 64}};
}
} // namespace

INSTANTIATE_TEST_SUITE_P(Types, ProjectionCounts, testing::ValuesIn(projectionCases()),
                         [](const auto &info) { return info.param.name; });

TEST_P(ProjectionCounts, StayWithinTheirBounds) {
  const auto &[name, spec, rowsOfBlock, columnsOfBlock] = GetParam();
  Program program;
  program.add(spec.entry("projection"));
  ASSERT_TRUE(program.compile("sim-sm_80"));
  for (ProjectionExtents extents :
       {ProjectionExtents{1, 256, 256}, ProjectionExtents{2, 384, 512, 7}}) {
    Random random(38);
    ProjectionCall call(spec, extents, random);
    std::vector<Array *> arguments;
    for (Array &argument : call.arguments)
      arguments.push_back(&argument);
    program.call("projection", arguments);
    Counts counts = countsOf(program);

    double element = double(dtypeSize(spec.type)), depth = double(spec.depth);
    double rows = double(extents.batch * extents.rows), columns = double(spec.allColumns());
    bool isGated = spec.kind == ProjectionKind::Gated,
         hasNorm = spec.kind != ProjectionKind::Residual;
    double columnBlocks = columns / double(columnsOfBlock * (isGated ? spec.products() : 1));
    double results = rows * columns / (isGated ? 2 : 1);
    double loads = columnBlocks * rows * depth + rows / double(rowsOfBlock) * columns * depth;
    if (hasNorm && spec.type == DType::F16)
      loads += columnBlocks * rows * depth;
    if (hasNorm)
      loads += columnBlocks * rows / double(rowsOfBlock) * depth;
    else
      loads += results;
    double needed = (loads + results) * element, flops = 2 * rows * columns * depth;
    if (spec.kind == ProjectionKind::QueryKeyValue)
      needed += rows / double(rowsOfBlock) * columns * element + columnBlocks * rows * 4;
    double times = spec.type == DType::F32 ? 3 : 1;
    EXPECT_EQ(counts.needed, flops);
    EXPECT_EQ(counts.flops, times * flops);
    EXPECT_GE(counts.bytes, needed) << "less than what is needed: the formula is wrong";
    EXPECT_LE(counts.bytes, 1.05 * needed);
    EXPECT_GE(counts.bytes / (32 * counts.sectors), 0.95);
    for (const nlohmann::json &op : counts.ops)
      EXPECT_EQ(op.at("shared_conflicts").get<int64_t>(), 0) << op.at("name");
    std::printf("counts: %s: bytes %.4f of the needed ones, sectors %.4f, conflicts %.0f\n",
                spec.text().c_str(), counts.bytes / needed, counts.bytes / (32 * counts.sectors),
                counts.conflicts);
  }
}
