//===- CAPITest.cpp - tests of the C interface of the compiler ------------===//

#include "heddle-c/Heddle.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <thread>
#include <vector>

using testing::HasSubstr;

extern "C" int heddleTestCompileFromC(const char *text, const char *output, const char *variant,
                                      char *message, size_t size);

namespace {

constexpr const char *silu = R"(
func.func @silu(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = attn.activation silu %x : tensor<?xf32>
  return %y : tensor<?xf32>
})";

class CompileFromC : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("heddle-capi", folder));
    output = folder;
    llvm::sys::path::append(output, "silu.so");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  int compile(const char *text, const char *variant) {
    return heddleTestCompileFromC(text, output.c_str(), variant, message, sizeof(message));
  }

  llvm::SmallString<128> folder, output;
  char message[1024] = "";
};

TEST_F(CompileFromC, WritesModuleAndHeader) {
  ASSERT_EQ(compile(silu, "avx2"), 0) << message;
  EXPECT_TRUE(llvm::sys::fs::exists(output));
  llvm::sys::path::replace_extension(output, "h");
  auto header = llvm::MemoryBuffer::getFile(output);
  ASSERT_TRUE(header);
  EXPECT_THAT((*header)->getBuffer().str(), HasSubstr("int32_t silu(heddle_context *context"));
}

TEST_F(CompileFromC, ReportsUnknownVariant) {
  EXPECT_EQ(compile(silu, "mmx"), 2);
  EXPECT_THAT(
      message,
      HasSubstr("unknown CPU variant 'mmx'; known are avx2, avx512, avx512bf16, avx512amx"));
  EXPECT_FALSE(llvm::sys::fs::exists(output));
}

TEST_F(CompileFromC, ReportsVerifierErrors) {
  EXPECT_EQ(
      compile("func.func @f(%x: tensor<4xf32>, %w: tensor<5xf32>) {\n"
              "  %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<4xf32>, tensor<5xf32>\n"
              "  return\n}",
              "avx2"),
      1);
  EXPECT_THAT(message, HasSubstr("attn.rms_norm"));
}

TEST_F(CompileFromC, RefusesWhatNoFileCanBe) {
  output = "-";
  EXPECT_EQ(compile(silu, "avx2"), 2);
  EXPECT_THAT(message, HasSubstr("expected a file to write the module to, got '-'"));
  output = "";
  EXPECT_EQ(compile(silu, "avx2"), 2);
  EXPECT_THAT(message, HasSubstr("expected a file to write the module to, got ''"));
  output = folder;
  llvm::sys::path::append(output, "silu.h");
  EXPECT_EQ(compile(silu, "avx2"), 2);
  EXPECT_THAT(message, HasSubstr("silu.h: its C header takes this name"));
  EXPECT_FALSE(llvm::sys::fs::exists(output));
}

// The module is named after its file.
TEST_F(CompileFromC, TakesNamesOfAnyBytes) {
  output = folder;
  llvm::sys::path::append(output, "*\xff\n.so");
  EXPECT_EQ(compile(silu, "avx2"), 0) << message;
  EXPECT_TRUE(llvm::sys::fs::exists(output));
}

TEST_F(CompileFromC, InSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> messages(4);
  for (size_t i = 0; i < messages.size(); ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        char text[1024] = "";
        std::string path = output.str().str() + std::to_string(i);
        bool isGood = (i + size_t(round)) % 2 == 0;
        if (heddleTestCompileFromC(silu, path.c_str(), isGood ? "avx2" : "mmx", text,
                                   sizeof(text)) != (isGood ? 0 : 2))
          messages[i] += text + std::string("; ");
        else if (!isGood && !llvm::StringRef(text).contains("unknown CPU variant 'mmx'"))
          messages[i] += text;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : messages)
    EXPECT_EQ(text, "");
}

TEST(DialectHandle, HasTheNamespace) {
  MlirStringRef name = mlirDialectHandleGetNamespace(mlirGetDialectHandle__attn__());
  EXPECT_EQ(std::string(name.data, name.length), "attn");
}

} // namespace
