//===- PackedFormsTest.cpp - sequences one behind the other -------------===//
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

class PackedForms : public EachWay<PackedForms> {
public:
  static void addEntries(Program &program) {
    auto add = [&](const std::string &symbol, const Form &form) { addForm(program, symbol, form); };
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
  }
};

} // namespace

HEDDLE_TEST_EACH_WAY(PackedForms, referenceWays);

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

TEST_P(PackedForms, PackedEqualsOneByOne) {
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
TEST_P(PackedForms, PackedSequencesAreApart) {
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

TEST_P(PackedForms, BadOffsetsAreErrors) {
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
