//===- PagedFormsTest.cpp - attention over pages ------------------------===//
//
// Laws of the forms of attention: each equals the plain formula over the keys
// that it names, with everything else that there is set to NaN.
//
//===----------------------------------------------------------------------===//

#include "FormCall.h"
#include "Pages.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// Forms that kernels of every target have.
class PagedForms : public EachWay<PagedForms> {
public:
  static void addEntries(Program &program) {
    auto add = [&](const std::string &symbol, const Form &form) { addForm(program, symbol, form); };
    add("paged", {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal"});
    add("paged_window",
        {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal, window = array<i64: 3, 0>"});
    add("paged_rules",
        {{{"sinks", kSinks}, {"kv_len", kLengths}, {"block_table", kTable}}, kRules});
    add("paged_scores", {{{"bias", "tensor<1x4x?x?xf32>"},
                          {"mask", "tensor<?x1x1x?xi1>"},
                          {"kv_len", kLengths},
                          {"block_table", kTable}},
                         "causal"});
  }
};

} // namespace

static const std::vector<Way> &pagedWays() {
  static const std::vector<Way> ways = {Way(), Way(hostVariants().back(), KernelSource::Reference),
                                        Way(hostVariants().back(), KernelSource::TileAll),
                                        Way("sim-sm_80")};
  return ways;
}

HEDDLE_TEST_EACH_WAY(PagedForms, pagedWays);

TEST_P(PagedForms, AnyPageSizeEqualsContiguous) {
  const std::vector<int64_t> lengths = {0, 1, 15, 16, 17, 255, 256, 257, 40};
  const int64_t sequences = int64_t(lengths.size());
  for (int64_t pageSize : {1, 3, 16, 19, 64, 128, 256})
    for (int64_t queries : {1, 5}) {
      Random random(pageSize * 10 + queries);
      Array key = uniform({sequences, 257, 2, 16}, random),
            value = uniform({sequences, 257, 2, 16}, random);
      // The last sequence is the beginning of the one before it.
      for (Array *rows : {&key, &value})
        for (int64_t j = 0; j < 257; ++j)
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t d = 0; d < 16; ++d)
              rows->set({sequences - 1, j, h, d}, rows->get(sequences - 2, j, h, d));
      Pages pages(key, value, lengths, pageSize, random, /*shareLast=*/true);
      Array counts = integers(lengths), sinks = uniform({4}, random);
      FormCall call{uniform({sequences, queries, 4, 16}, random),
                    pages.key,
                    pages.value,
                    {&counts, &pages.table}};
      AttentionOperands operands{&call.query, &key, &value};
      operands.lengths = &counts;
      std::string context = "pages of " + std::to_string(pageSize);
      AttentionRule causal;
      causal.causal = true;
      FormResult result = call.call(*program, "paged");
      expectForm(result, evaluateAttention(operands, causal), context);
      EXPECT_TRUE(call.callPlain(*program, "paged_plain").sameBits(result.output)) << context;
      call.operands = {&sinks, &counts, &pages.table};
      operands.sinks = &sinks;
      result = call.call(*program, "paged_rules");
      expectForm(result, evaluateAttention(operands, rules()), context + " with rules");
      EXPECT_TRUE(call.callPlain(*program, "paged_rules_plain").sameBits(result.output)) << context;

      // A column for each slot.
      int64_t slots = pages.table.shape()[1] * pageSize;
      Array bias = uniform({1, 4, queries, slots}, random);
      Array mask = Array::filled(DType::Bool, {sequences, 1, 1, slots},
                                 [&](const auto &) { return double(random.chance(0.7)); });
      call.operands = {&bias, &mask, &counts, &pages.table};
      Array biasOfKeys = bias.slice(3, 0, 257), maskOfKeys = mask.slice(3, 0, 257);
      operands.sinks = nullptr;
      operands.bias = &biasOfKeys;
      operands.mask = &maskOfKeys;
      result = call.call(*program, "paged_scores");
      expectForm(result, evaluateAttention(operands, causal), context + " with bias and mask");
      EXPECT_TRUE(call.callPlain(*program, "paged_scores_plain").sameBits(result.output))
          << context;
    }
}

TEST_P(PagedForms, ScoresNeedAllSlots) {
  Random random(6);
  Array key = uniform({1, 12, 2, 16}, random), value = uniform({1, 12, 2, 16}, random);
  Pages pages(key, value, {12}, 4, random);
  int64_t slots = pages.table.shape()[1] * 4;
  Array counts = integers({12}), mask = Array::constant(DType::Bool, {1, 1, 1, slots}, 1.0);
  Array bias = uniform({1, 4, 1, slots - 1}, random);
  FormCall call{uniform({1, 1, 4, 16}, random),
                pages.key,
                pages.value,
                {&bias, &mask, &counts, &pages.table}};
  Outcome outcome;
  FormResult result = call.tryCall(*program, "paged_scores", outcome);
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.message, HasSubstr("bias"));
  EXPECT_TRUE(result.output.untouched());
}

TEST_P(PagedForms, BadPagesAreErrors) {
  Random random(3);
  Array key = uniform({2, 12, 2, 16}, random), value = uniform({2, 12, 2, 16}, random);
  Pages pages(key, value, {12, 5}, 4, random);
  FormCall call{uniform({2, 1, 4, 16}, random), pages.key, pages.value, {}};
  auto refused = [&](Array lengths, Array table) {
    call.operands = {&lengths, &table};
    Outcome outcome;
    FormResult result = call.tryCall(*program, "paged", outcome);
    EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE) << outcome.message;
    EXPECT_TRUE(result.output.untouched());
    return outcome.message;
  };
  // Four entries of 4 rows.
  EXPECT_THAT(refused(integers({17, 5}), pages.table),
              AllOf(HasSubstr("kv_len"), HasSubstr("17"), HasSubstr("16")));
  EXPECT_THAT(refused(integers({-1, 5}), pages.table), AllOf(HasSubstr("kv_len"), HasSubstr("-1")));
  Array table = pages.table.copy();
  table.set({1, 1}, 8);
  EXPECT_THAT(refused(integers({12, 5}), table),
              HasSubstr("block_table[1][1] is 8, expected a page from 0 to 7"));
  EXPECT_THAT(refused(integers({12, 9}), pages.table),
              HasSubstr("block_table[1][2] is 2147483647"));
}

// A window of 4 keys over 9 tokens, one token at a time. Values are one-hot, so that each visible key is seen.
TEST_P(PagedForms, WindowsOverPages) {
  Random random(5);
  Array key = uniform({1, 9, 2, 16}, random);
  Array value =
      Array::filled(DType::F32, {1, 9, 2, 16}, [](const auto &i) { return double(i[1] == i[3]); });
  for (int64_t step = 0; step < 9; ++step) {
    Pages pages(key, value, {step + 1}, 2, random);
    Array counts = integers({step + 1});
    FormCall call{uniform({1, 1, 4, 16}, random), pages.key, pages.value, {&counts, &pages.table}};
    FormResult result = call.call(*program, "paged_window");
    for (int64_t j = 0; j < 16; ++j)
      EXPECT_EQ(result.output.get(0, 0, 3, j) != 0, j <= step && j >= step - 3) << step << " " << j;
  }
}

// Keys and values beside each other in one row, as a fused projection writes them.
TEST_P(PagedForms, PagesWithStrides) {
  Random random(4);
  Array key = uniform({2, 30, 2, 16}, random), value = uniform({2, 30, 2, 16}, random);
  Pages pages(key, value, {30, 7}, 8, random);
  Array both(DType::F32, {pages.key.shape()[0], 8, 4, 16});
  Array keys = both.slice(2, 0, 2), values = both.slice(2, 2, 2);
  for (int64_t i = 0; i < keys.count(); ++i) {
    keys.set(keys.indexOf(i), pages.key[i]);
    values.set(values.indexOf(i), pages.value[i]);
  }
  Array counts = integers({30, 7});
  FormCall call{uniform({2, 3, 4, 16}, random), keys, values, {&counts, &pages.table}};
  AttentionOperands operands{&call.query, &key, &value};
  operands.lengths = &counts;
  AttentionRule causal;
  causal.causal = true;
  expectForm(call.call(*program, "paged"), evaluateAttention(operands, causal), "strided pages");
}

TEST_P(PagedForms, NoSequences) {
  Array counts(DType::I32, {0}), table(DType::I32, {0, 3});
  FormCall call{Array(DType::F32, {0, 2, 4, 16}),
                Array(DType::F32, {5, 8, 2, 16}),
                Array(DType::F32, {5, 8, 2, 16}),
                {&counts, &table}};
  EXPECT_EQ(call.call(*program, "paged").output.count(), 0);
  // Sequences without keys need no pages.
  counts = integers({0, 0});
  table = Array(DType::I32, {2, 0});
  call.query = Array::constant(DType::F32, {2, 2, 4, 16}, 1);
  FormResult result = call.call(*program, "paged");
  for (int64_t i = 0; i < result.lse.count(); ++i)
    EXPECT_EQ(result.lse[i], -INFINITY);
  EXPECT_EQ(result.output[0], 0);
}
