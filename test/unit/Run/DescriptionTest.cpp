//===- DescriptionTest.cpp - module descriptions --------------------------===//

#include "Description.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;

namespace {

/// A description with one entry `f` whose arguments are this text.
std::string withArgs(const std::string &args) {
  return R"({"abi":2,"entries":[{"name":"f","symbols":["B"],"args":[)" + args + "]}]}";
}

std::string error(const std::string &text) { return parseDescription(text, "m.so").error(); }

TEST(DescriptionTest, ReadsEntries) {
  Result<Description> description = parseDescription(
      R"({"abi":2,"producer":"p","name":"n","weights":"w.safetensors","model":{"vocab_size":11},
          "entries":[{"name":"f","symbols":["B"],"workspace":true,"args":[
           {"name":"x","kind":"input","role":"weight","dtype":"bf16","shape":["B",3]},
           {"name":"y","kind":"inout","role":"cache","dtype":"f32","shape":[]}]}]})",
      "m.so");
  ASSERT_TRUE(description) << description.error();
  EXPECT_EQ(description->vocabularySize, 11);
  EXPECT_EQ(description->weightsFile, "w.safetensors");
  const Entry *entry = description->find("f");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->find("x")->isWeight());
  EXPECT_TRUE(entry->find("y")->isCache());
  EXPECT_EQ(typeText(*entry->find("x")), "bf16 [B, 3]");
  EXPECT_EQ(entryText(*entry),
            "f\n  input   x  bf16 [B, 3]  (weight)\n  inout   y  f32 []  (cache)\n");
}

TEST(DescriptionTest, ReadsParts) {
  auto weight = [](const std::string &parts, const char *role = "weight") {
    return withArgs(std::string(R"({"name":"w","kind":"input","role":")") + role +
                    R"(","dtype":"bf16","shape":[4,3],"parts":)" + parts + "}");
  };
  Result<Description> description =
      parseDescription(weight(R"({"pattern":"e.*.w","count":4})"), "m.so");
  ASSERT_TRUE(description) << description.error();
  const Entry &entry = description->entries.front();
  EXPECT_EQ(entry.find("w")->parts.count, 4);
  EXPECT_EQ(entry.find("w")->parts.name(3), "e.3.w");
  EXPECT_EQ(entryText(entry), "f\n  input   w  bf16 [4, 3]  (weight, joined from e.*.w)\n");
  std::string prefix = "m.so: module description: entry 'f', argument 0 'w' ";
  EXPECT_EQ(error(weight("3")), prefix + "\"parts\" is number, expected an object");
  EXPECT_EQ(error(weight(R"({"pattern":"e","count":4})")),
            prefix + "has the pattern \"e\", expected one '*'");
  for (const std::string &wrong :
       {weight(R"({"pattern":"e.*","count":3})"), weight(R"({"pattern":"e.*"})"),
        weight(R"({"pattern":"e.*","count":4})", "input")})
    EXPECT_EQ(error(wrong),
              prefix + "has \"parts\" whose \"count\" is not the first extent of a weight");
}

TEST(DescriptionTest, SaysWhereTensorsMustBe) {
  auto where = [](const std::string &targets, const std::string &target) {
    Result<Description> description = parseDescription(
        R"({"abi":2,"entries":[{"name":"f","symbols":[],"args":[]}],"target":)" + targets + "}",
        "m.so");
    Result<bool> device = description ? description->runsOnDevice(target, "m.so")
                                      : Result<bool>(description.failure());
    return !device ? device.error() : *device ? "device" : "host";
  };
  EXPECT_EQ(where(R"(["cpu","sm_80","sim-sm_80"])", ""), "host");
  EXPECT_EQ(where(R"(["sm_80","sim-sm_80"])", ""), "host");
  EXPECT_EQ(where(R"(["sm_80","sm_90"])", ""), "device");
  EXPECT_EQ(where(R"(["cpu","sm_80"])", "sm_80"), "device");
  EXPECT_EQ(where(R"(["cpu","sm_80"])", "sim-sm_80"),
            "m.so: has no code for target 'sim-sm_80', known are 'cpu', 'sm_80'");
  EXPECT_EQ(where(R"(["cpu"],"cpu_variants":["avx2"])", "avx2"), "host");
  EXPECT_EQ(where(R"(["cpu"],"cpu_variants":["avx2"])", "avx512"),
            "m.so: has no code for target 'avx512', known are 'cpu', 'avx2'");
  EXPECT_EQ(where(R"(["cpu"],"cpu_variants":[2])", ""),
            "m.so: module description: the whole has a cpu_variants of type number");
  EXPECT_EQ(where("[80]", ""), "m.so: module description: the whole has a target of type number");
}

TEST(DescriptionTest, RefusesWhatItCannotRead) {
  std::string prefix = "m.so: module description: ";
  EXPECT_EQ(error("{"), "m.so: module description:1:2: syntax error while parsing object key - "
                        "unexpected end of input; expected string literal");
  EXPECT_EQ(error("[]"), prefix + "the whole is array, expected an object");
  EXPECT_EQ(error("{}"), prefix + "the whole has no array \"entries\"");
  EXPECT_EQ(error(R"({"abi":1,"entries":[]})"), prefix + "the whole has no \"abi\" of 2");
  EXPECT_EQ(error(R"({"abi":2,"entries":[]})"), prefix + "the whole has no entries");
  EXPECT_EQ(error(R"({"abi":2,"entries":[3]})"), prefix + "entry 0 is number, expected an object");
  EXPECT_EQ(error(withArgs(R"({"shape":[]})")), prefix + "entry 'f', argument 0 has no \"name\"");
  std::string x = R"({"name":"x","kind":"input","role":"input","dtype":"f32","shape":)";
  EXPECT_EQ(error(withArgs(x + "[\"Q\"]}")),
            prefix +
                "entry 'f', argument 0 'x' has the extent \"Q\", which is not among the entry's "
                "symbols");
  EXPECT_EQ(error(withArgs(x + "[-1]}")),
            prefix +
                "entry 'f', argument 0 'x' has an extent of type number, expected a number of 0 "
                "or more or a symbol");
  EXPECT_EQ(error(withArgs(x + "[]}," + x + "[]}")), prefix + "entry 'f' has two arguments 'x'");
  EXPECT_EQ(error(withArgs(R"({"name":"x","kind":"in","role":"","dtype":"f32","shape":[]})")),
            prefix +
                "entry 'f', argument 0 'x' \"kind\" is \"in\", expected input, output or inout");
  EXPECT_EQ(error(withArgs(R"({"name":"x","kind":"input","role":"","dtype":"f8","shape":[]})")),
            prefix + "entry 'f', argument 0 'x' has the unknown dtype \"f8\"");
}

TEST(DescriptionTest, ListsNames) {
  EXPECT_EQ(nameList({"a", "b"}), "'a', 'b'");
  EXPECT_EQ(nameList({"a", "b", "c", "d"}, 2), "'a', 'b' and 2 more");
}

} // namespace
