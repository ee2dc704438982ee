//===- FormsTest.cpp - lists of keys, chunks, global positions ----------===//
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
#include <set>

using namespace heddle;
using namespace heddle::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

class Forms : public EachWay<Forms> {
public:
  static void addEntries(Program &program) {
    auto add = [&](const std::string &symbol, const Form &form) { addForm(program, symbol, form); };
    add("listed", {{{"indices", kLists}}, ""});
    add("listed_rules", {{{"sinks", kSinks}, {"kv_len", kLengths}, {"indices", kLists}}, kRules});
    add("listed_pages",
        {{{"kv_len", kLengths}, {"block_table", kTable}, {"indices", kLists}}, "causal"});
    for (int64_t heads : {8, 128})
      add("listed_" + std::to_string(heads), {{{"indices", kLists}}, "causal", heads, 1});
    add("blocks", {{{"kv_len", kLengths}, {"block_indices", kBlocks}},
                   "causal, block_size = array<i64: 16, 24>"});
    add("chunks", {{}, "causal, attention_chunk = 7"});
    add("chunks_both", {{{"kv_len", kLengths}}, "attention_chunk = 7"});
    add("global_ids", {{{"global_ids", kLengths}}, "window = array<i64: 3, 3>"});
    add("global_ids_causal", {{{"global_ids", kLengths}}, "causal, window = array<i64: 3, 0>"});
  }
};

} // namespace

HEDDLE_TEST_EACH_WAY(Forms, referenceWays);

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

TEST_P(Forms, ListsEqualMasks) {
  for (auto [queries, keys, entries] :
       {std::tuple(9, 40, 6), {1, 5, 12}, {33, 20, 20}, {2, 1, 1}}) {
    Random random(keys);
    Lists lists(3, queries, keys, entries, random);
    FormCall call{uniform({3, queries, 4, 16}, random),
                  uniform({3, keys, 2, 16}, random),
                  uniform({3, keys, 2, 16}, random),
                  {&lists.indices}};
    lists.poison(call.key);
    lists.poison(call.value);
    AttentionOperands operands{&call.query, &call.key, &call.value};
    operands.mask = &lists.mask;
    std::string context = std::to_string(keys) + " keys";
    FormResult result = call.call(*program, "listed");
    expectForm(result, evaluateAttention(operands, {}), context);
    EXPECT_TRUE(call.callPlain(*program, "listed_plain").sameBits(result.output)) << context;

    Array lengths = integers({keys, keys / 2, 0}), sinks = uniform({4}, random);
    sinks.set({0}, -INFINITY);
    sinks.set({3}, INFINITY);
    operands.lengths = &lengths;
    operands.sinks = &sinks;
    call.operands = {&sinks, &lengths, &lists.indices};
    result = call.call(*program, "listed_rules");
    expectForm(result, evaluateAttention(operands, rules()), context + " with rules");
    EXPECT_TRUE(call.callPlain(*program, "listed_rules_plain").sameBits(result.output)) << context;

    // The same over pages, where rows past a length are NaN.
    Pages pages(call.key, call.value, {keys, keys / 2, 0}, 3, random);
    FormCall paged{call.query, pages.key, pages.value, {&lengths, &pages.table, &lists.indices}};
    operands.sinks = nullptr;
    AttentionRule causal;
    causal.causal = true;
    expectForm(paged.call(*program, "listed_pages"), evaluateAttention(operands, causal),
               context + " in pages");
  }
}

// As of a top-k over fewer keys than it may choose: all of them and -1, in any order; all scores are equal.
TEST_P(Forms, ListsLongerThanTheKeys) {
  for (int64_t heads : {8, 128}) {
    Random random(heads);
    FormCall call{Array::constant(DType::F32, {1, 5, heads, 16}, 0),
                  uniform({1, 5, 1, 16}, random),
                  uniform({1, 5, 1, 16}, random),
                  {}};
    Array lists = Array::filled(DType::I32, {1, 5, 64}, [](const auto &i) {
      return i[2] % 13 == 0 ? double(4 - i[2] / 13) : -1.0;
    });
    call.operands = {&lists};
    AttentionOperands operands{&call.query, &call.key, &call.value};
    AttentionRule causal;
    causal.causal = true;
    expectForm(call.call(*program, "listed_" + std::to_string(heads)),
               evaluateAttention(operands, causal), std::to_string(heads) + " heads");
  }
}

// A key is NaN that query 1 lists and query 0 does not.
TEST_P(Forms, NaNReachesThoseWhoListItOnly) {
  Random random(8);
  FormCall call{uniform({1, 2, 4, 16}, random),
                uniform({1, 8, 2, 16}, random),
                uniform({1, 8, 2, 16}, random),
                {}};
  Array lists =
      Array::filled(DType::I32, {1, 2, 2}, [](const auto &i) { return double(i[1] * 2 + i[2]); });
  call.operands = {&lists};
  for (Array *rows : {&call.key, &call.value}) {
    Array before = rows->copy();
    for (int64_t d = 0; d < 16; ++d)
      rows->set({0, 3, 0, d}, NAN);
    FormResult result = call.call(*program, "listed");
    EXPECT_EQ(countNaN(result.output.slice(1, 0, 1)), 0);
    EXPECT_EQ(countNaN(result.output.slice(1, 1, 1)), 2 * 16) << "both heads of the group";
    *rows = before;
  }
}

TEST_P(Forms, BadListsAreErrors) {
  Random random(9);
  FormCall call{uniform({1, 2, 4, 16}, random),
                uniform({1, 8, 2, 16}, random),
                uniform({1, 8, 2, 16}, random),
                {}};
  for (int64_t bad : {8, -2}) {
    Array lists = Array::constant(DType::I32, {1, 2, 3}, 0);
    lists.set({0, 1, 2}, double(bad));
    call.operands = {&lists};
    Outcome outcome;
    EXPECT_TRUE(call.tryCall(*program, "listed", outcome).output.untouched());
    EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
    EXPECT_THAT(outcome.message,
                AllOf(HasSubstr("indices"), HasSubstr(std::to_string(bad)), HasSubstr("7")));
  }
  // No keys at all.
  Array none = Array::constant(DType::I32, {1, 2, 3}, -1);
  call.key = call.value = Array(DType::F32, {1, 0, 2, 16});
  call.operands = {&none};
  FormResult result = call.call(*program, "listed");
  for (int64_t i = 0; i < result.output.count(); ++i)
    EXPECT_EQ(result.output[i], 0);
  EXPECT_EQ(result.lse[0], -INFINITY);
}

TEST_P(Forms, BlockListsEqualMasks) {
  const int64_t queries = 70, keys = 130, blockQueries = 16, blockKeys = 24;
  Random random(10);
  Array lists = Array::constant(DType::I32, {2, 2, 5, 3}, -1),
        mask = Array::constant(DType::Bool, {2, 4, queries, keys}, 0);
  for (int64_t row = 0; row < 2 * 2 * 5; ++row) {
    std::set<int64_t> chosen;
    for (int64_t n = 0; n < 3; ++n)
      if (int64_t block = random.integer(0, 5);
          row % 7 && random.chance(0.8) && chosen.insert(block).second)
        lists.set({row / 10, row / 5 % 2, row % 5, n}, double(block));
    for (int64_t i = row % 5 * blockQueries; i < std::min(queries, (row % 5 + 1) * blockQueries);
         ++i)
      for (int64_t block : chosen)
        for (int64_t j = block * blockKeys; j < std::min(keys, (block + 1) * blockKeys); ++j)
          for (int64_t h : {0, 1})
            mask.set({row / 10, row / 5 % 2 * 2 + h, i, j}, 1);
  }
  Array lengths = integers({130, 77});
  FormCall call{uniform({2, queries, 4, 16}, random),
                uniform({2, keys, 2, 16}, random),
                uniform({2, keys, 2, 16}, random),
                {&lengths, &lists}};
  AttentionOperands operands{&call.query, &call.key, &call.value};
  operands.mask = &mask;
  operands.lengths = &lengths;
  AttentionRule causal;
  causal.causal = true;
  FormResult result = call.call(*program, "blocks");
  expectForm(result, evaluateAttention(operands, causal), "blocks");
  EXPECT_TRUE(call.callPlain(*program, "blocks_plain").sameBits(result.output));
}

//===----------------------------------------------------------------------===//
// Chunks and global positions
//===----------------------------------------------------------------------===//

static const std::pair<int64_t, int64_t> masksExtents[] = {{17, 17}, {1, 29}, {6, 2}, {20, 40}};

static void checkMasked(const Program &program, const std::string &entry, FormCall &call,
                        const AttentionOperands &operands, const AttentionRule &rule,
                        const std::function<bool(int64_t b, int64_t p, int64_t j)> &isVisible) {
  int64_t batch = call.query.shape()[0], queries = call.query.shape()[1],
          keys = call.key.shape()[1];
  Array mask = Array::filled(DType::Bool, {batch, 1, queries, keys}, [&](const auto &i) {
    int64_t length = operands.lengths ? int64_t(operands.lengths->get({i[0]})) : keys;
    return isVisible(i[0], i[2] + length - queries, i[3]);
  });
  AttentionOperands masked = operands;
  masked.mask = &mask;
  std::string context = entry + " Lq=" + std::to_string(queries) + " Lk=" + std::to_string(keys);
  FormResult result = call.call(program, entry);
  expectForm(result, evaluateAttention(masked, rule), context);
  EXPECT_TRUE(call.callPlain(program, entry + "_plain").sameBits(result.output)) << context;
}

TEST_P(Forms, ChunksEqualMasks) {
  for (auto [queries, keys] : masksExtents) {
    Random random(keys);
    Array lengths = integers({keys, keys / 2});
    FormCall call{uniform({2, queries, 4, 16}, random),
                  uniform({2, keys, 2, 16}, random),
                  uniform({2, keys, 2, 16}, random),
                  {}};
    AttentionOperands operands{&call.query, &call.key, &call.value};
    auto sameChunk = [](int64_t, int64_t p, int64_t j) {
      return std::floor(double(p) / 7) == std::floor(double(j) / 7);
    };
    AttentionRule causal;
    causal.causal = true;
    checkMasked(*program, "chunks", call, operands, causal, sameChunk);
    operands.lengths = &lengths;
    call.operands = {&lengths};
    checkMasked(*program, "chunks_both", call, operands, {}, sameChunk);
  }
}

TEST_P(Forms, GlobalPositionsEqualMasks) {
  for (auto [queries, keys] : masksExtents) {
    Random random(keys);
    // Some are no position.
    const std::set<int64_t> global = {0, 9, 16, 1000, -3};
    Array ids = integers({global.begin(), global.end()});
    FormCall call{uniform({2, queries, 4, 16}, random),
                  uniform({2, keys, 2, 16}, random),
                  uniform({2, keys, 2, 16}, random),
                  {&ids}};
    AttentionOperands operands{&call.query, &call.key, &call.value};
    auto isGlobal = [&, keys = keys](int64_t p) { return p >= 0 && p < keys && global.count(p); };
    checkMasked(*program, "global_ids", call, operands, {}, [&](int64_t, int64_t p, int64_t j) {
      return std::abs(p - j) <= 3 || isGlobal(p) || isGlobal(j);
    });
    checkMasked(*program, "global_ids_causal", call, operands, {},
                [&](int64_t, int64_t p, int64_t j) {
                  return j <= p && (p - j <= 3 || isGlobal(p) || isGlobal(j));
                });
  }
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

TEST(FormsOfHeads, DimsAndRatios) {
  struct Heads {
    int64_t query, key, dim, valueDim;
  };
  const Heads all[] = {{4, 2, 8, 8},     {4, 2, 40, 40},  {2, 1, 80, 112}, {2, 2, 192, 128},
                       {2, 1, 576, 512}, {20, 4, 16, 16}, {71, 1, 16, 16}};
  for (KernelSource kernels : {defaultKernels, KernelSource::Reference}) {
    Program program;
    for (auto [n, heads] : llvm::enumerate(all)) {
      auto add = [&, &heads = heads, number = std::to_string(n)](
                     const std::string &name,
                     std::vector<std::pair<std::string, std::string>> clauses) {
        Form form{std::move(clauses), "causal", heads.query, heads.key, heads.dim, heads.valueDim};
        program.add(form.entry(name + number));
      };
      add("paged", {{"kv_len", kLengths}, {"block_table", kTable}});
      add("listed", {{"indices", kLists}});
      add("packed", {{"cu_seqlens_q", kLengths}, {"cu_seqlens_k", kLengths}});
    }
    ASSERT_TRUE(program.compile(Way(hostVariants().back(), kernels)));
    for (auto [n, heads] : llvm::enumerate(all)) {
      Random random(int64_t(n) + 20);
      Array key = uniform({2, 23, heads.key, heads.dim}, random),
            value = uniform({2, 23, heads.key, heads.valueDim}, random);
      Array query = uniform({2, 3, heads.query, heads.dim}, random), counts = integers({23, 9});
      Pages pages(key, value, {23, 9}, 5, random);
      AttentionOperands operands{&query, &key, &value};
      AttentionRule causal;
      causal.causal = true;
      std::string number = std::to_string(n);
      Lists lists(2, 3, 23, 6, random);
      FormCall listed{query, key, value, {&lists.indices}};
      operands.mask = &lists.mask;
      expectForm(listed.call(program, "listed" + number), evaluateAttention(operands, causal),
                 "lists " + number);
      operands.mask = nullptr;
      operands.lengths = &counts;
      FormCall paged{query, pages.key, pages.value, {&counts, &pages.table}};
      expectForm(paged.call(program, "paged" + number), evaluateAttention(operands, causal),
                 "pages " + number);
      // One sequence after the other in memory is one batch after the other.
      Array offsets = integers({0, 3, 6}), ofKeys = integers({0, 23, 46});
      auto packed = [](const Array &rows) {
        Array::Index shape = rows.shape();
        return rows.withStrides({1, shape[0] * shape[1], shape[2], shape[3]},
                                {rows.count(), shape[2] * shape[3], shape[3], 1});
      };
      FormCall ragged{packed(query), packed(key), packed(value), {&offsets, &ofKeys}};
      operands.lengths = nullptr;
      AttentionResult expected = evaluateAttention(operands, causal);
      FormResult result = ragged.call(program, "packed" + number);
      EXPECT_LE(relativeError(result.output, expected.output), 1e-5) << "packed " << number;
    }
  }
}
