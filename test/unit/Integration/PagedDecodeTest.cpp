//===- PagedDecodeTest.cpp - few queries over caches in pages -------------===//
//
// The kernels for few queries, with gathered views of keys and values, against
// the formula on caches that are not in pages. Slots and pages that hold no key
// are NaN, and table entries that no key needs name no page.
//
//===----------------------------------------------------------------------===//

#include "AttentionSpec.h"
#include "Pages.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
class PagedDecode : public EachWay<PagedDecode> {
public:
  static void addEntries(Program &program) {
    auto text = llvm::MemoryBuffer::getFile(HEDDLE_SOURCE_DIR
                                            "/test/unit/Integration/Inputs/paged_decode.mlir");
    ASSERT_TRUE(bool(text)) << text.getError().message();
    program.add((*text)->getBuffer().str());
  }
};
} // namespace

HEDDLE_TEST_EACH_WAY(PagedDecode, cpuWays);

static constexpr int64_t lengths[] = {0, 1, 15, 16, 17, 255, 256, 257, 40};
static constexpr int64_t numSequences = std::size(lengths), mostKeys = 257;

TEST_P(PagedDecode, AnyPageSizeEqualsContiguous) {
  for (int64_t pageSize : {1, 3, 16, 19, 64, 128, 256}) {
    AttentionSpec spec;
    spec.heads = 4;
    spec.keyHeads = 2;
    spec.lengths = true;
    spec.rule.causal = true;
    Random random(pageSize);
    AttentionInputs inputs = AttentionInputs::random(spec, {numSequences, 1, mostKeys}, random);
    inputs.key = Array::uniform(DType::F32, inputs.key.shape(), random, -2, 2);
    inputs.value = Array::uniform(DType::F32, inputs.value.shape(), random);
    inputs.lengths =
        Array::filled(DType::I32, {numSequences}, [](const auto &i) { return lengths[i[0]]; });
    // The last sequence is the beginning of the one before it, and has the same pages.
    for (Array *rows : {&inputs.key, &inputs.value})
      for (int64_t j = 0; j < mostKeys; ++j)
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t d = 0; d < 16; ++d)
            rows->set({numSequences - 1, j, h, d}, rows->get(numSequences - 2, j, h, d));

    Pages pages(inputs.key, inputs.value, {std::begin(lengths), std::end(lengths)}, pageSize,
                random, /*shareLast=*/true);
    Array output(DType::F32, inputs.query.shape());
    program->call(
        "paged", {&inputs.query, &pages.key, &pages.value, &pages.table, &inputs.lengths, &output});
    AttentionResult expected = evaluateAttention(inputs.operands(spec), spec.rule);
    EXPECT_LE(relativeError(output, expected.output), 1e-5) << "pages of " << pageSize;
    for (int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(output.get(0, 0, 3, d), 0) << "the empty sequence";
  }
}
