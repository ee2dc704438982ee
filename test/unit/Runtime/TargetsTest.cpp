//===- TargetsTest.cpp - heddle_rt_select_target --------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

constexpr heddle_rt_target avx2 = {"avx2", HEDDLE_RT_CPU, 1, nullptr};
constexpr heddle_rt_target future = {"future", HEDDLE_RT_CPU, 99, nullptr};
constexpr heddle_rt_target sm80 = {"sm_80", HEDDLE_RT_CUDA, 80, heddle_rt_find_chip};
constexpr heddle_rt_target sm89 = {"sm_89", HEDDLE_RT_CUDA, 89, heddle_rt_find_chip};
constexpr heddle_rt_target simulated = {"sim-sm_80", HEDDLE_RT_SIMULATED, 80, nullptr};

class TargetsTest : public ::testing::Test {
protected:
  TargetsTest() {
    ctx.struct_size = sizeof(ctx);
    setenv("HEDDLE_FAKE_CUDA", "chip=86", 1);
  }
  ~TargetsTest() override { unsetenv("HEDDLE_FAKE_CUDA"); }

  /// The number of the chosen target, or the message.
  std::string select(std::vector<heddle_rt_target> targets, DLDevice device,
                     const char *name = nullptr) {
    tensor.device = device;
    DLTensor *args[] = {&tensor};
    ctx.target = name;
    int32_t choice = -1;
    status = heddle_rt_select_target(&ctx, "f", targets.data(), int32_t(targets.size()), args, 1,
                                     &choice);
    return status == HEDDLE_OK ? std::to_string(choice) : ctx.message;
  }

  heddle_context ctx = {};
  DLTensor tensor = {};
  int32_t status = -1;
  static constexpr DLDevice cpu{kDLCPU, 0}, gpu{kDLCUDA, 1};
};

TEST_F(TargetsTest, GoesByTheDevice) {
  if (heddle_rt_cpu_level() >= 1) {
    EXPECT_EQ(select({avx2, future, sm80, simulated}, cpu), "0");
    EXPECT_EQ(ctx.device, -1);
  }
  EXPECT_EQ(select({avx2, future, sm80, simulated}, gpu), "2");
  EXPECT_EQ(ctx.device, 1);
  // The newest code that the chip, sm_86, can run.
  EXPECT_EQ(select({sm80, sm89}, gpu), "0");
  setenv("HEDDLE_FAKE_CUDA", "chip=90", 1);
  EXPECT_EQ(select({sm80, sm89}, gpu), "1");
  EXPECT_EQ(select({sm80, sm89}, gpu, "sm_80"), "0");
}

TEST_F(TargetsTest, SimulatesOnRequestOrWithoutOtherCode) {
  if (heddle_rt_cpu_level() < 1)
    GTEST_SKIP();
  EXPECT_EQ(select({avx2, simulated}, cpu, "sim-sm_80"), "1");
  EXPECT_EQ(select({avx2, simulated}, cpu, "cpu"), "0");
  EXPECT_EQ(select({sm80, simulated}, cpu), "1");
}

TEST_F(TargetsTest, RefusesWhatItHasNoCodeFor) {
  EXPECT_EQ(select({avx2, future}, gpu),
            "f: the tensors are on CUDA device 1, but the module has code for cpu");
  EXPECT_EQ(status, HEDDLE_INVALID_ARGUMENT);
  EXPECT_EQ(select({sm80, sm89}, cpu),
            "f: the tensors are on the CPU, but the module has code for sm_80, sm_89");
  EXPECT_EQ(select({avx2}, {kDLMetal, 0}),
            "f: the tensors are on Metal device 0, but the module has code for cpu");
  EXPECT_EQ(select({avx2, sm80}, cpu, "sm_80"),
            "f: the tensors are on the CPU, where target 'sm_80' can't work");
  EXPECT_EQ(select({avx2, future, sm80}, cpu, "sm_75"),
            "f: the context's target is 'sm_75', but the module has code for cpu, sm_80");
  EXPECT_EQ(select({future}, cpu), "f: this CPU can run none of the module's variants (future)");
  EXPECT_EQ(status, HEDDLE_UNSUPPORTED_CPU);
}

TEST_F(TargetsTest, ServesTheVariantOfThatName) {
  if (heddle_rt_cpu_level() < 2)
    GTEST_SKIP() << "this CPU has no avx512";
  constexpr heddle_rt_target avx512 = {"avx512", HEDDLE_RT_CPU, 2, nullptr};
  constexpr heddle_rt_target amx = {"avx512amx", HEDDLE_RT_CPU, 4, nullptr};
  EXPECT_EQ(select({avx2, avx512}, cpu), "1");
  EXPECT_EQ(select({avx2, avx512}, cpu, "avx2"), "0");
  EXPECT_EQ(select({avx2, avx512}, cpu, "avx512"), "1");
  EXPECT_EQ(select({avx2, avx512}, gpu, "avx2"),
            "f: the tensors are on CUDA device 1, where target 'avx2' can't work");
  EXPECT_EQ(select({avx2, avx512}, cpu, "avx512bf16"),
            "f: the context's target is 'avx512bf16', but the module has code for cpu");
  EXPECT_EQ(select({avx2, future}, cpu, "future"), "f: this CPU can't run variant 'future'");
  EXPECT_EQ(status, HEDDLE_UNSUPPORTED_CPU);
  if (heddle_rt_cpu_level() < 3)
    GTEST_SKIP() << "this CPU has no avx512_bf16";
  if (heddle_rt_cpu_level() < 4)
    EXPECT_EQ(select({avx2, avx512, amx}, cpu, "avx512amx"),
              "f: this CPU can't run variant 'avx512amx': it lacks amx_tile, amx_bf16");
}

TEST_F(TargetsTest, RefusesOldChips) {
  setenv("HEDDLE_FAKE_CUDA", "chip=75", 1);
  EXPECT_EQ(select({sm80, sm89}, gpu),
            "f: this module has code for sm_80 and later, device 1 is sm_75");
  EXPECT_EQ(status, HEDDLE_UNSUPPORTED_DEVICE);
  EXPECT_EQ(select({sm80, sm89}, {kDLCUDA, 2}),
            "f: the tensors are on CUDA device 2, expected a device from 0 to 1");
}

} // namespace
