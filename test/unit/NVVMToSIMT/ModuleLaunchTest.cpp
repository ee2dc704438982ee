//===- ModuleLaunchTest.cpp - how a module launches simulated kernels -----===//

#include "SimtProgram.h"

#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Runtime/heddle_simulation.h"
#include "heddle/TensorIO/StrictJson.h"

using namespace heddle::test;
using testing::HasSubstr;

namespace {

/// y[i + past] = x[i] for each thread i. Parameters are those of two memrefs of rank 1 and a scalar.
const char *const copyKernel = R"mlir(
    llvm.func @k(%x: !llvm.ptr<1>, %nx: i64, %sx: i64, %y: !llvm.ptr<1>, %ny: i64, %sy: i64, %past: i32) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %c32 = llvm.mlir.constant(32 : i32) : i32
      %first = llvm.mul %cta, %c32 : i32
      %i = llvm.add %first, %tid : i32
      %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %j = llvm.add %i, %past : i32
      %to = llvm.getelementptr %y[%j] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %v = llvm.load %from : !llvm.ptr<1> -> i32
      llvm.store %v, %to : i32, !llvm.ptr<1>
      llvm.return
    })mlir";

class ModuleLaunch : public testing::Test {
protected:
  int32_t launch(void *x, void *y, int64_t count, int32_t past = 0, int64_t countY = -1) {
    int64_t stride = 1;
    countY = countY < 0 ? count : countY;
    void *params[] = {&x, &count, &stride, &y, &countY, &stride, &past};
    kernel.simulated = program.symbol<const heddle_sim_kernel *>("heddle_sim_kernel.k");
    context.struct_size = sizeof(context);
    auto function =
        program.symbol<decltype(&heddle_rt_launch_simulated)>("heddle_rt_launch_simulated");
    return function(&context, &kernel, "entry", names, count / 32, 1, 1, params);
  }

  static nlohmann::json reportOf(const SimtProgram &program) {
    char *text = program.symbol<heddle_simulation_report_fn>("heddle_module_simulation_report")();
    heddle::Result<nlohmann::json> json = heddle::parseStrictJson(text, "report");
    EXPECT_TRUE(json) << json.error() << "\n" << text;
    std::free(text);
    return *json;
  }
  nlohmann::json report() { return reportOf(program); }

  void setOptions(const heddle_sim_options *options) {
    program.symbol<heddle_simulation_options_fn>("heddle_module_simulation_options")(options);
  }

  SimtProgram program{copyKernel};
  const char *names = "x\0y\0\0";
  heddle_rt_kernel_argument arguments[3] = {
      {1, 4, 0, 0}, {1, 4, 0, 1}, {HEDDLE_RT_SCALAR, 4, 0, 0}};
  heddle_rt_kernel kernel = {"k", arguments, 3, 32, 0, 80, nullptr, nullptr, nullptr, nullptr};
  heddle_context context = {};
};

TEST_F(ModuleLaunch, SumsUpLaunches) {
  std::vector<int32_t> x(128, 7), y(128);
  EXPECT_EQ(launch(x.data(), y.data(), 128), HEDDLE_OK);
  EXPECT_EQ(launch(x.data(), y.data(), 64), HEDDLE_OK);
  EXPECT_EQ(x, y);
  nlohmann::json kernels = report()["kernels"];
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["name"], "k");
  EXPECT_EQ(kernels[0]["launches"], 2);
  EXPECT_EQ(kernels[0]["ctas"], 6);
  EXPECT_EQ(kernels[0]["defects"], 0);
  EXPECT_EQ(kernels[0]["total"]["global_load_bytes"], 6 * 128);
  EXPECT_EQ(kernels[0]["instructions"], nlohmann::json({{"load_global", 6}, {"store_global", 6}}));
  ASSERT_EQ(kernels[0]["ops"].size(), 2u);
  EXPECT_EQ(kernels[0]["ops"][0]["name"], "llvm.load at kernel.mlir:12:12");
  EXPECT_EQ(kernels[0]["ops"][0]["sites"], 1);
  EXPECT_EQ(kernels[0]["ops"][0]["global_load_sectors"], 6 * 4);

  program.symbol<heddle_simulation_reset_fn>("heddle_module_simulation_reset")();
  EXPECT_EQ(report()["kernels"].size(), 0u);
}

// Terms are evaluated with each launch's extents and scalars.
TEST_F(ModuleLaunch, SumsUpNeededFlops) {
  std::vector<int32_t> x(128), y(128);
  EXPECT_EQ(launch(x.data(), y.data(), 128), HEDDLE_OK);
  EXPECT_FALSE(report()["kernels"][0].contains("needed_flops"));
  // 2 x0 y0 + 5
  const int64_t words[] = {2,  2,  2, 0, 0,  1,  0,  -1, -1, -1, -1, -1,
                           -1, -1, 5, 0, -1, -1, -1, -1, -1, -1, -1};
  kernel.needed = words;
  program.symbol<heddle_simulation_reset_fn>("heddle_module_simulation_reset")();
  EXPECT_EQ(launch(x.data(), y.data(), 64), HEDDLE_OK);
  EXPECT_EQ(launch(x.data(), y.data(), 32, 0, /*countY=*/96), HEDDLE_OK);
  EXPECT_EQ(report()["kernels"][0]["needed_flops"], 2 * 64 * 64 + 5 + 2 * 32 * 96 + 5);
}

TEST_F(ModuleLaunch, DefectsFailTheCall) {
  std::vector<int32_t> x(64), y(64);
  EXPECT_EQ(launch(x.data(), y.data(), 64, /*past=*/1), HEDDLE_DEVICE_ERROR);
  EXPECT_THAT(context.message,
              HasSubstr("entry: simulated kernel 'k': out of bounds in CTA (1, 0, 0): thread 31"));
  EXPECT_THAT(context.message, HasSubstr("0 bytes past the end of buffer 'y' of 256 bytes"));
  nlohmann::json reports = report()["kernels"][0]["reports"];
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0]["kind"], "out of bounds");
}

TEST_F(ModuleLaunch, InputsAreReadOnly) {
  std::vector<int32_t> x(64), y(64);
  arguments[1].written = 0;
  EXPECT_EQ(launch(x.data(), y.data(), 64), HEDDLE_DEVICE_ERROR);
  EXPECT_THAT(context.message, HasSubstr("buffer 'y' is read-only"));
}

TEST_F(ModuleLaunch, OptionsHoldUntilTheyAreSetBack) {
  std::vector<int32_t> x(32), y(64);
  heddle_sim_options options = {};
  options.struct_size = sizeof(options);
  options.check = HEDDLE_SIM_CHECK_ALL & ~HEDDLE_SIM_CHECK_BOUNDS;
  options.seed = 5;
  setOptions(&options);
  EXPECT_EQ(launch(x.data(), y.data(), 32, /*past=*/1), HEDDLE_OK);
  EXPECT_EQ(report()["kernels"][0]["total"]["global_load_bytes"], 0); // not counted
  setOptions(nullptr);
  EXPECT_EQ(launch(x.data(), y.data(), 32, /*past=*/1), HEDDLE_DEVICE_ERROR);
}

TEST_F(ModuleLaunch, SlicesOfOneTensorMayOverlap) {
  // Ranges from first to last element may overlap, as those of two heads of one projection do; elements that are written must not.
  std::vector<int32_t> both(128);
  EXPECT_EQ(launch(both.data(), both.data() + 32, 64, /*past=*/32, /*countY=*/96), HEDDLE_OK)
      << context.message;
  EXPECT_EQ(launch(both.data(), both.data() + 32, 64, /*past=*/33, /*countY=*/96),
            HEDDLE_DEVICE_ERROR);
  EXPECT_THAT(context.message, HasSubstr("buffer 'x, y' of 512 bytes"));
}

TEST_F(ModuleLaunch, EmptyBuffersHoldNothing) {
  std::vector<int32_t> x(32), y(32);
  EXPECT_EQ(launch(x.data(), y.data(), 32, 0, /*countY=*/0), HEDDLE_DEVICE_ERROR);
  EXPECT_EQ(y, std::vector<int32_t>(32));
}

TEST_F(ModuleLaunch, ModulesHaveLogsOfTheirOwn) {
  SimtProgram other(copyKernel);
  std::vector<int32_t> x(32, 1), y(32);
  EXPECT_EQ(launch(x.data(), y.data(), 32), HEDDLE_OK);
  EXPECT_EQ(reportOf(other)["kernels"].size(), 0u);
  EXPECT_EQ(report()["kernels"][0]["launches"], 1);
}

TEST_F(ModuleLaunch, SharedMemoryIsThatOfTheChip) {
  std::vector<int32_t> x(32), y(32);
  kernel.shared_bytes = 120 << 10;
  EXPECT_EQ(launch(x.data(), y.data(), 32), HEDDLE_OK);
  kernel.chip = 86;
  EXPECT_EQ(launch(x.data(), y.data(), 32), HEDDLE_INTERNAL);
  EXPECT_THAT(context.message,
              HasSubstr("122880 bytes of shared memory, but a CTA can have 101376"));
}

} // namespace
