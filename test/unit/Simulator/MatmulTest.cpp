//===- MatmulTest.cpp - tiled matrix products from end to end -------------===//

#include "Kernels.h"
#include "heddle/Runtime/HalfFloat.h"
#include <cmath>
#include <random>

using namespace heddle::test;

namespace {

//===----------------------------------------------------------------------===//
// f32, a thread per element
//===----------------------------------------------------------------------===//

TEST(MatmulTest, TiledFloat) {
  constexpr uint32_t n = 48, tile = 16;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> a(n * n), b(n * n), expected(n * n);
  for (float &value : a)
    value = normal(random);
  for (float &value : b)
    value = normal(random);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t k = 0; k < n; ++k)
        expected[i * n + j] += a[i * n + k] * b[k * n + j];

  auto multiply = [&](uint64_t seed, bool lastBarrier, std::vector<float> &c) {
    Launch launch;
    launch.threads = tile * tile;
    launch.ctas = (n / tile) * (n / tile);
    launch.shared = 2 * tile * tile * 4;
    launch.seed = seed;
    launch.workers = 2;
    launch.buffers = {bufferOf("a", a, false), bufferOf("b", b, false), bufferOf("c", c)};
    return run(launch, [&, lastBarrier](Lane lane) {
      uint32_t x = lane.tid() % tile, y = lane.tid() / tile;
      uint32_t row = lane.cta() / (n / tile) * tile + y,
               column = lane.cta() % (n / tile) * tile + x;
      uint32_t slot = lane.tid() * 4, sharedB = tile * tile * 4;
      float sum = 0;
      for (uint32_t k = 0; k < n; k += tile) {
        lane.storeShared(1, slot, lane.load(0, &a[row * n + k + x]));
        lane.storeShared(3, sharedB + slot, lane.load(2, &b[(k + y) * n + column]));
        lane.barrier(4);
        for (uint32_t i = 0; i < tile; ++i)
          sum += lane.loadShared<float>(5, (y * tile + i) * 4) *
                 lane.loadShared<float>(6, sharedB + (i * tile + x) * 4);
        if (lastBarrier)
          lane.barrier(7);
      }
      lane.store(8, &c[row * n + column], sum);
    });
  };

  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<float> c(n * n);
    Result result = multiply(seed, true, c);
    ASSERT_TRUE(result.isClean());
    EXPECT_EQ(c, expected);
    // 9 CTAs of 8 warps, 3 tiles each.
    constexpr uint32_t trips = 9 * 8 * 3;
    EXPECT_EQ(result.counters(0).global_load_bytes, trips * 128u);
    EXPECT_EQ(result.counters(0).global_load_sectors, trips * 4u);
    EXPECT_EQ(result.counters(5).warp_instructions, trips * 16u);
    // A warp has two rows of a: words 16 banks apart, shared by half of the lanes each.
    EXPECT_EQ(result.counters(5).shared_conflicts, 0u);
    EXPECT_EQ(result.counters(8).global_store_sectors, 9u * 8 * 4);
    EXPECT_EQ(result->total.barrier_waits, trips * 2u);
  }
  // Without the barrier at the end of a trip, fast warps overwrite what slow ones still read.
  std::vector<float> c(n * n);
  Result result = multiply(5, false, c);
  ASSERT_EQ(result->status, HEDDLE_SIM_DEFECTS);
  for (uint64_t i = 0; i < result->num_reports; ++i)
    EXPECT_EQ(result->reports[i].kind, uint32_t(HEDDLE_SIM_RACE));
}

//===----------------------------------------------------------------------===//
// bf16, with asynchronous copies, ldmatrix and mma
//===----------------------------------------------------------------------===//

/// C[m][n] = A[m][k] * B[n][k]^T, tiles of 32x32, four warps of 16x16. Two stages of 32 along k; rows
/// are 64 bytes with chunks of 16 at slot chunk ^ (row / 2 & 3).
class PipelinedMatmul {
public:
  enum Defect { None, WaitsTooLittle, NoLastBarrier, NoSwizzle };

  PipelinedMatmul(uint32_t m, uint32_t n, uint32_t k) : m(m), n(n), k(k), a(m * k), b(n * k) {
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    for (uint16_t &value : a)
      value = heddle::floatToBFloat16(normal(random));
    for (uint16_t &value : b)
      value = heddle::floatToBFloat16(normal(random));
  }

  Result run(uint64_t seed, Defect defect, std::vector<float> &c) {
    Launch launch;
    launch.threads = 128;
    launch.ctas = (m + 31) / 32 * (n / 32);
    launch.shared = 2 * kStage;
    launch.seed = seed;
    launch.workers = 2;
    launch.buffers = {bufferOf("a", a, false), bufferOf("b", b, false), bufferOf("c", c)};
    return heddle::test::run(launch, [&, defect](Lane lane) { work(lane, defect, c); });
  }

  float expected(uint32_t i, uint32_t j) const {
    double sum = 0;
    for (uint32_t x = 0; x < k; ++x)
      sum += double(heddle::bfloat16ToFloat(a[i * k + x])) * heddle::bfloat16ToFloat(b[j * k + x]);
    return float(sum);
  }

private:
  static constexpr uint32_t kTile = 32 * 64, kStage = 2 * kTile;

  static uint32_t at(uint32_t row, uint32_t chunk, Defect defect) {
    return row * 64 + (defect == NoSwizzle ? chunk : chunk ^ (row >> 1 & 3)) * 16;
  }

  void work(Lane lane, Defect defect, std::vector<float> &c) const {
    uint32_t t = lane.tid(), id = lane.lane(), warpRow = lane.warp() / 2 * 16,
             warpColumn = lane.warp() % 2 * 16;
    uint32_t row0 = lane.cta() / (n / 32) * 32, column0 = lane.cta() % (n / 32) * 32;
    auto fetch = [&](uint32_t step) {
      uint32_t row = t / 4, chunk = t % 4, stage = step % 2 * kStage;
      if (step * 32 < k) {
        // Rows past the end become zeros, unread.
        uint32_t bytes = row0 + row < m ? 16 : 0;
        lane.copyAsync(0, stage + at(row, chunk, defect),
                       a.data() + uint64_t(row0 + row) * k + step * 32 + chunk * 8, 16, bytes);
        lane.copyAsync(1, stage + kTile + at(row, chunk, defect),
                       b.data() + uint64_t(column0 + row) * k + step * 32 + chunk * 8, 16, 16);
      }
      lane.commit(2);
    };
    float sums[2][4] = {};
    fetch(0);
    for (uint32_t step = 0; step * 32 < k; ++step) {
      fetch(step + 1);
      lane.wait(3, defect == WaitsTooLittle ? 2 : 1);
      lane.barrier(4);
      uint32_t stage = step % 2 * kStage;
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t regsA[4], regsB[4];
        uint32_t rowA = warpRow + (id & 7) + 8 * (id >> 3 & 1);
        heddle_sim_ldmatrix(lane.self, 5, 4, 0, stage + at(rowA, 2 * half + (id >> 4), defect),
                            regsA);
        uint32_t rowB = warpColumn + (id & 7) + 8 * (id >> 4);
        heddle_sim_ldmatrix(lane.self, 6, 4, 0,
                            stage + kTile + at(rowB, 2 * half + (id >> 3 & 1), defect), regsB);
        for (uint32_t j = 0; j < 2; ++j)
          heddle_sim_mma(lane.self, 7, HEDDLE_SIM_MMA_M16N8K16_BF16, regsA, regsB + 2 * j, sums[j],
                         sums[j]);
      }
      if (defect != NoLastBarrier)
        lane.barrier(8);
    }
    for (uint32_t j = 0; j < 2; ++j)
      for (uint32_t half = 0; half < 2; ++half) {
        uint32_t row = row0 + warpRow + id / 4 + 8 * half;
        uint32_t column = column0 + warpColumn + 8 * j + 2 * (id % 4);
        struct Pair {
          float values[2];
        };
        if (row < m)
          lane.store(9, reinterpret_cast<Pair *>(&c[row * n + column]),
                     Pair{{sums[j][2 * half], sums[j][2 * half + 1]}});
      }
  }

  uint32_t m, n, k;
  std::vector<uint16_t> a, b;
};

TEST(MatmulTest, PipelinedBFloat16) {
  constexpr uint32_t m = 72, n = 64, k = 160;
  PipelinedMatmul matmul(m, n, k);
  std::vector<float> first;
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<float> c(m * n, NAN);
    Result result = matmul.run(seed, PipelinedMatmul::None, c);
    ASSERT_TRUE(result.isClean());
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; ++j)
        ASSERT_NEAR(c[i * n + j], matmul.expected(i, j), 1e-4) << i << ", " << j;
    if (first.empty())
      first = c;
    EXPECT_EQ(c, first) << "seed " << seed;
    // 3 * 2 CTAs do whole tiles of 32x32.
    constexpr uint32_t ctas = 6, steps = k / 32;
    EXPECT_EQ(result->total.mma_flops, 2ull * ctas * 32 * 32 * k);
    EXPECT_EQ(result->total.shared_conflicts, 0u);
    EXPECT_EQ(result.counters(0).global_load_bytes, 2ull * m * k * 2);
    EXPECT_EQ(result.counters(1).global_load_bytes, 3ull * n * k * 2);
    EXPECT_EQ(result.counters(1).global_load_sectors, 3ull * n * k * 2 / 32);
    EXPECT_EQ(result.counters(6).shared_wavefronts, ctas * steps * 4 * 2 * 4ull);
    EXPECT_EQ(result.counters(9).global_store_bytes, 4ull * m * n);
  }
}

TEST(MatmulTest, DefectsOfThePipeline) {
  PipelinedMatmul matmul(64, 64, 160);
  std::vector<float> c(64 * 64);
  for (uint64_t seed : {0, 1, 2}) {
    Result result = matmul.run(seed, PipelinedMatmul::WaitsTooLittle, c);
    // The next copies to the stage overwrite the late ones, and ldmatrix reads too early.
    ASSERT_EQ(result->num_reports, 4u) << result.text();
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(result->reports[i].kind,
                uint32_t(i < 2 ? HEDDLE_SIM_ASYNC_OVERWRITE : HEDDLE_SIM_ASYNC_READ))
          << result.text();
    result = matmul.run(seed, PipelinedMatmul::NoLastBarrier, c);
    ASSERT_EQ(result->status, HEDDLE_SIM_DEFECTS);
    for (uint64_t i = 0; i < result->num_reports; ++i)
      EXPECT_TRUE(result->reports[i].kind == HEDDLE_SIM_RACE ||
                  result->reports[i].kind == HEDDLE_SIM_ASYNC_READ)
          << result.text();
    result = matmul.run(seed, PipelinedMatmul::NoSwizzle, c);
    EXPECT_TRUE(result.isClean());
    // Eight rows of 64 bytes meet each group of banks four times.
    EXPECT_EQ(result.counters(6).shared_conflicts, 3 * result.counters(6).warp_instructions * 4);
  }
}

} // namespace
