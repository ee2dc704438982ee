//===- BindTest.cpp - heddle_rt_bind: descriptors and messages ------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

extern "C" int32_t heddle_test_call_from_c(heddle_entry_fn entry, DLTensor **args, int32_t count);

namespace {

// Names at: f 0, B 2, C 4, x 6, k_cache.0 8, mask 18, y 23.
constexpr char strings[] = "f\0B\0C\0x\0k_cache.0\0mask\0y";
constexpr int64_t f32 = kDLFloat;

// f(x [B, 3] rows, k_cache.0 in-out [B, C, 2] rows, mask bool [C] contiguous, y out [B] contiguous)
constexpr int64_t table[] = {0,  4,  2,
                             2,  4, //
                             6,  0,  f32,
                             32, 0,  2,
                             -1, 3, //
                             8,  2,  f32,
                             32, 0,  3,
                             -1, -2, 2, //
                             18, 0,  HEDDLE_DL_BOOL,
                             8,  1,  1,
                             -2, //
                             23, 1,  f32,
                             32, 1,  1,
                             -1};

/// A tensor with memory of its own.
struct TestTensor : DLTensor {
  std::vector<int64_t> shapeWords, strideWords;
  std::vector<float> memory;

  TestTensor(uint8_t code, uint8_t bits, std::vector<int64_t> extents) : shapeWords(extents) {
    memory.resize(1024);
    data = memory.data();
    device = {kDLCPU, 0};
    dtype = {code, bits, 1};
    ndim = int(shapeWords.size());
    shape = shapeWords.data();
    DLTensor::strides = nullptr;
    byte_offset = 0;
  }
  void setStrides(std::vector<int64_t> words) {
    strideWords = std::move(words);
    DLTensor::strides = strideWords.data();
  }
  void setShape(std::vector<int64_t> extents) {
    shapeWords = std::move(extents);
    ndim = int(shapeWords.size());
    shape = shapeWords.data();
  }
};

class BindTest : public ::testing::Test {
protected:
  BindTest() {
    ctx.struct_size = sizeof(ctx);
    args = {&x, &cache, &mask, &y};
  }

  int32_t bind(bool shapesOnly = false) {
    return heddle_rt_bind(&ctx, table, strings, args.data(), int32_t(args.size()), descriptors,
                          symbols, shapesOnly);
  }

  /// The message of a call that must fail.
  std::string failure(bool shapesOnly = false) {
    EXPECT_EQ(bind(shapesOnly), HEDDLE_INVALID_ARGUMENT);
    return ctx.message;
  }

  heddle_context ctx = {};
  TestTensor x{kDLFloat, 32, {2, 3}}, cache{kDLFloat, 32, {2, 4, 2}};
  TestTensor mask{HEDDLE_DL_BOOL, 8, {4}}, y{kDLFloat, 32, {2}};
  std::vector<DLTensor *> args;
  int64_t descriptors[64] = {}, symbols[2] = {};
};

TEST_F(BindTest, WritesDescriptorsAndSymbols) {
  strcpy(ctx.message, "old");
  x.byte_offset = 8;
  x.setStrides({5, 1});
  ASSERT_EQ(bind(), HEDDLE_OK) << ctx.message;
  EXPECT_STREQ(ctx.message, "");
  EXPECT_EQ(symbols[0], 2);
  EXPECT_EQ(symbols[1], 4);
  int64_t xAt = int64_t(x.data) + 8, cacheAt = int64_t(cache.data);
  std::vector<int64_t> expected = {xAt,     xAt,     0, 2, 3, 5, 1, //
                                   cacheAt, cacheAt, 0, 2, 4, 2, 8, 2, 1};
  EXPECT_EQ(std::vector<int64_t>(descriptors, descriptors + 16), expected);
}

TEST_F(BindTest, NormalisesUnusedStrides) {
  x.setShape({1, 3});
  x.setStrides({-77, 1});
  cache.setShape({1, 4, 2});
  cache.setStrides({0, 2, 1});
  y.setShape({1});
  y.setStrides({9});
  ASSERT_EQ(bind(), HEDDLE_OK) << ctx.message;
  EXPECT_EQ(descriptors[5], 3);
  EXPECT_EQ(descriptors[7 + 6], 8);
}

TEST_F(BindTest, AcceptsEmptyTensorsWithoutData) {
  for (DLTensor *tensor : args)
    tensor->data = nullptr;
  x.setShape({0, 3});
  cache.setShape({0, 0, 2});
  mask.setShape({0});
  y.setShape({0});
  EXPECT_EQ(bind(), HEDDLE_OK) << ctx.message;
}

TEST_F(BindTest, ReadsOnlyShapesForTheWorkspaceQuery) {
  for (DLTensor *tensor : args)
    tensor->data = nullptr;
  EXPECT_EQ(heddle_rt_bind(&ctx, table, strings, args.data(), 4, nullptr, symbols, 1), HEDDLE_OK)
      << ctx.message;
  EXPECT_EQ(symbols[1], 4);
  EXPECT_EQ(failure(), "f: argument 0 'x': data is a null pointer, but the tensor is not empty");
}

TEST_F(BindTest, RefusesAnUnusableContext) {
  EXPECT_EQ(heddle_rt_bind(nullptr, table, strings, args.data(), 4, descriptors, symbols, 0),
            HEDDLE_INVALID_ARGUMENT);
  ctx.struct_size = sizeof(ctx) - 8;
  strcpy(ctx.message, "untouched");
  EXPECT_EQ(bind(), HEDDLE_INVALID_ARGUMENT);
  EXPECT_STREQ(ctx.message, "untouched");
  ctx.struct_size = sizeof(ctx) + 64; // a newer caller
  EXPECT_EQ(bind(), HEDDLE_OK);
  ctx.num_threads = -1;
  EXPECT_EQ(failure(), "f: num_threads is -1, expected 0 or more");
}

TEST_F(BindTest, RefusesWrongCounts) {
  args.pop_back();
  EXPECT_EQ(failure(), "f: got 3 arguments, expected 4 (the first one missing is 'y')");
  args = {&x, &cache, &mask, &y, &y};
  EXPECT_EQ(failure(), "f: got 5 arguments, expected 4");
  EXPECT_EQ(heddle_rt_bind(&ctx, table, strings, nullptr, 4, descriptors, symbols, 0),
            HEDDLE_INVALID_ARGUMENT);
  EXPECT_STREQ(ctx.message, "f: args is a null pointer, expected 4 tensors");
  args = {&x, nullptr, &mask, &y};
  EXPECT_EQ(failure(), "f: argument 1 'k_cache.0': is a null pointer, expected a tensor");
}

TEST_F(BindTest, RefusesWrongTypes) {
  mask.device = {kDLCUDA, 1};
  EXPECT_EQ(failure(),
            "f: argument 2 'mask': is on CUDA device 1, expected the CPU (where argument 0 "
            "'x' is)");
  for (DLTensor *tensor : args)
    tensor->device = {kDLCUDA, 1};
  EXPECT_EQ(bind(), HEDDLE_OK);
  mask.device.device_id = 0;
  EXPECT_EQ(failure(), "f: argument 2 'mask': is on CUDA device 0, expected CUDA device 1 (where "
                       "argument 0 'x' is)");
  for (DLTensor *tensor : args)
    tensor->device = {kDLCPU, 0};
  x.dtype = {kDLBfloat, 16, 1};
  EXPECT_EQ(failure(), "f: argument 0 'x': dtype is bf16, expected f32");
  x.dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(failure(), "f: argument 0 'x': dtype is f32 x 4 lanes, expected f32");
  x.dtype = {kDLFloat, 32, 1};
  mask.dtype = {kDLUInt, 8, 1};
  EXPECT_EQ(failure(), "f: argument 2 'mask': dtype is u8, expected bool");
  mask.dtype = {77, 8, 1};
  EXPECT_EQ(failure(), "f: argument 2 'mask': dtype is type code 77 of 8 bits, expected bool");
}

TEST_F(BindTest, RefusesWrongShapes) {
  x.setShape({2, 3, 1});
  EXPECT_EQ(failure(), "f: argument 0 'x': rank is 3, expected 2");
  x.setShape({2, 5});
  EXPECT_EQ(failure(), "f: argument 0 'x': dimension 1 is 5, expected 3");
  x.setShape({-2, 3});
  EXPECT_EQ(failure(), "f: argument 0 'x': dimension 0 is -2, expected 0 or more");
  x.setShape({2, 3});
  mask.setShape({7});
  EXPECT_EQ(failure(),
            "f: argument 2 'mask': dimension 0 is 7, expected C = 4 (given by argument 1 "
            "'k_cache.0')");
  mask.setShape({4});
  x.shape = nullptr;
  EXPECT_EQ(failure(), "f: argument 0 'x': shape is a null pointer, expected 2 extents");
  x.setShape({int64_t(1) << 62, 3});
  EXPECT_EQ(failure(true), "f: argument 0 'x': the extents multiply to more than 2^63 - 1 bytes");
}

TEST_F(BindTest, RefusesWrongStrides) {
  x.setStrides({6, 2});
  EXPECT_EQ(failure(), "f: argument 0 'x': stride of dimension 1 is 2, expected 1 (the last "
                       "dimension without gaps)");
  x.setStrides({-3, 1});
  EXPECT_EQ(failure(), "f: argument 0 'x': stride of dimension 0 is -3, expected 0 or more");
  x.setStrides({int64_t(1) << 62, 1});
  EXPECT_EQ(failure(), "f: argument 0 'x': the strides reach past 2^63 - 1 bytes");
  x.setStrides({0, 1}); // an input may repeat a row
  ASSERT_EQ(bind(), HEDDLE_OK) << ctx.message;
  mask.setStrides({2});
  EXPECT_EQ(failure(), "f: argument 2 'mask': stride of dimension 0 is 2, expected 1 (row-major "
                       "without gaps)");
}

TEST_F(BindTest, RefusesMisalignedData) {
  x.byte_offset = 2;
  EXPECT_EQ(failure(), "f: argument 0 'x': data address is 2 past a multiple of 4, expected one "
                       "aligned to its element size");
}

TEST_F(BindTest, RefusesWrittenTensorsThatOverlapThemselves) {
  cache.setStrides({0, 2, 1});
  EXPECT_EQ(failure(), "f: argument 1 'k_cache.0': is written, but its strides [0, 2, 1] put two "
                       "positions at one address");
  cache.setStrides({2, 4, 1}); // batch inside sequence
  EXPECT_EQ(bind(), HEDDLE_OK) << ctx.message;
}

TEST_F(BindTest, RefusesWrittenTensorsThatOverlapOthers) {
  y.data = static_cast<float *>(cache.data) + 3;
  EXPECT_EQ(failure(), "f: argument 3 'y': is written, but its memory overlaps that of argument 1 "
                       "'k_cache.0'");
  y.data = y.memory.data();
  cache.data = static_cast<float *>(x.data) + 5;
  EXPECT_EQ(failure(), "f: argument 1 'k_cache.0': is written, but its memory overlaps that of "
                       "argument 0 'x'");
  cache.data = static_cast<float *>(x.data) + 6; // right behind
  EXPECT_EQ(bind(), HEDDLE_OK) << ctx.message;
}

TEST_F(BindTest, AcceptsInterleavedBuffers) {
  // Rows of x between the rows of the cache.
  cache.setStrides({11, 2, 1});
  x.data = static_cast<float *>(cache.data) + 8;
  x.setStrides({11, 1});
  EXPECT_EQ(bind(), HEDDLE_OK) << ctx.message;
  x.data = static_cast<float *>(cache.data) + 7;
  EXPECT_EQ(bind(), HEDDLE_INVALID_ARGUMENT);
}

TEST_F(BindTest, RefusesARankPastTheLimit) {
  int64_t deep[4 + 6 + HEDDLE_RT_MAX_RANK + 1] = {
      0, 1, 0, 6, 0, f32, 32, 0, HEDDLE_RT_MAX_RANK + 1};
  EXPECT_EQ(heddle_rt_bind(&ctx, deep, strings, args.data(), 1, descriptors, symbols, 0),
            HEDDLE_INTERNAL);
  EXPECT_STREQ(ctx.message, "f: argument 0 has rank 17 in the module's table, expected at most 16");
}

int32_t entryForC(heddle_context *ctx, DLTensor **args, int32_t count) {
  int64_t descriptors[64], symbols[2];
  return heddle_rt_bind(ctx, table, strings, args, count, descriptors, symbols, 0);
}

TEST_F(BindTest, IsCalledFromC) {
  EXPECT_EQ(heddle_test_call_from_c(entryForC, args.data(), 4), HEDDLE_OK);
}

} // namespace
