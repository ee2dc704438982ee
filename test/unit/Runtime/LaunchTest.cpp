//===- LaunchTest.cpp - heddle_rt_launch on a driver that only takes notes ===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

using testing::HasSubstr;
using testing::Not;

namespace {

/// The driver of test/unit/Runtime/FakeCuda, found by this program's RUNPATH.
template <typename Function> Function *fakeFunction(const char *name) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}

// k(x: 2-d f16, n: index, s: f32)
constexpr heddle_rt_kernel_argument arguments[] = {
    {2, 2, 16, 0}, {HEDDLE_RT_INDEX, 8, 0, 0}, {HEDDLE_RT_SCALAR, 4, 0, 0}};

class LaunchTest : public ::testing::Test {
protected:
  LaunchTest() {
    ctx.struct_size = sizeof(ctx);
    ctx.device = 1;
    set("");
    log();
  }
  ~LaunchTest() override { unsetenv("HEDDLE_FAKE_CUDA"); }

  void set(const char *settings) { setenv("HEDDLE_FAKE_CUDA", settings, 1); }

  /// What the driver was asked for since the last time.
  std::string log() {
    auto *text = fakeFunction<const char *()>("fake_cuda_log");
    if (!text)
      return "";
    std::string result = text();
    fakeFunction<void()>("fake_cuda_clear_log")();
    return result;
  }

  std::string launch(int64_t x = 3, int64_t y = 1, int64_t z = 1) {
    void *params[] = {&pointer, &extents[0], &extents[1], &strides[0], &strides[1], &n, &s};
    status = heddle_rt_launch(&ctx, &kernel, "f", "q\0\0\0", x, y, z, params);
    return status == HEDDLE_OK ? "" : ctx.message;
  }

  heddle_context ctx = {};
  heddle_rt_loaded loaded[HEDDLE_RT_MAX_CONTEXTS] = {};
  heddle_rt_kernel kernel = {"k", arguments, 3, 128, 65536, 80, "// PTX", loaded, nullptr, nullptr};
  int64_t pointer = 0x7000, extents[2] = {5, 64}, strides[2] = {64, 1}, n = 5;
  float s = 1;
  int32_t status = -1;
};

TEST_F(LaunchTest, LoadsOncePerContext) {
  ctx.stream = reinterpret_cast<void *>(0x55);
  EXPECT_EQ(launch(), "");
  std::string first = log();
  EXPECT_THAT(first, HasSubstr("cuCtxPushCurrent of device 1\n"
                               "cuModuleLoadData PTX\ncuModuleGetFunction k\n"
                               "cuFuncSetAttribute 8 = 65536\n"
                               "cuLaunchKernel (3, 1, 1) x (128, 1, 1), 65536 bytes, stream 0x55, "
                               "first 0x7000\ncuCtxPopCurrent\n"));
  EXPECT_EQ(launch(), "");
  EXPECT_THAT(log(), Not(HasSubstr("cuModuleLoadData")));
  ctx.device = 0;
  EXPECT_EQ(launch(), "");
  EXPECT_THAT(log(), HasSubstr("cuModuleLoadData"));
}

TEST_F(LaunchTest, UsesTheCurrentContextOfTheDevice) {
  int device = 1;
  void *context;
  fakeFunction<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, device);
  fakeFunction<int(void *)>("cuCtxPushCurrent_v2")(context);
  log();
  EXPECT_EQ(launch(), "");
  EXPECT_THAT(log(), Not(HasSubstr("cuCtx")));
  ctx.device = 0;
  EXPECT_EQ(launch(), "");
  EXPECT_THAT(log(), HasSubstr("cuCtxPushCurrent of device 0"));
  fakeFunction<int(void **)>("cuCtxPopCurrent_v2")(&context);
}

TEST_F(LaunchTest, AsksForSharedMemoryOnlyPast48KB) {
  kernel.shared_bytes = 48 << 10;
  EXPECT_EQ(launch(), "");
  EXPECT_THAT(log(), Not(HasSubstr("cuFuncSetAttribute")));
}

TEST_F(LaunchTest, AnEmptyGridIsNothingToDo) {
  strides[0] = 65;
  EXPECT_EQ(launch(0), "");
  EXPECT_EQ(launch(4, 1, 0), "");
  EXPECT_EQ(log(), "");
}

TEST_F(LaunchTest, DoesNotLoadDuringCapture) {
  set("capturing");
  EXPECT_EQ(launch(), "f: kernel 'k' is not loaded on device 1 yet, which is not possible while a "
                      "stream is captured; call 'f' once before the capture");
  EXPECT_EQ(status, HEDDLE_DEVICE_ERROR);
  set("");
  EXPECT_EQ(launch(), "");
  set("capturing");
  EXPECT_EQ(launch(), "");
}

TEST_F(LaunchTest, NamesErrorsOfTheDriver) {
  set("cuModuleLoadData=1");
  EXPECT_EQ(launch(),
            "f: kernel 'k': cuModuleLoadData: CUDA_ERROR_INVALID_VALUE (invalid argument)");
  set("cuFuncSetAttribute=1");
  EXPECT_EQ(launch(), "f: kernel 'k': cuFuncSetAttribute of the size of shared memory: "
                      "CUDA_ERROR_INVALID_VALUE (invalid argument)");
  EXPECT_THAT(log(), HasSubstr("cuModuleUnload"));
  set("cuLaunchKernel=700");
  EXPECT_EQ(launch(), "f: kernel 'k': cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal "
                      "memory access was encountered)");
  EXPECT_EQ(status, HEDDLE_DEVICE_ERROR);
  // A failure to load is not remembered.
  set("");
  EXPECT_EQ(launch(), "");
}

TEST_F(LaunchTest, ChecksStridesAndAddresses) {
  strides[0] = 65;
  EXPECT_EQ(launch(), "f: kernel 'k': 'q': stride of dimension 0 is 65 elements (130 bytes), "
                      "expected a multiple of 8 elements (16 bytes), such as 72");
  EXPECT_EQ(status, HEDDLE_INVALID_ARGUMENT);
  extents[0] = 1; // the stride is not used
  EXPECT_EQ(launch(), "");
  pointer += 4;
  EXPECT_EQ(launch(), "f: kernel 'k': 'q': data address is 4 bytes past a multiple of 16, expected "
                      "one aligned to 16 bytes");
  extents[0] = 0; // no element is read
  EXPECT_EQ(launch(), "");
}

TEST_F(LaunchTest, ChecksWhatMustFitInto32Bits) {
  extents[1] = int64_t(1) << 31;
  EXPECT_EQ(launch(), "f: kernel 'k': 'q': dimension 1 is 2147483648, expected at most 2147483647 "
                      "on this target");
  extents[1] = 64;
  n = -(int64_t(1) << 31) - 1;
  EXPECT_EQ(launch(), "f: kernel 'k': argument 1: value is -2147483649, expected one that fits "
                      "into 32 bits");
  n = 5;
  EXPECT_EQ(launch(1, 65536), "f: kernel 'k': the shapes need a grid of 1 x 65536 x 1 programs, "
                              "expected at most 2147483647 x 65535 x 65535");
  EXPECT_EQ(log(), "");
}

TEST_F(LaunchTest, SaysWhenThereIsNoCode) {
  kernel.image = nullptr;
  EXPECT_EQ(launch(), "f: kernel 'k' has neither an image nor simulated code");
  EXPECT_EQ(status, HEDDLE_INTERNAL);
}

TEST_F(LaunchTest, CopiesAConstantOncePerContext) {
  const float data[] = {1, 2, 3};
  heddle_rt_loaded places[HEDDLE_RT_MAX_CONTEXTS] = {};
  ctx.stream = reinterpret_cast<void *>(0x55);
  void *first = nullptr, *again = nullptr, *other = nullptr;
  auto find = [&](void *&address) {
    status = heddle_rt_find_constant(&ctx, data, sizeof(data), places, "f", &address);
    return status == HEDDLE_OK ? "" : std::string(ctx.message);
  };
  set("capturing");
  EXPECT_EQ(find(first),
            "f: a constant tensor of 12 bytes is not loaded on device 1 yet, which is "
            "not possible while a stream is captured; call 'f' once before the capture");
  set("cuMemAlloc=1");
  EXPECT_EQ(find(first), "f: cuMemAlloc of a constant tensor: CUDA_ERROR_INVALID_VALUE (invalid "
                         "argument)");
  set("cuMemcpyHtoDAsync=700");
  log();
  EXPECT_EQ(find(first),
            "f: cuMemcpyHtoDAsync of a constant tensor: CUDA_ERROR_ILLEGAL_ADDRESS (an "
            "illegal memory access was encountered)");
  EXPECT_EQ(status, HEDDLE_DEVICE_ERROR);
  EXPECT_THAT(log(), HasSubstr("cuMemFree"));
  set("");
  EXPECT_EQ(find(first), "");
  EXPECT_THAT(log(), HasSubstr("cuMemAlloc 12\ncuMemcpyHtoDAsync 12, stream 0x55\n"
                               "cuStreamSynchronize 0x55\n"));
  EXPECT_EQ(static_cast<const float *>(first)[2], 3.0f);
  set("capturing");
  EXPECT_EQ(find(again), "");
  EXPECT_EQ(again, first);
  EXPECT_THAT(log(), Not(HasSubstr("cuMem")));
  set("");
  ctx.device = 0;
  EXPECT_EQ(find(other), "");
  EXPECT_NE(other, first);
}

} // namespace
