//===- LargeStridesTest.cpp - views whose offsets exceed 32 bits ----------===//

#include "AttentionSpec.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace heddle;
using namespace heddle::test;

class LargeStrides : public testing::TestWithParam<Way> {};
HEDDLE_TEST_EACH_WAY(LargeStrides, kernelWays);

// Two sequences 2^31 + 64 elements apart, in a mapping of which only a few pages exist.
TEST_P(LargeStrides, BatchStridePast32Bits) {
  AttentionSpec spec;
  spec.type = DType::F16;
  spec.rule.causal = true;
  Program program;
  program.add(spec.entry("attention"));
  ASSERT_TRUE(program.compile(GetParam()));

  constexpr int64_t kStride = (int64_t(1) << 31) + 64;
  const size_t bytes = size_t(kStride) * 2 + (1 << 20);
  void *mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    GTEST_SKIP() << "this machine does not give " << bytes << " bytes of address space";

  Random random(25);
  AttentionInputs inputs = AttentionInputs::random(spec, {2, 5, 5}, random);
  AttentionOutputs dense = checkAttention(program, "attention", spec, inputs);
  int64_t first = 0;
  for (Array *array : {&inputs.query, &inputs.key, &inputs.value}) {
    Array source = *array;
    Array::Index strides = source.strides();
    strides[0] = kStride;
    *array = Array::over(DType::F16, mapping, source.shape(), strides, first);
    for (int64_t i = 0; i < source.count(); ++i)
      array->set(source.indexOf(i), source[i]);
    first += source.count();
  }
  AttentionOutputs apart = callAttention(program, "attention", spec, inputs);
  EXPECT_TRUE(apart.output.sameBits(dense.output));
  EXPECT_TRUE(apart.lse.sameBits(dense.lse));
  munmap(mapping, bytes);
}
