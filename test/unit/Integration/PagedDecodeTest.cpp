//===- PagedDecodeTest.cpp - few queries over caches in pages -------------===//
//
// The kernels for few queries, with gathered views of keys and values, against
// the formula on caches that are not in pages. Slots and pages that hold no key
// are NaN, and table entries that no key needs name no page.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"
#include "Pages.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t mostKeys = 257;
static const std::vector<int64_t> lengths = {0, 1, 15, 16, 17, 255, 256, mostKeys, 40};

/// All types, one query and three, in chunks of few keys and as many as a kernel chooses, with and without a window.
static const std::vector<AttentionSpec> &specs() {
  static const std::vector<AttentionSpec> specs = [] {
    std::vector<AttentionSpec> list;
    for (DType type : {DType::F32, DType::F16, DType::BF16})
      for (int64_t queries : {1, 3}) {
        AttentionSpec spec;
        spec.type = type;
        spec.heads = 4;
        spec.keyHeads = 2;
        spec.lengths = true;
        spec.queries = queries;
        spec.rule.causal = true;
        spec.sinks = queries == 1;
        list.push_back(spec);
        spec.block = {queries, 16, 32};
        spec.rule.left = 20;
        spec.rule.globalKeys = 4;
        list.push_back(spec);
        spec.bias = {true, true, true, true};
        spec.mask = {false, false, true, true};
        list.push_back(spec);
        spec.bias = {false, true, false, true};
        spec.mask = std::nullopt;
        spec.block = {};
        list.push_back(spec);
      }
    return list;
  }();
  return specs;
}

namespace {
class PagedDecode : public EachWay<PagedDecode> {
public:
  /// The entry of a spec, with the keys in pages.
  static void addEntries(Program &program) {
    for (auto [n, spec] : llvm::enumerate(specs())) {
      std::string text = spec.entry("paged" + std::to_string(n)).text();
      auto insert = [&](const std::string &before, const std::string &what) {
        size_t place = text.find(before);
        ASSERT_NE(place, std::string::npos) << text;
        text.insert(place, what);
      };
      insert(") -> (", ", %table: tensor<?x?xi32> {heddle.name = \"table\"}");
      insert(" {return_lse", " block_table(%table : tensor<?x?xi32>)");
      program.add(text);
    }
  }
};
} // namespace

HEDDLE_TEST_EACH_WAY(PagedDecode, cpuWays);

/// Scores with a column for each slot of pages; those that no key has are NaN, or visible.
static Array ofSlots(const Array &scores, int64_t slots) {
  std::vector<int64_t> shape = scores.shape();
  int64_t keys = shape[3];
  shape[3] = slots;
  Array all =
      Array::constant(scores.type(), shape, scores.type() == DType::Bool ? 1.0 : std::nan(""));
  for (int64_t i = 0; i < all.count(); ++i) {
    std::vector<int64_t> at = all.indexOf(i);
    if (at[3] < keys)
      all.set(at, scores.get(at[0], at[1], at[2], at[3]));
  }
  return all;
}

TEST_P(PagedDecode, AnyPageSizeEqualsContiguous) {
  const int64_t sequences = int64_t(lengths.size());
  for (auto [n, spec] : llvm::enumerate(specs()))
    for (int64_t pageSize : {1, 3, 16, 19, 64, 128, 256}) {
      Random random(pageSize);
      AttentionInputs inputs =
          AttentionInputs::random(spec, {sequences, spec.queries, mostKeys}, random);
      inputs.key = Array::uniform(spec.type, inputs.key.shape(), random, -2, 2);
      inputs.value = Array::uniform(spec.type, inputs.value.shape(), random);
      inputs.lengths = Array::filled(DType::I32, {sequences},
                                     [](const auto &i) { return double(lengths[size_t(i[0])]); });
      // The last sequence is the beginning of the one before it, and has the same pages.
      for (Array *rows : {&inputs.key, &inputs.value})
        for (int64_t j = 0; j < mostKeys; ++j)
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t d = 0; d < 16; ++d)
              rows->set({sequences - 1, j, h, d}, rows->get(sequences - 2, j, h, d));

      Pages pages(inputs.key, inputs.value, lengths, pageSize, random, /*shareLast=*/true);
      AttentionOutputs outputs;
      outputs.output = Array(spec.type, inputs.query.shape());
      outputs.lse = Array(DType::F32, {sequences, 4, spec.queries});
      std::vector<Array *> arguments{&inputs.query, &pages.key, &pages.value};
      Array bias, mask;
      int64_t slots = pages.table.shape()[1] * pageSize;
      if (spec.bias)
        arguments.push_back(&(bias = ofSlots(inputs.bias, slots)));
      if (spec.mask)
        arguments.push_back(&(mask = ofSlots(inputs.mask, slots)));
      if (spec.sinks)
        arguments.push_back(&inputs.sinks);
      arguments.insert(arguments.end(),
                       {&inputs.lengths, &pages.table, &outputs.output, &outputs.lse});
      program->call("paged" + std::to_string(n), arguments);
      compareAttention(outputs, AttentionExpectation(spec, inputs), spec,
                       "pages of " + std::to_string(pageSize));
      for (int64_t d = 0; d < 16; ++d)
        EXPECT_EQ(outputs.output.get(0, 0, 3, d), 0) << "the empty sequence";
    }
}
