//===- PagedCacheTest.cpp - new rows in pages -----------------------------===//

#include "Program.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr double garbage = -2147483648.0;

/// 2 sequences of 4 new rows in 7 pages of 3 rows; tables of 3 pages.
struct PagedCall {
  Array keyPages{DType::F32, {7, 3, 2, 4}}, valuePages{DType::F32, {7, 3, 2, 8}};
  Array key, value;
  Array start = Array::constant(DType::I32, {2}, 0);
  Array table = Array::constant(DType::I32, {2, 3}, garbage);

  explicit PagedCall(int64_t rows = 4) {
    Random random(rows + 1);
    key = Array::uniform(DType::F32, {2, rows, 2, 4}, random);
    value = Array::uniform(DType::F32, {2, rows, 2, 8}, random);
    // Rows 2 .. 5 need the pages 0 and 1, rows 5 .. 8 the pages 1 and 2.
    start.set({0}, 2);
    start.set({1}, 5);
    table.set({0, 0}, 6);
    table.set({0, 1}, 0);
    table.set({1, 1}, 3);
    table.set({1, 2}, 2);
  }

  std::vector<Array *> arguments() {
    return {&keyPages, &valuePages, &key, &value, &start, &table};
  }
  bool untouched() const { return keyPages.untouched() && valuePages.untouched(); }
};

/// Each test is for pages of any size and for pages whose size the type says.
constexpr const char *entries[] = {"paged", "pages_of_3"};

class PagedCache : public EachWay<PagedCache> {
public:
  static void addEntries(Program &program) {
    addEntry(program, entries[0], "?x?x2x4xf32", "?x?x2x8xf32");
    addEntry(program, entries[1], "?x3x2x4xf32", "?x3x2x8xf32");
  }

  static void addEntry(Program &program, const std::string &name, const std::string &keyPages,
                       const std::string &valuePages) {
    goldens::EntryText entry(name);
    std::string keyType = "tensor<" + keyPages + ">", valueType = "tensor<" + valuePages + ">";
    std::string rows = "tensor<?x?x2x4xf32>, tensor<?x?x2x8xf32>, tensor<?xi32>";
    entry.cache("k_pages", keyType);
    entry.cache("v_pages", valueType);
    entry.argument("k", "tensor<?x?x2x4xf32>");
    entry.argument("v", "tensor<?x?x2x8xf32>");
    entry.argument("start", "tensor<?xi32>");
    entry.argument("table", "tensor<?x?xi32>");
    entry.line("%k2, %v2 = attn.kv_append %k_pages, %v_pages, %k, %v, %start block_table(%table : "
               "tensor<?x?xi32>) : (" +
               keyType + ", " + valueType + ", " + rows + ") -> (" + keyType + ", " + valueType +
               ")");
    entry.result("%k2", keyType, "k_pages", /*updatesCache=*/true);
    entry.result("%v2", valueType, "v_pages", /*updatesCache=*/true);
    program.add(entry);
  }

  void expectRefused(PagedCall &call, const std::string &message) {
    for (std::string entry : entries) {
      Outcome outcome = program->tryCall(entry, call.arguments());
      EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
      EXPECT_EQ(outcome.message, entry + ": " + message);
      EXPECT_TRUE(call.untouched());
    }
  }
};

HEDDLE_TEST_EACH_WAY(PagedCache, graphWays);

TEST_P(PagedCache, RowsGoToTheirPages) {
  PagedCall filled;
  Array keyPages = filled.keyPages.copy(), valuePages = filled.valuePages.copy();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 4; ++t)
      for (int64_t head = 0; head < 2; ++head) {
        int64_t position = int64_t(filled.start.get({b})) + t;
        int64_t page = int64_t(filled.table.get({b, position / 3}));
        for (int64_t i = 0; i < 4; ++i)
          keyPages.set({page, position % 3, head, i}, filled.key.get(b, t, head, i));
        for (int64_t i = 0; i < 8; ++i)
          valuePages.set({page, position % 3, head, i}, filled.value.get(b, t, head, i));
      }
  for (const char *entry : entries) {
    PagedCall call;
    program->call(entry, call.arguments());
    EXPECT_TRUE(call.keyPages.sameBits(keyPages)) << entry;
    EXPECT_TRUE(call.valuePages.sameBits(valuePages)) << entry;
  }
}

TEST_P(PagedCache, NoRowsNeedNoPages) {
  PagedCall call(/*rows=*/0);
  call.table = Array::constant(DType::I32, {2, 3}, garbage);
  for (const char *entry : entries)
    program->call(entry, call.arguments());
  EXPECT_TRUE(call.untouched());
}

TEST_P(PagedCache, EntriesThatArePages) {
  PagedCall call;
  call.table.set({1, 2}, 7);
  expectRefused(call, "block_table[1][2] is 7, expected a page from 0 to 6");
  call.table.set({1, 1}, -1);
  expectRefused(call, "block_table[1][1] is -1, expected a page from 0 to 6");
}

TEST_P(PagedCache, StartWithinTheTable) {
  PagedCall call;
  call.start.set({1}, 6);
  expectRefused(call, "start[1] is 6, expected a value from 0 to 5");
  call.start.set({0}, -1);
  expectRefused(call, "start[0] is -1, expected a value from 0 to 5");
}

TEST_P(PagedCache, PagesOfNoRows) {
  Program program;
  program.add(
      "func.func @f(%c: tensor<?x?x1x4xf32> {heddle.name = \"c\"}, %k: tensor<?x?x1x4xf32>, "
      "%s: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x?x1x4xf32> {\n"
      "  %a, %b = attn.kv_append %c, %c, %k, %k, %s block_table(%t : tensor<?x?xi32>)\n"
      "      : (tensor<?x?x1x4xf32>, tensor<?x?x1x4xf32>, tensor<?x?x1x4xf32>, "
      "tensor<?x?x1x4xf32>, tensor<?xi32>)\n"
      "      -> (tensor<?x?x1x4xf32>, tensor<?x?x1x4xf32>)\n"
      "  return %a : tensor<?x?x1x4xf32>\n}\n");
  ASSERT_TRUE(program.compile(GetParam()));
  Array cache(DType::F32, {3, 0, 1, 4}), result(DType::F32, {3, 0, 1, 4});
  Array key(DType::F32, {1, 0, 1, 4}), start = Array::constant(DType::I32, {1}, 0);
  Array table = Array::constant(DType::I32, {1, 2}, garbage);
  program.call("f", {&cache, &key, &start, &table, &result});
  key = Array(DType::F32, {1, 1, 1, 4});
  EXPECT_EQ(program.tryCall("f", {&cache, &key, &start, &table, &result}).message,
            "f: kv_append: 1 new rows are more than the cache's capacity of 0");
}

} // namespace
