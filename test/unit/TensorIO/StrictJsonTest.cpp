//===- StrictJsonTest.cpp - what the strict parser refuses ----------------===//

#include "heddle/TensorIO/StrictJson.h"
#include "TemporaryFolder.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

std::string error(std::string_view text) { return parseStrictJson(text, "c.json").error(); }

TEST(StrictJsonTest, BuildsTheDocument) {
  std::string text =
      R"({"a": [1, -2, 2.5, "x\n\u00e9", true, null, {}, []], "b": {"a": 18446744073709551615}})";
  Result<nlohmann::json> value = parseStrictJson(text, "c.json");
  ASSERT_TRUE(value) << value.error();
  EXPECT_EQ(*value, nlohmann::json::parse(text));
  EXPECT_EQ(*parseStrictJson(" 3 ", "c.json"), 3);
}

TEST(StrictJsonTest, RefusesDuplicateKeys) {
  EXPECT_EQ(error("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"),
            "c.json:3:2: duplicate key \"a\"");
  EXPECT_EQ(error(R"({"x\"y": 1, "x\"y": 2})"), "c.json:1:13: duplicate key \"x\"y\"");
  EXPECT_EQ(error(R"({"": 1, "": 2})"), "c.json:1:9: duplicate key \"\"");
}

TEST(StrictJsonTest, RefusesDeepNesting) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parseStrictJson(nested(64), "c.json"));
  EXPECT_EQ(error(nested(65)), "c.json:1:65: nested deeper than 64 levels");
  EXPECT_EQ(error(nested(1000000)), "c.json:1:65: nested deeper than 64 levels");
}

TEST(StrictJsonTest, RefusesWhatIsNotJson) {
  EXPECT_EQ(error("{} x"),
            "c.json:1:4: syntax error while parsing value - invalid literal; last read: '{} x'; "
            "expected end of input");
  EXPECT_FALSE(error("").empty());
  EXPECT_EQ(error("[1,\n2,]").substr(0, 12), "c.json:2:3: ");
  EXPECT_EQ(error("1e999"), "c.json:1:5: number overflow parsing '1e999'");
  for (const char *text : {"[1", "{\"a\"}", "{\"a\":}", "nul", "[NaN]", "// x\n1", "'a'",
                           "\"\xff\"", "[01]", "\"\t\"", "{1:2}", "[1 2]"})
    EXPECT_EQ(error(text).substr(0, 7), "c.json:") << text;
  using namespace std::string_view_literals;
  EXPECT_EQ(error("{}\0{}"sv), "c.json:1:3: a NUL byte");
}

TEST(StrictJsonTest, ReadsFiles) {
  test::TemporaryFolder folder;
  EXPECT_EQ(*readStrictJson(folder.write("a.json", "[1]")), nlohmann::json::parse("[1]"));
  EXPECT_EQ(readStrictJson(folder / "none.json").error(),
            folder / "none.json" + ": cannot open: No such file or directory");
}

} // namespace
