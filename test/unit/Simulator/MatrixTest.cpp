//===- MatrixTest.cpp - mma, ldmatrix and movmatrix -----------------------===//
//
// Fragments are checked against the formulas of the PTX manual: element i of a lane's registers lies
// at (row, column), with g = lane / 4 and t = lane % 4.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "MmaKernel.h"
#include "heddle/Runtime/HalfFloat.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace heddle::test;

namespace {

struct Position {
  uint32_t row, column;
};

/// A format of operands: how many elements a register has, and where they lie.
struct Format {
  uint32_t shape, k, elementsOfA, elementsOfB;
  bool isTF32;
  uint16_t (*round)(float);
  float (*widen)(uint16_t);

  uint32_t perRegister() const { return isTF32 ? 1 : 2; }
  Position a(uint32_t lane, uint32_t i) const {
    uint32_t g = lane / 4, t = lane % 4;
    if (isTF32)
      return {g + 8 * (i & 1), t + 4 * (i >> 1)};
    return {g + 8 * (i >> 1 & 1), 2 * t + (i & 1) + 8 * (i >> 2)};
  }
  Position b(uint32_t lane, uint32_t i) const {
    uint32_t g = lane / 4, t = lane % 4;
    if (isTF32)
      return {t + 4 * i, g};
    return {2 * t + (i & 1) + 8 * (i >> 1), g};
  }
};

Position accumulator(uint32_t lane, uint32_t i) {
  return {lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)};
}

float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

uint32_t asBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

const Format formats[] = {
    {HEDDLE_SIM_MMA_M16N8K16_F16, 16, 8, 4, false, heddle::floatToFloat16, heddle::float16ToFloat},
    {HEDDLE_SIM_MMA_M16N8K16_BF16, 16, 8, 4, false, heddle::floatToBFloat16,
     heddle::bfloat16ToFloat},
    {HEDDLE_SIM_MMA_M16N8K8_F16, 8, 4, 2, false, heddle::floatToFloat16, heddle::float16ToFloat},
    {HEDDLE_SIM_MMA_M16N8K8_BF16, 8, 4, 2, false, heddle::floatToBFloat16, heddle::bfloat16ToFloat},
    {HEDDLE_SIM_MMA_M16N8K8_TF32, 8, 4, 2, true, nullptr, nullptr},
};

class MmaTest : public testing::TestWithParam<int> {};

TEST_P(MmaTest, MultipliesFragmentsByFormula) {
  const Format &format = formats[GetParam()];
  std::mt19937 random(unsigned(GetParam()) + 1);
  std::normal_distribution<float> normal;
  float a[16][16] = {}, b[16][8] = {}, c[16][8], d[16][8] = {};
  uint32_t bitsA[16][16] = {}, bitsB[16][8] = {};
  auto fill = [&](uint32_t &bits, float &value) {
    value = normal(random);
    if (format.isTF32) {
      bits = asBits(value);
      value = asFloat(bits & 0xffffe000);
    } else {
      bits = format.round(value);
      value = format.widen(uint16_t(bits));
    }
  };
  for (uint32_t k = 0; k < format.k; ++k) {
    for (uint32_t i = 0; i < 16; ++i)
      fill(bitsA[i][k], a[i][k]);
    for (uint32_t j = 0; j < 8; ++j)
      fill(bitsB[k][j], b[k][j]);
  }
  for (auto &row : c)
    for (float &value : row)
      value = normal(random);

  Result result = run(Launch(), [&](Lane lane) {
    uint32_t id = lane.lane(), regsA[4] = {}, regsB[2] = {};
    float regsC[4];
    uint32_t per = format.perRegister(), width = 32 / per;
    for (uint32_t i = 0; i < format.elementsOfA; ++i) {
      Position at = format.a(id, i);
      regsA[i / per] |= bitsA[at.row][at.column] << (i % per * width % 32);
    }
    for (uint32_t i = 0; i < format.elementsOfB; ++i) {
      Position at = format.b(id, i);
      regsB[i / per] |= bitsB[at.row][at.column] << (i % per * width % 32);
    }
    for (uint32_t i = 0; i < 4; ++i)
      regsC[i] = c[accumulator(id, i).row][accumulator(id, i).column];
    heddle_sim_mma(lane.self, 0, format.shape, regsA, regsB, regsC, regsC);
    for (uint32_t i = 0; i < 4; ++i)
      d[accumulator(id, i).row][accumulator(id, i).column] = regsC[i];
  });
  EXPECT_TRUE(result.isClean());
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 8; ++j) {
      // f32 accumulation in rising k, exactly.
      float expected = c[i][j];
      for (uint32_t k = 0; k < format.k; ++k)
        expected = std::fma(a[i][k], b[k][j], expected);
      ASSERT_EQ(d[i][j], expected) << i << ", " << j;
    }
  EXPECT_EQ(result->total.mma_flops, 2u * 16 * 8 * format.k);
  EXPECT_EQ(result->class_instructions[HEDDLE_SIM_MMA], 1u);
}

INSTANTIATE_TEST_SUITE_P(AllShapes, MmaTest, testing::Range(0, 5));

TEST(MatrixTest, SubnormalInputsCount) {
  // 2^-24, the smallest float16, times 2^15 sixteen times.
  float d = 0;
  Result result = run(Launch(), [&](Lane lane) {
    uint32_t tiny = 0x00010001, large = 0x78007800;
    uint32_t a[4] = {tiny, tiny, tiny, tiny}, b[2] = {large, large};
    float c[4] = {};
    heddle_sim_mma(lane.self, 0, HEDDLE_SIM_MMA_M16N8K16_F16, a, b, c, c);
    if (lane.lane() == 17)
      d = c[2];
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(d, 16 * std::ldexp(1.0f, -24) * 32768.0f);
}

TEST(MatrixTest, BaselineAndVectorKernelsAgree) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "needs AVX2";
  using namespace heddle::sim;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (MmaFormat format : {MmaFormat::F16, MmaFormat::BF16, MmaFormat::TF32}) {
    MmaTile first;
    auto word = [&] {
      float x = normal(random), y = normal(random);
      if (format == MmaFormat::TF32)
        return asBits(x);
      bool isF16 = format == MmaFormat::F16;
      uint32_t low = isF16 ? heddle::floatToFloat16(x) : heddle::floatToBFloat16(x);
      uint32_t high = isF16 ? heddle::floatToFloat16(y) : heddle::floatToBFloat16(y);
      return low | high << 16;
    };
    for (auto &row : first.a)
      for (uint32_t &value : row)
        value = word();
    for (auto &row : first.b)
      for (uint32_t &value : row)
        value = word();
    for (auto &row : first.c)
      for (float &value : row)
        value = normal(random);
    MmaTile second = first;
    mmaBaseline(first, format, 8);
    mmaAVX2(second, format, 8);
    EXPECT_EQ(std::memcmp(first.c, second.c, sizeof(first.c)), 0);
  }
#endif
}

class LdmatrixTest : public testing::TestWithParam<std::tuple<uint32_t, bool>> {};

TEST_P(LdmatrixTest, SpreadsRows) {
  auto [matrices, transposed] = GetParam();
  Launch launch;
  launch.shared = 64 * 80;
  uint32_t wrong = 0;
  Result result = run(launch, [&, matrices = matrices, transposed = transposed](Lane lane) {
    // Row r of matrix m starts at 80 * (8 * m + r); element e is 1000 * m + 10 * r + e.
    for (uint32_t e = 0; e < 8; ++e)
      lane.storeShared<uint16_t>(0, lane.lane() * 80 + e * 2,
                                 uint16_t(lane.lane() / 8 * 1000 + lane.lane() % 8 * 10 + e));
    lane.warpSync(1);
    uint32_t registers[4] = {};
    // Lanes whose address is not used may give anything.
    uint32_t address = lane.lane() < 8 * matrices ? lane.lane() * 80 : 0xfffffff0;
    heddle_sim_ldmatrix(lane.self, 2, matrices, transposed, address, registers);
    uint32_t g = lane.lane() / 4, t = lane.lane() % 4;
    for (uint32_t m = 0; m < matrices; ++m) {
      uint32_t low = 1000 * m + (transposed ? 20 * t + g : 10 * g + 2 * t);
      uint32_t high = low + (transposed ? 10 : 1);
      wrong += registers[m] != (low | high << 16);
    }
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(result.counters(2).shared_load_bytes, 128u * matrices);
  EXPECT_EQ(result.counters(2).shared_wavefronts, 1u * matrices);
  EXPECT_EQ(result.counters(2).shared_conflicts, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllForms, LdmatrixTest,
                         testing::Combine(testing::Values(1u, 2u, 4u), testing::Bool()));

TEST(MatrixTest, LdmatrixDefects) {
  Launch launch;
  launch.shared = 1024;
  auto kernel = [](uint32_t lane7) {
    return [=](Lane lane) {
      for (uint32_t i = 0; i < 8; ++i)
        lane.storeShared<uint32_t>(0, lane.lane() * 32 + i * 4, 1);
      lane.warpSync(1);
      uint32_t registers[4];
      uint32_t address = lane.lane() == 7 ? lane7 : lane.lane() * 16;
      heddle_sim_ldmatrix(lane.self, 2, 2, 0, address, registers);
    };
  };
  EXPECT_TRUE(run(launch, kernel(112)).isClean());
  EXPECT_EQ(run(launch, kernel(1024)).only(HEDDLE_SIM_OUT_OF_BOUNDS).thread, 7u);
  EXPECT_EQ(run(launch, kernel(120)).only(HEDDLE_SIM_MISALIGNED).thread, 7u);
  run(launch, [](Lane lane) {
    uint32_t registers[4];
    heddle_sim_ldmatrix(lane.self, 2, 3, 0, 0, registers);
  }).only(HEDDLE_SIM_INVALID_OPERAND);
}

TEST(MatrixTest, MovmatrixTransposes) {
  uint32_t wrong = 0;
  Result result = run(Launch(), [&](Lane lane) {
    uint32_t g = lane.lane() / 4, t = lane.lane() % 4;
    uint32_t low = 10 * g + 2 * t;
    uint32_t got = heddle_sim_movmatrix(lane.self, 0, low | (low + 1) << 16);
    low = 10 * (2 * t) + g;
    wrong += got != (low | (low + 10) << 16);
  });
  EXPECT_TRUE(result.isClean());
  EXPECT_EQ(wrong, 0u);
}

} // namespace
