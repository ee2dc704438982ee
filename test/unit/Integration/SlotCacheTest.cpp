//===- SlotCacheTest.cpp - rows that go to slots, and only some of them ----===//

#include "Program.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

class SlotCache : public EachWay<SlotCache> {
public:
  static void addEntries(Program &program) {
    addEntry(program, "slots", "", {{"slots", "tensor<?x?xi32>"}});
    addEntry(program, "new_len", "start", {{"new_len", "tensor<?xi32>"}});
    addEntry(program, "new_len_pages", "start",
             {{"new_len", "tensor<?xi32>"}, {"block_table", "tensor<?x?xi32>"}});
  }

  static void addEntry(Program &program, const std::string &symbol, const std::string &start,
                       const std::vector<std::pair<std::string, std::string>> &clauses) {
    goldens::EntryText entry(symbol);
    const std::string rows = "tensor<?x?x2x4xf32>";
    entry.cache("k_cache", rows);
    entry.cache("v_cache", rows);
    entry.argument("k", rows);
    entry.argument("v", rows);
    std::string operands = "%k_cache, %v_cache, %k, %v", types = rows;
    for (int more = 0; more < 3; ++more)
      types += ", " + rows;
    if (!start.empty()) {
      operands += ", " + entry.argument(start, "tensor<?xi32>");
      types += ", tensor<?xi32>";
    }
    for (const auto &[name, type] : clauses)
      operands += " " + name + "(" + entry.argument(name, type) + " : " + type + ")";
    entry.line("%k2, %v2 = attn.kv_append " + operands + " : (" + types + ") -> (" + rows + ", " +
               rows + ")");
    entry.result("%k2", rows, "k_cache", /*updatesCache=*/true);
    entry.result("%v2", rows, "v_cache", /*updatesCache=*/true);
    program.add(entry);
  }
};

Array integers(Array::Index shape, const std::vector<int64_t> &numbers) {
  Array array(DType::I32, shape);
  for (size_t i = 0; i < numbers.size(); ++i)
    array.set(array.indexOf(int64_t(i)), double(numbers[i]));
  return array;
}

/// Caches of 5 x 3 rows, and 2 x 4 new rows.
struct SlotCall {
  Random random{7};
  Array keyCache{DType::F32, {5, 3, 2, 4}}, valueCache{DType::F32, {5, 3, 2, 4}};
  Array key = Array::uniform(DType::F32, {2, 4, 2, 4}, random),
        value = Array::uniform(DType::F32, {2, 4, 2, 4}, random);

  std::vector<Array *> arguments(std::vector<Array *> others) {
    others.insert(others.begin(), {&keyCache, &valueCache, &key, &value});
    return others;
  }

  /// Puts row [b, t] to a row of `keys` and `values`, counted over all pages.
  void place(Array &keys, Array &values, int64_t b, int64_t t, int64_t slot) const {
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 4; ++d) {
        keys.set({slot / 3, slot % 3, h, d}, key.get(b, t, h, d));
        values.set({slot / 3, slot % 3, h, d}, value.get(b, t, h, d));
      }
  }
};

} // namespace

HEDDLE_TEST_EACH_WAY(SlotCache, cpuWays);

TEST_P(SlotCache, RowsGoToTheirSlots) {
  SlotCall call;
  const std::vector<int64_t> numbers = {14, -1, 0, 7, -1, 3, 6, 13};
  Array slots = integers({2, 4}, numbers), keys = call.keyCache.copy(),
        values = call.valueCache.copy();
  for (int64_t n = 0; n < 8; ++n)
    if (numbers[size_t(n)] >= 0)
      call.place(keys, values, n / 4, n % 4, numbers[size_t(n)]);
  program->call("slots", call.arguments({&slots}));
  EXPECT_TRUE(call.keyCache.sameBits(keys));
  EXPECT_TRUE(call.valueCache.sameBits(values));
}

TEST_P(SlotCache, NothingButSkippedRows) {
  SlotCall call;
  Array slots = Array::constant(DType::I32, {2, 4}, -1);
  program->call("slots", call.arguments({&slots}));
  EXPECT_TRUE(call.keyCache.untouched() && call.valueCache.untouched());
  call.key = call.value = Array(DType::F32, {1, 0, 2, 4});
  slots = Array(DType::I32, {1, 0});
  program->call("slots", call.arguments({&slots}));
  EXPECT_TRUE(call.keyCache.untouched() && call.valueCache.untouched());
}

TEST_P(SlotCache, SlotsOutsideAreErrors) {
  for (int64_t bad : {15, -2}) {
    SlotCall call;
    Array slots = integers({2, 4}, {0, 1, 2, 3, 4, 5, 6, bad});
    Outcome outcome = program->tryCall("slots", call.arguments({&slots}));
    EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
    EXPECT_THAT(outcome.message,
                AllOf(HasSubstr("slots"), HasSubstr(std::to_string(bad)), HasSubstr("14")));
    EXPECT_TRUE(call.keyCache.untouched() && call.valueCache.untouched());
  }
}

TEST_P(SlotCache, FewerNewRows) {
  // A cache of two sequences with 6 rows, and the same rows in pages.
  SlotCall call;
  call.keyCache = Array(DType::F32, {2, 6, 2, 4});
  call.valueCache = Array(DType::F32, {2, 6, 2, 4});
  Array start = integers({2}, {1, 4}), newLen = integers({2}, {4, 2});
  SlotCall contiguous = call;
  contiguous.keyCache = call.keyCache.copy();
  contiguous.valueCache = call.valueCache.copy();
  program->call("new_len", contiguous.arguments({&start, &newLen}));
  for (int64_t b : {0, 1})
    for (int64_t j = 0; j < 6; ++j)
      for (int64_t d = 0; d < 4; ++d) {
        int64_t t = j - int64_t(start.get({b}));
        double expected = t >= 0 && t < newLen.get({b}) ? call.key.get(b, t, 1, d) : std::nan("");
        double found = contiguous.keyCache.get(b, j, 1, d);
        EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << b << j;
      }

  SlotCall paged;
  Array table = integers({2, 2}, {4, 1, 0, 3}), keys = paged.keyCache.copy(),
        values = paged.valueCache.copy();
  for (int64_t b : {0, 1})
    for (int64_t t = 0; t < newLen.get({b}); ++t) {
      int64_t position = int64_t(start.get({b})) + t;
      paged.place(keys, values, b, t, int64_t(table.get({b, position / 3})) * 3 + position % 3);
    }
  program->call("new_len_pages", paged.arguments({&start, &newLen, &table}));
  EXPECT_TRUE(paged.keyCache.sameBits(keys));
  EXPECT_TRUE(paged.valueCache.sameBits(values));
}

TEST_P(SlotCache, MoreNewRowsThanFitAreErrors) {
  auto refused = [&](std::vector<int64_t> start, std::vector<int64_t> newLen) {
    SlotCall call;
    call.keyCache = Array(DType::F32, {2, 6, 2, 4});
    call.valueCache = Array(DType::F32, {2, 6, 2, 4});
    Array starts = integers({2}, start), counts = integers({2}, newLen);
    Outcome outcome = program->tryCall("new_len", call.arguments({&starts, &counts}));
    EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
    EXPECT_TRUE(call.keyCache.untouched() && call.valueCache.untouched());
    return outcome.message;
  };
  EXPECT_THAT(refused({3, 0}, {4, 1}), AllOf(HasSubstr("start + new_len"), HasSubstr("7")));
  EXPECT_THAT(refused({0, 0}, {5, 1}), AllOf(HasSubstr("new_len"), HasSubstr("5")));
  EXPECT_THAT(refused({0, 0}, {1, -1}), AllOf(HasSubstr("new_len"), HasSubstr("-1")));
  EXPECT_THAT(refused({0, -1}, {1, 1}), AllOf(HasSubstr("start"), HasSubstr("-1")));
}
