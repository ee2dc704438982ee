//===- FormsTest.cpp - pages, packed sequences, lists, parts --------------===//
//
// Laws of the forms of attention: each equals the plain formula over the keys
// that it names, with everything else that there is set to NaN.
//
//===----------------------------------------------------------------------===//

#include "AttentionFormula.h"
#include "Pages.h"
#include "Program.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace heddle;
using namespace heddle::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// What an entry has besides query, key and value: clauses with their types, and attributes.
struct Form {
  std::vector<std::pair<std::string, std::string>> clauses;
  std::string attributes;
  int64_t heads = 4, keyHeads = 2, dim = 16, valueDim = 16;

  bool hasSinks() const {
    return llvm::any_of(clauses, [](const auto &clause) { return clause.first == "sinks"; });
  }

  /// An entry of q, k, v, a tensor for each clause, and the results o, and with `statistics` lse, max and first.
  std::string entry(const std::string &symbol, bool statistics = true) const {
    goldens::EntryText text(symbol);
    std::string query = goldens::tensorType({-1, -1, heads, dim}, DType::F32),
                key = goldens::tensorType({-1, -1, keyHeads, dim}, DType::F32),
                value = goldens::tensorType({-1, -1, keyHeads, valueDim}, DType::F32),
                output = goldens::tensorType({-1, -1, heads, valueDim}, DType::F32),
                row = goldens::tensorType({-1, heads, -1}, DType::F32);
    std::string operands = text.argument("q", query) + ", " + text.argument("k", key) + ", " +
                           text.argument("v", value);
    for (const auto &[name, type] : clauses)
      operands += " " + name + "(" + text.argument(name, type) + " : " + type + ")";
    std::string all = attributes;
    if (statistics)
      all += std::string(all.empty() ? "" : ", ") + "return_lse, return_max, return_first_key_mass";
    std::string types = " : (" + query + ", " + key + ", " + value + ") -> ";
    if (!statistics) {
      text.line("%o = attn.attention " + operands + " {" + all + "}" + types + output);
      text.result("%o", output, "o");
      return text.text();
    }
    text.line("%o, %lse, %max, %first = attn.attention " + operands + " {" + all + "}" + types +
              "(" + output + ", " + row + ", " + row + ", " + row + ")");
    text.result("%o", output, "o");
    for (const char *name : {"lse", "max", "first"})
      text.result(std::string("%") + name, row, name);
    return text.text();
  }
};

struct FormResult {
  Array output, lse, max, first;
};

/// A query, keys and values of any layout, and what the clauses name.
struct FormCall {
  Array query, key, value;
  std::vector<Array *> operands;

  FormResult call(const Program &program, const std::string &entry) {
    Outcome outcome;
    FormResult result = tryCall(program, entry, outcome);
    EXPECT_EQ(outcome.status, 0) << entry << ": " << outcome.message;
    return result;
  }

  FormResult tryCall(const Program &program, const std::string &entry, Outcome &outcome) {
    FormResult result = results();
    std::vector<Array *> arguments = inputs();
    for (Array *array : {&result.output, &result.lse, &result.max, &result.first})
      arguments.push_back(array);
    outcome = program.tryCall(entry, arguments);
    return result;
  }

  /// The same by an entry without statistics.
  Array callPlain(const Program &program, const std::string &entry) {
    FormResult result = results();
    std::vector<Array *> arguments = inputs();
    arguments.push_back(&result.output);
    program.call(entry, arguments);
    return result.output;
  }

private:
  std::vector<Array *> inputs() {
    std::vector<Array *> arguments{&query, &key, &value};
    arguments.insert(arguments.end(), operands.begin(), operands.end());
    return arguments;
  }

  FormResult results() const {
    const Array::Index &shape = query.shape();
    Array rows(DType::F32, {shape[0], shape[2], shape[1]});
    return {Array(DType::F32, {shape[0], shape[1], shape[2], value.shape()[3]}), rows.copy(),
            rows.copy(), rows.copy()};
  }
};

void expectForm(const FormResult &result, const AttentionResult &expected,
                const std::string &context) {
  EXPECT_LE(relativeError(result.output, expected.output), 1e-5) << "output of " << context;
  EXPECT_LE(relativeError(result.lse, expected.lse), 1e-5) << "lse of " << context;
  EXPECT_LE(relativeError(result.first, expected.firstKeyMass), 1e-5)
      << "first_key_mass of " << context;
}

/// Every element at which it is not a NaN that should be none.
int64_t countNaN(const Array &array) {
  int64_t count = 0;
  for (int64_t i = 0; i < array.count(); ++i)
    count += std::isnan(array[i]);
  return count;
}

Array integers(const std::vector<int64_t> &numbers) {
  return Array::filled(DType::I32, {int64_t(numbers.size())},
                       [&](const auto &i) { return double(numbers[size_t(i[0])]); });
}

Array uniform(Array::Index shape, Random &random) {
  return Array::uniform(DType::F32, std::move(shape), random, -2, 2);
}

const std::string kLengths = "tensor<?xi32>", kTable = "tensor<?x?xi32>", kSinks = "tensor<4xf32>",
                  kLists = "tensor<?x?x?xi32>", kBlocks = "tensor<?x2x?x?xi32>";
/// Whatever there is that changes scores of all forms alike.
const std::string kRules = "causal, window = array<i64: 20, 0>, softcap = 3.0";
AttentionRule rules() {
  AttentionRule rule;
  rule.causal = true;
  rule.left = 20;
  rule.softcap = 3;
  return rule;
}

class Forms : public EachWay<Forms> {
public:
  static void addEntries(Program &program) {
    auto add = [&](const std::string &symbol, const Form &form) {
      program.add(form.entry(symbol));
      program.add(form.entry(symbol + "_plain", /*statistics=*/false));
    };
    add("paged", {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal"});
    add("paged_window",
        {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal, window = array<i64: 3, 0>"});
    add("paged_rules",
        {{{"sinks", kSinks}, {"kv_len", kLengths}, {"block_table", kTable}}, kRules});
    add("listed", {{{"indices", kLists}}, ""});
    add("listed_rules", {{{"sinks", kSinks}, {"kv_len", kLengths}, {"indices", kLists}}, kRules});
    add("listed_pages",
        {{{"kv_len", kLengths}, {"block_table", kTable}, {"indices", kLists}}, "causal"});
    for (int64_t heads : {8, 128})
      add("listed_" + std::to_string(heads), {{{"indices", kLists}}, "causal", heads, 1});
    add("blocks", {{{"kv_len", kLengths}, {"block_indices", kBlocks}},
                   "causal, block_size = array<i64: 16, 24>"});
    add("packed", {{{"cu_seqlens_q", kLengths}, {"cu_seqlens_k", kLengths}}, ""});
    add("packed_rules", {{{"sinks", kSinks},
                          {"alibi_slopes", "tensor<?x4xf32>"},
                          {"cu_seqlens_q", kLengths},
                          {"cu_seqlens_k", kLengths}},
                         kRules});
    add("packed_pages",
        {{{"kv_len", kLengths}, {"block_table", kTable}, {"cu_seqlens_q", kLengths}}, "causal"});
    add("packed_lists",
        {{{"cu_seqlens_q", kLengths}, {"cu_seqlens_k", kLengths}, {"indices", kLists}}, "causal"});
    add("chunks", {{}, "causal, attention_chunk = 7"});
    add("chunks_both", {{{"kv_len", kLengths}}, "attention_chunk = 7"});
    add("global_ids", {{{"global_ids", kLengths}}, "window = array<i64: 3, 3>"});
    add("global_ids_causal", {{{"global_ids", kLengths}}, "causal, window = array<i64: 3, 0>"});
  }
};

/// Forms that kernels of every target have.
class PagedForms : public EachWay<PagedForms> {
public:
  static void addEntries(Program &program) {
    auto add = [&](const std::string &symbol, const Form &form) {
      program.add(form.entry(symbol));
      program.add(form.entry(symbol + "_plain", /*statistics=*/false));
    };
    add("paged", {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal"});
    add("paged_window",
        {{{"kv_len", kLengths}, {"block_table", kTable}}, "causal, window = array<i64: 3, 0>"});
    add("paged_rules",
        {{{"sinks", kSinks}, {"kv_len", kLengths}, {"block_table", kTable}}, kRules});
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

static const std::vector<Way> &referenceWays() {
  static const std::vector<Way> ways = {Way(), Way(hostVariants().back(), KernelSource::Reference),
                                        Way(hostVariants().back(), KernelSource::TileAll)};
  return ways;
}

HEDDLE_TEST_EACH_WAY(Forms, referenceWays);

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

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
    }
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

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

namespace {
/// Random lists of distinct keys with -1 between them, and the mask that they stand for; some lists hold nothing but -1.
struct Lists {
  Array indices, mask;

  Lists(int64_t batch, int64_t queries, int64_t keys, int64_t entries, Random &random)
      : indices(Array::constant(DType::I32, {batch, queries, entries}, -1)),
        mask(Array::constant(DType::Bool, {batch, 1, queries, keys}, 0)) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t n = 0; n < entries && (b + i) % 4; ++n)
          if (int64_t j = random.integer(0, keys - 1);
              random.chance(0.8) && mask.get(b, 0, i, j) == 0) {
            indices.set({b, i, n}, double(j));
            mask.set({b, 0, i, j}, 1);
          }
  }

  /// Rows that no query of their sequence lists become NaN.
  void poison(Array &rows) const {
    for (int64_t n = 0; n < rows.count(); ++n) {
      Array::Index index = rows.indexOf(n);
      bool isListed = false;
      for (int64_t i = 0; i < mask.shape()[2]; ++i)
        isListed |= mask.get(index[0], 0, i, index[1]) != 0;
      if (!isListed)
        rows.set(index, NAN);
    }
  }
};
} // namespace

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
// Packed sequences
//===----------------------------------------------------------------------===//

/// One row of a packed result after the other, from calls of one sequence each.
static void appendRows(AttentionResult &all, const AttentionResult &one, int64_t heads,
                       int64_t queries, std::vector<std::vector<double>> &perHead,
                       std::vector<std::vector<double>> &firstPerHead) {
  all.output.insert(all.output.end(), one.output.begin(), one.output.end());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      perHead[size_t(h)].push_back(one.lse[size_t(h * queries + i)]);
      firstPerHead[size_t(h)].push_back(one.firstKeyMass[size_t(h * queries + i)]);
    }
}

namespace {
struct PackedLengths {
  std::vector<int64_t> queries, keys;

  static Array offsets(const std::vector<int64_t> &counts) {
    std::vector<int64_t> sums{0};
    for (int64_t count : counts)
      sums.push_back(sums.back() + count);
    return integers(sums);
  }
  static int64_t total(const std::vector<int64_t> &counts) {
    int64_t sum = 0;
    for (int64_t count : counts)
      sum += count;
    return sum;
  }
};
} // namespace

static const PackedLengths packedLengths[] = {{{3, 0, 4}, {4, 5, 0}},
                                              {{1, 1, 30, 7}, {9, 1, 30, 3}},
                                              {{}, {}},
                                              {{0, 0}, {0, 3}},
                                              {{5}, {0}},
                                              {{2, 0, 0, 1}, {1, 0, 0, 8}}};

/// Evaluates each sequence alone.
static AttentionResult evaluatePacked(const FormCall &call, const PackedLengths &lengths,
                                      const AttentionRule &rule, const Array *sinks,
                                      const Array *slopes, const Array *mask) {
  AttentionResult all;
  std::vector<std::vector<double>> lse(4), first(4);
  int64_t firstQuery = 0, firstKey = 0;
  for (size_t s = 0; s < lengths.queries.size(); ++s) {
    int64_t queries = lengths.queries[s], keys = lengths.keys[s];
    Array query = call.query.slice(1, firstQuery, queries), key = call.key.slice(1, firstKey, keys),
          value = call.value.slice(1, firstKey, keys);
    AttentionOperands operands{&query, &key, &value};
    operands.sinks = sinks;
    Array ofSequence, visible;
    if (slopes)
      ofSequence = slopes->slice(0, int64_t(s), 1);
    operands.slopes = slopes ? &ofSequence : nullptr;
    if (mask)
      visible = mask->slice(2, firstQuery, queries).slice(3, 0, keys);
    operands.mask = mask ? &visible : nullptr;
    appendRows(all, evaluateAttention(operands, rule), 4, queries, lse, first);
    firstQuery += queries;
    firstKey += keys;
  }
  for (int64_t h = 0; h < 4; ++h) {
    all.lse.insert(all.lse.end(), lse[size_t(h)].begin(), lse[size_t(h)].end());
    all.firstKeyMass.insert(all.firstKeyMass.end(), first[size_t(h)].begin(),
                            first[size_t(h)].end());
  }
  return all;
}

TEST_P(Forms, PackedEqualsOneByOne) {
  for (const PackedLengths &lengths : packedLengths) {
    int64_t queries = PackedLengths::total(lengths.queries),
            keys = PackedLengths::total(lengths.keys), count = int64_t(lengths.queries.size());
    Random random(queries);
    Array ofQueries = PackedLengths::offsets(lengths.queries),
          ofKeys = PackedLengths::offsets(lengths.keys);
    FormCall call{uniform({1, queries, 4, 16}, random),
                  uniform({1, keys, 2, 16}, random),
                  uniform({1, keys, 2, 16}, random),
                  {&ofQueries, &ofKeys}};
    std::string context = std::to_string(queries) + " packed queries";
    FormResult result = call.call(*program, "packed");
    expectForm(result, evaluatePacked(call, lengths, {}, nullptr, nullptr, nullptr), context);
    EXPECT_TRUE(call.callPlain(*program, "packed_plain").sameBits(result.output)) << context;

    Array sinks = uniform({4}, random), slopes = uniform({count, 4}, random);
    call.operands = {&sinks, &slopes, &ofQueries, &ofKeys};
    result = call.call(*program, "packed_rules");
    expectForm(result, evaluatePacked(call, lengths, rules(), &sinks, &slopes, nullptr),
               context + " with rules");
    EXPECT_TRUE(call.callPlain(*program, "packed_rules_plain").sameBits(result.output)) << context;

    // Lists hold positions within the sequence; some are of no key, of its own or at all.
    AttentionRule causal;
    causal.causal = true;
    if (keys > 0) {
      Lists lists(1, queries, keys, 7, random);
      call.operands = {&ofQueries, &ofKeys, &lists.indices};
      expectForm(call.call(*program, "packed_lists"),
                 evaluatePacked(call, lengths, causal, nullptr, nullptr, &lists.mask),
                 context + " with lists");
    }

    // The keys of each sequence in pages.
    int64_t most = 1;
    for (int64_t each : lengths.keys)
      most = std::max(most, each);
    Array key(DType::F32, {count, most, 2, 16}), value(DType::F32, {count, most, 2, 16});
    int64_t firstKey = 0;
    for (size_t s = 0; s < lengths.keys.size(); firstKey += lengths.keys[s++])
      for (int64_t j = 0; j < lengths.keys[s]; ++j)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t d = 0; d < 16; ++d) {
            key.set({int64_t(s), j, h, d}, call.key.get(0, firstKey + j, h, d));
            value.set({int64_t(s), j, h, d}, call.value.get(0, firstKey + j, h, d));
          }
    Pages pages(key, value, lengths.keys, 3, random);
    Array counts = integers(lengths.keys);
    FormCall paged{call.query, pages.key, pages.value, {&counts, &pages.table, &ofQueries}};
    expectForm(paged.call(*program, "packed_pages"),
               evaluatePacked(call, lengths, causal, nullptr, nullptr, nullptr),
               context + " in pages");
  }
}

// What one sequence holds does not reach another.
TEST_P(Forms, PackedSequencesAreApart) {
  Random random(12);
  Array ofQueries = integers({0, 3, 6}), ofKeys = integers({0, 5, 9});
  FormCall call{uniform({1, 6, 4, 16}, random),
                uniform({1, 9, 2, 16}, random),
                uniform({1, 9, 2, 16}, random),
                {&ofQueries, &ofKeys}};
  FormResult clean = call.call(*program, "packed");
  for (Array *rows : {&call.key, &call.value})
    for (int64_t d = 0; d < 16; ++d)
      rows->set({0, 7, 1, d}, NAN);
  FormResult result = call.call(*program, "packed");
  EXPECT_TRUE(result.output.slice(1, 0, 3).copy().sameBits(clean.output.slice(1, 0, 3).copy()));
  EXPECT_EQ(countNaN(result.output), 3 * 2 * 16);
}

TEST_P(Forms, BadOffsetsAreErrors) {
  Random random(13);
  FormCall call{uniform({1, 7, 4, 16}, random),
                uniform({1, 9, 2, 16}, random),
                uniform({1, 9, 2, 16}, random),
                {}};
  auto refused = [&](Array ofQueries, Array ofKeys) {
    call.operands = {&ofQueries, &ofKeys};
    Outcome outcome;
    EXPECT_TRUE(call.tryCall(*program, "packed", outcome).output.untouched());
    EXPECT_NE(outcome.status, 0);
    return outcome.message;
  };
  EXPECT_THAT(refused(integers({0, 5, 4, 7}), integers({0, 4, 9, 9})),
              HasSubstr("cu_seqlens_q[2] is 4, expected at least 5, the value before it"));
  EXPECT_THAT(refused(integers({0, 3, 3, 7}), integers({0, 4, 8, 8})),
              HasSubstr("the last value of cu_seqlens_k is 8, expected 9, the number of tokens"));
  EXPECT_THAT(refused(integers({1, 3, 3, 7}), integers({0, 4, 9, 9})),
              HasSubstr("cu_seqlens_q[0] is 1, expected 0"));
  EXPECT_THAT(refused(integers({0, 3, 7}), integers({0, 4, 9, 9})),
              AllOf(HasSubstr("'cu_seqlens_k'"), HasSubstr("dimension 0 is 4, expected d2 = 3")));
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
