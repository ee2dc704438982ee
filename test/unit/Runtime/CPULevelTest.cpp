//===- CPULevelTest.cpp - agrees with the compiler's own detection --------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <gtest/gtest.h>

TEST(CPULevelTest, AgreesWithTheCompiler) {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
  EXPECT_EQ(heddle_rt_cpu_level(), avx2 ? (avx512 ? 2 : 1) : 0);
  EXPECT_EQ(heddle_rt_cpu_level(), heddle_rt_cpu_level());
}
