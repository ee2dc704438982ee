//===- PtxasTest.cpp - what ptxas prints, and what becomes of it ----------===//

#include "heddle/Target/Ptxas.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

TEST(PtxasOutput, FactsOfAKernel) {
  PtxasReport report = parsePtxasOutput(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'attention' for 'sm_80'\n"
      "ptxas info    : Function properties for attention\n"
      "    96 bytes stack frame, 106 bytes spill stores, 111 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 4096 "
      "bytes smem, 504 bytes cmem[0], 16 bytes cmem[2]\n"
      "ptxas info    : Compile time = 167.017 ms\n",
      "attention");
  EXPECT_EQ(report.registers, 255);
  EXPECT_EQ(report.barriers, 1);
  EXPECT_EQ(report.stackBytes, 96);
  EXPECT_EQ(report.spillStores, 106);
  EXPECT_EQ(report.spillLoads, 111);
  EXPECT_EQ(report.sharedBytes, 4096);
  EXPECT_EQ(report.constantBytes, 520);
  EXPECT_TRUE(report.hasSpills());
  EXPECT_FALSE(report.isClean());
}

TEST(PtxasOutput, OtherFunctionsAreLeftOut) {
  PtxasReport report =
      parsePtxasOutput("ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
                       "ptxas info    : Function properties for first\n"
                       "    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
                       "ptxas info    : Used 40 registers, 380 bytes cmem[0]\n"
                       "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
                       "ptxas info    : Function properties for second\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas info    : Used 16 registers, 368 bytes cmem[0]\n",
                       "second");
  EXPECT_EQ(report.registers, 16);
  EXPECT_EQ(report.constantBytes, 368);
  EXPECT_TRUE(report.isClean());
}

TEST(PtxasOutput, WarningsAndPerformanceLosses) {
  PtxasReport report = parsePtxasOutput(
      "ptxas /tmp/heddle-1.ptx, line 12; warning : Dangling reference\n"
      "ptxas warning : Unresolved extern variable 'x'\n"
      "ptxas info    : (C7513) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources in the function 'k'\n"
      "ptxas info    : Used 16 registers\n",
      "k");
  EXPECT_THAT(report.warnings, ElementsAre("Dangling reference", "Unresolved extern variable 'x'"));
  EXPECT_THAT(report.performanceLosses,
              ElementsAre("(C7513) Potential Performance Loss: wgmma.mma_async instructions are "
                          "serialized due to insufficient register resources in the function "
                          "'k'"));
  EXPECT_FALSE(report.isClean());
}

TEST(PtxasOutput, NothingReadFromOtherText) {
  PtxasReport report = parsePtxasOutput("", "k");
  EXPECT_EQ(report.registers, 0);
  EXPECT_THAT(report.warnings, IsEmpty());
  report = parsePtxasOutput("a warning : here\nUsed registers, bytes cmem[0]\n  registers\n", "k");
  EXPECT_EQ(report.registers, 0);
  EXPECT_TRUE(report.isClean());
}

TEST(CUDATools, NoneFindsNothing) {
  CUDATools tools = CUDATools::find("none");
  EXPECT_EQ(tools.ptxas, "");
  EXPECT_EQ(tools.fatbinary, "");
  EXPECT_EQ(tools.nvdisasm, "");
}

TEST(CUDATools, RunGivesOutputOrAnError) {
  llvm::Expected<std::string> text = runTool("/bin/sh", {"-c", "echo out; echo err >&2"});
  ASSERT_TRUE(bool(text));
  EXPECT_THAT(*text,
              ::testing::AllOf(::testing::HasSubstr("out\n"), ::testing::HasSubstr("err\n")));
  text = runTool("/bin/sh", {"-c", "echo bad; exit 3"});
  ASSERT_FALSE(bool(text));
  EXPECT_EQ(llvm::toString(text.takeError()), "bad");
  text = runTool("/bin/sh", {"-c", "exit 3"});
  ASSERT_FALSE(bool(text));
  EXPECT_EQ(llvm::toString(text.takeError()), "/bin/sh failed: exit status 3");
  text = runTool("/nonexistent/ptxas", {});
  ASSERT_FALSE(bool(text));
  EXPECT_THAT(llvm::toString(text.takeError()), ::testing::HasSubstr("/nonexistent/ptxas failed"));
}

} // namespace
