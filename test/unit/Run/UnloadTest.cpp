//===- UnloadTest.cpp - a module with threads can be unloaded -------------===//

#include "../TensorIO/TemporaryFolder.h"
#include "heddle/Runtime/heddle_runtime.h"
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

using namespace heddle;

namespace {

int countThreads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Threads:", 0) == 0)
      return std::stoi(line.substr(8));
  return -1;
}

/// The number of threads once it is `expected`, or after a second. A thread that was joined is
/// counted until the kernel is done with it.
int awaitThreads(int expected) {
  for (int i = 0; i < 1000 && countThreads() != expected; ++i)
    usleep(1000);
  return countThreads();
}

/// Calls the module's entry `scale` with four threads.
void callScale(void *module) {
  auto scale = reinterpret_cast<heddle_entry_fn>(dlsym(module, "scale"));
  ASSERT_TRUE(scale) << dlerror();
  constexpr int64_t rows = 64;
  std::vector<float> x(rows * 4, 2), w(4, 3), y(rows * 4);
  int64_t shape[] = {rows, 4}, rowShape[] = {4};
  DLTensor tensors[] = {{x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                        {w.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, rowShape, nullptr, 0},
                        {y.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}};
  DLTensor *args[] = {&tensors[0], &tensors[1], &tensors[2]};
  heddle_context ctx = {};
  ctx.struct_size = sizeof(ctx);
  ctx.num_threads = 4;
  ASSERT_EQ(scale(&ctx, args, 3), HEDDLE_OK) << ctx.message;
  EXPECT_EQ(y, std::vector<float>(rows * 4, 6));
}

TEST(UnloadTest, StopsItsThreads) {
  // A copy, because another test may keep the module itself loaded.
  test::TemporaryFolder folder;
  std::string path = folder / "module.so";
  std::filesystem::copy_file(HEDDLE_TEST_MODULE, path);
  int before = countThreads();
  for (int round = 0; round < 5; ++round) {
    void *module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(module) << dlerror();
    callScale(module);
    EXPECT_EQ(awaitThreads(before + 3), before + 3);
    if (round % 2)
      usleep(5000); // the workers sleep
    ASSERT_EQ(dlclose(module), 0);
    EXPECT_EQ(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
    EXPECT_EQ(awaitThreads(before), before);
  }
}

} // namespace
