//===- DTypeTest.cpp - element types and tensors --------------------------===//

#include "heddle/TensorIO/DType.h"
#include "heddle/TensorIO/Tensor.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

constexpr DType allTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64,
                              DType::I32, DType::I16, DType::I8,  DType::U8,   DType::Bool};

TEST(DTypeTest, NamesRoundTrip) {
  std::string names;
  for (DType type : allTypes) {
    EXPECT_EQ(parseDType(dtypeName(type)), type);
    names += std::string(dtypeName(type)) + std::to_string(dtypeSize(type)) + " ";
  }
  EXPECT_EQ(names, "f648 f324 f162 bf162 i648 i324 i162 i81 u81 bool1 ");
  EXPECT_FALSE(parseDType("F32"));
  EXPECT_FALSE(parseDType(""));
}

TEST(DTypeTest, ElementsRoundTrip) {
  alignas(8) std::byte buffer[64] = {};
  for (DType type : allTypes) {
    double value = type == DType::Bool ? 1 : type == DType::U8 ? 200 : -3;
    storeFromDouble(type, buffer, 3, value);
    EXPECT_EQ(loadAsDouble(type, buffer, 3), value) << dtypeName(type);
    EXPECT_EQ(loadAsInteger(type, buffer, 3), int64_t(value)) << dtypeName(type);
  }
}

TEST(DTypeTest, CountsElementsWithoutOverflow) {
  EXPECT_EQ(elementCount({}, DType::F32), 1);
  EXPECT_EQ(elementCount({2, 3}, DType::F32), 6);
  EXPECT_EQ(elementCount({2, 0, 3}, DType::F32), 0);
  EXPECT_FALSE(elementCount({int64_t(1) << 61}, DType::F32));
  EXPECT_TRUE(elementCount({int64_t(1) << 60}, DType::F32));
  EXPECT_FALSE(elementCount({int64_t(1) << 40, int64_t(1) << 40}, DType::I8));
  EXPECT_FALSE(elementCount({0, int64_t(1) << 40, int64_t(1) << 40}, DType::I8));
  EXPECT_FALSE(elementCount({-1}, DType::I8));
}

TEST(DTypeTest, TensorsAreAlignedZeros) {
  Result<Tensor> tensor = Tensor::zeros(DType::F16, {3, 5});
  ASSERT_TRUE(tensor) << tensor.error();
  EXPECT_EQ(tensor->bytes(), 30u);
  EXPECT_EQ(tensor->count(), 15);
  EXPECT_EQ(uintptr_t(tensor->data()) % 64, 0u);
  EXPECT_EQ(loadAsDouble(DType::F16, tensor->data(), 14), 0);
  EXPECT_EQ(Tensor::zeros(DType::F32, {int64_t(1) << 61}).error(),
            "shape [2305843009213693952] of f32 has more than 2^63 - 1 bytes");
}

} // namespace
