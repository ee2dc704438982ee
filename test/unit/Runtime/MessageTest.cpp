//===- MessageTest.cpp - heddle_rt_fail and the workspace check -----------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {

heddle_context makeContext() {
  heddle_context ctx = {};
  ctx.struct_size = sizeof(ctx);
  return ctx;
}

TEST(MessageTest, ReplacesPlaceholders) {
  heddle_context ctx = makeContext();
  int64_t values[] = {-7, int64_t(1) << 62};
  EXPECT_EQ(heddle_rt_fail(&ctx, HEDDLE_OUT_OF_RANGE, "decode",
                           "start is {0}, capacity {1}, {0}; {2} {x", values, 2),
            HEDDLE_OUT_OF_RANGE);
  EXPECT_STREQ(ctx.message, "decode: start is -7, capacity 4611686018427387904, -7; {2} {x");
  EXPECT_EQ(heddle_rt_fail(nullptr, 5, "e", "t", nullptr, 0), 5);
}

TEST(MessageTest, CutsLongTexts) {
  heddle_context ctx = makeContext();
  std::string text(5000, 'x');
  heddle_rt_fail(&ctx, HEDDLE_INTERNAL, "f", text.c_str(), nullptr, 0);
  EXPECT_EQ(strlen(ctx.message), sizeof(ctx.message) - 1);
  EXPECT_EQ(std::string(ctx.message).substr(1018), "xx...");
}

TEST(MessageTest, ChecksTheWorkspace) {
  heddle_context ctx = makeContext();
  EXPECT_EQ(heddle_rt_check_workspace(&ctx, "f", 0), HEDDLE_OK);
  EXPECT_EQ(heddle_rt_check_workspace(&ctx, "f", 100), HEDDLE_WORKSPACE_TOO_SMALL);
  EXPECT_STREQ(ctx.message, "f: workspace has 0 bytes, expected at least 100 (what f_workspace "
                            "answers for these shapes)");
  alignas(64) char memory[256];
  ctx.workspace_bytes = 128;
  EXPECT_EQ(heddle_rt_check_workspace(&ctx, "f", 100), HEDDLE_INVALID_ARGUMENT);
  EXPECT_STREQ(ctx.message, "f: workspace is a null pointer, expected 100 bytes");
  ctx.workspace = memory + 16;
  EXPECT_EQ(heddle_rt_check_workspace(&ctx, "f", 100), HEDDLE_INVALID_ARGUMENT);
  EXPECT_STREQ(ctx.message,
               "f: workspace address is 16 past a multiple of 64, expected one aligned "
               "to 64 bytes");
  ctx.workspace = memory;
  EXPECT_EQ(heddle_rt_check_workspace(&ctx, "f", 128), HEDDLE_OK);
}

} // namespace
