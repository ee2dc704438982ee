//===- CPULevelTest.cpp - detection, and which variant is preferred -------===//

#include "CPULevel.h"

#include "heddle/Runtime/ModuleRuntime.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace heddle::rt;

TEST(CPULevelTest, AgreesWithTheCompiler) {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
  bool pairs = __builtin_cpu_supports("avx512bf16");
  // The compiler knows nothing of the permission to use tiles.
  EXPECT_EQ(std::min(heddle_rt_cpu_level(), 3), avx2 ? (avx512 ? (pairs ? 3 : 2) : 1) : 0);
  EXPECT_EQ(heddle_rt_cpu_level(), heddle_rt_cpu_level());
  CPUVendor vendor = __builtin_cpu_is("intel") ? CPUVendor::Intel
                     : __builtin_cpu_is("amd") ? CPUVendor::AMD
                                               : CPUVendor::Other;
  EXPECT_EQ(detectCPU().vendor, vendor);
}

/// A processor with all features of `level`.
static CPU withLevel(CPUVendor vendor, int32_t level) {
  CPU cpu;
  cpu.vendor = vendor;
  for (uint32_t bit = 1; cpu.lacksAny(level); bit <<= 1) {
    CPU less = cpu;
    less.features = ~bit;
    if (less.lacksAny(level))
      cpu.features |= bit;
  }
  return cpu;
}

TEST(CPULevelTest, KnowsWhatIsMissing) {
  auto missing = [](int32_t has, int32_t needs) {
    heddle_context ctx = {};
    ctx.struct_size = sizeof(ctx);
    Message message(ctx);
    appendMissing(message, withLevel(CPUVendor::Other, has), needs);
    return std::string(ctx.message);
  };
  EXPECT_EQ(missing(0, LevelAVX2), "avx, fma, f16c, avx2, bmi1, bmi2");
  EXPECT_EQ(missing(LevelAVX2, LevelAVX512), "avx512f, avx512dq, avx512cd, avx512bw, avx512vl");
  EXPECT_EQ(missing(LevelAVX512, LevelAVX512AMX), "avx512_bf16, amx_tile, amx_bf16");
  EXPECT_EQ(missing(LevelAVX512AMX, LevelAVX512AMX), "");
  for (int32_t level = 1; level <= LevelAVX512AMX; ++level) {
    EXPECT_TRUE(withLevel(CPUVendor::AMD, level).canRun(level));
    EXPECT_FALSE(withLevel(CPUVendor::AMD, level).canRun(level + 1));
  }
}

TEST(CPULevelTest, PrefersByMeasuredRates) {
  auto best = [](CPUVendor vendor, int32_t level) {
    CPU cpu = withLevel(vendor, level);
    int32_t found = 0;
    for (int32_t each = 1; cpu.canRun(each); ++each)
      if (!found || cpu.rank(each) > cpu.rank(found))
        found = each;
    return found;
  };
  EXPECT_EQ(best(CPUVendor::AMD, LevelAVX512), LevelAVX512);
  EXPECT_EQ(best(CPUVendor::AMD, LevelAVX512BF16), LevelAVX512BF16);
  EXPECT_EQ(best(CPUVendor::Intel, LevelAVX512BF16), LevelAVX512);
  EXPECT_EQ(best(CPUVendor::Intel, LevelAVX512AMX), LevelAVX512AMX);
  EXPECT_EQ(best(CPUVendor::Other, LevelAVX512BF16), LevelAVX512);
  EXPECT_EQ(best(CPUVendor::Other, LevelAVX2), LevelAVX2);
}
