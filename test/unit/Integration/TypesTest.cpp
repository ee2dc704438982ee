//===- TypesTest.cpp - conversions, f64, and entries that only pass on ----===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static const char *appendText = R"mlir(
func.func @convert(
    %kc: tensor<?x?x2x16xbf16> {heddle.name = "kc", bufferization.writable = true},
    %vc: tensor<?x?x2x8xf16> {heddle.name = "vc", bufferization.writable = true},
    %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x8xf32>, %start: tensor<?xi64>)
    -> (tensor<?x?x2x16xbf16> {heddle.updates = "kc"}, tensor<?x?x2x8xf16> {heddle.updates = "vc"}) {
  %0, %1 = attn.kv_append %kc, %vc, %k, %v, %start
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x8xf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>,
         tensor<?xi64>) -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x8xf16>)
  return %0, %1 : tensor<?x?x2x16xbf16>, tensor<?x?x2x8xf16>
}
func.func @copy(%kc: tensor<?x?x2x16xf32>, %vc: tensor<?x?x2x8xf32>, %k: tensor<?x?x2x16xf32>,
                %v: tensor<?x?x2x8xf32>, %start: tensor<?xi64>)
    -> (tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>) {
  %0, %1 = attn.kv_append %kc, %vc, %k, %v, %start
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>,
         tensor<?xi64>) -> (tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>)
  return %0, %1 : tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>
}
func.func @same(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  return %x, %x : tensor<?x?xf32>, tensor<?x?xf32>
}
func.func @twice(%x: tensor<?x7xf16>, %w: tensor<7xbf16>) -> (tensor<?x7xf16>, tensor<?x7xf16>) {
  %0 = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x7xf16>, tensor<7xbf16>
  return %0, %0 : tensor<?x7xf16>, tensor<?x7xf16>
}
func.func @rank8(%x: tensor<?x1x?x2x?x1x2x7xf32>, %w: tensor<7xf32>)
    -> tensor<?x1x?x2x?x1x2x7xf32> {
  %0 = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x1x?x2x?x1x2x7xf32>, tensor<7xf32>
  return %0 : tensor<?x1x?x2x?x1x2x7xf32>
}
)mlir";

namespace {
class Types : public testing::Test {
protected:
  static void SetUpTestSuite() {
    wide.type = DType::F64;
    wide.heads = 4;
    wide.keyHeads = 2;
    wide.rule.causal = true;
    program = new Program;
    program->add(appendText);
    program->add(wide.entry("wide"));
    ASSERT_TRUE(program->compile());
  }
  static void TearDownTestSuite() { delete program; }

  static inline AttentionSpec wide;
  static inline Program *program;
};
} // namespace

TEST_F(Types, AppendRoundsToNearestEven) {
  Random random(20);
  Array key = Array::uniform(DType::F32, {2, 3, 2, 16}, random, -1e3, 1e3),
        value = Array::uniform(DType::F32, {2, 3, 2, 8}, random, -1e3, 1e3);
  // Ties, overflow to infinity, values that are none.
  const double special[] = {1 + 0x1p-8, 1 + 3 * 0x1p-8, 65520,     -65519.99,
                            3.4e38,     INFINITY,       -INFINITY, NAN,
                            -0.0,       0x1p-24,        0x1p-25,   1 + 0x1p-11};
  for (int64_t i = 0; i < 12; ++i) {
    key.set({0, 0, i / 8, i % 8}, special[i]);
    value.set({0, 0, i / 8, i % 8}, special[i]);
  }
  Array keys(DType::BF16, {2, 6, 2, 16}), values(DType::F16, {2, 6, 2, 8});
  Array start = Array::filled(DType::I64, {2}, [](const auto &i) { return i[0] ? 3 : 1; });
  program->call("convert", {&keys, &values, &key, &value, &start});
  auto check = [&](const Array &cache, const Array &rows) {
    Array expected = rows.copy(cache.type());
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t row = 0; row < 6; ++row) {
        int64_t from = row - (b ? 3 : 1);
        Array found = cache.slice(0, b, 1).slice(1, row, 1);
        if (from < 0 || from >= 3) {
          EXPECT_TRUE(found.untouched());
          continue;
        }
        Array wanted = expected.slice(0, b, 1).slice(1, from, 1);
        EXPECT_EQ(largestError(found, wanted.values()), 0) << b << " " << row;
      }
  };
  check(keys, key);
  check(values, value);
}

TEST_F(Types, AppendToACopyLeavesTheCacheAlone) {
  Random random(21);
  Array keys = Array::uniform(DType::F32, {2, 6, 2, 16}, random),
        values = Array::uniform(DType::F32, {2, 6, 2, 8}, random),
        key = Array::uniform(DType::F32, {2, 1, 2, 16}, random),
        value = Array::uniform(DType::F32, {2, 1, 2, 8}, random);
  Array start = Array::constant(DType::I64, {2}, 5);
  Array keysBefore = keys.copy(), valuesBefore = values.copy();
  Array newKeys(DType::F32, keys.shape()), newValues(DType::F32, values.shape());
  program->call("copy", {&keys, &values, &key, &value, &start, &newKeys, &newValues});
  EXPECT_TRUE(keys.sameBits(keysBefore) && values.sameBits(valuesBefore));
  EXPECT_TRUE(newKeys.slice(1, 0, 5).sameBits(keys.slice(1, 0, 5)));
  EXPECT_TRUE(newKeys.slice(1, 5, 1).sameBits(key));
  EXPECT_TRUE(newValues.slice(1, 5, 1).sameBits(value));
}

TEST_F(Types, DoublesAreAccepted) {
  Random random(22);
  AttentionInputs inputs = AttentionInputs::random(wide, {2, 5, 9}, random);
  checkAttention(*program, "wide", wide, inputs);
}

TEST_F(Types, ArgumentsAndResultsThatRepeat) {
  Random random(23);
  Array x = Array::uniform(DType::F32, {3, 5}, random), first(DType::F32, {3, 5}),
        second(DType::F32, {3, 5});
  program->call("same", {&x, &first, &second});
  EXPECT_TRUE(first.sameBits(x) && second.sameBits(x));

  Array rows = Array::uniform(DType::F16, {4, 7}, random),
        weight = Array::uniform(DType::BF16, {7}, random), one(DType::F16, {4, 7}),
        other(DType::F16, {4, 7});
  program->call("twice", {&rows, &weight, &one, &other});
  EXPECT_TRUE(one.sameBits(other) && !one.untouched());
}

TEST_F(Types, RankEight) {
  Random random(24);
  Array x = Array::uniform(DType::F32, {2, 1, 3, 2, 2, 1, 2, 7}, random),
        weight = Array::constant(DType::F32, {7}, 1), y(DType::F32, x.shape());
  program->call("rank8", {&x, &weight, &y});
  for (int64_t row = 0; row < x.count(); row += 7) {
    double squares = 0;
    for (int64_t i = 0; i < 7; ++i)
      squares += x[row + i] * x[row + i] / 7;
    for (int64_t i = 0; i < 7; ++i)
      EXPECT_NEAR(y[row + i], x[row + i] / std::sqrt(squares + 1e-5), 1e-6);
  }
}
