//===- SupportTest.cpp - comparison, random data, argument sets -----------===//

#include "ArgumentSet.h"
#include "RandomData.h"
#include "Verify.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;

namespace {

Tensor tensorOf(const std::vector<float> &values) {
  Tensor tensor = std::move(*Tensor::zeros(DType::F32, {int64_t(values.size())}));
  for (size_t i = 0; i < values.size(); ++i)
    storeFromDouble(DType::F32, tensor.data(), i, values[i]);
  return tensor;
}

Verdict judged(const std::vector<float> &actual, const std::vector<float> &expected, double rtol,
               std::optional<double> atol = std::nullopt) {
  Tensor a = tensorOf(actual), b = tensorOf(expected);
  return judge("y", compare(a.view(), b.view()), rtol, atol);
}

TEST(VerifyTest, MeasuresTheWholeTensor) {
  Verdict verdict = judged({3, 4.5}, {3, 4}, 0.11);
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.text,
            "verify y: ok: relative error 0.1 (limit 0.11), largest error 0.5 at [1]: "
            "found 4.5, expected 4");
  EXPECT_FALSE(judged({3, 4.5}, {3, 4}, 0.09).passed);
  EXPECT_FALSE(judged({3, 4.5}, {3, 4}, 1, 0.4).passed);
  EXPECT_TRUE(judged({0, 1e-9f}, {0, 0}, 1e-8).passed);
  EXPECT_TRUE(judged({}, {}, 0).passed);
}

TEST(VerifyTest, TreatsNonFiniteValuesAsEqualOnlyToThemselves) {
  EXPECT_TRUE(judged({-INFINITY, NAN, 1}, {-INFINITY, NAN, 1}, 0).passed);
  EXPECT_FALSE(judged({NAN, 1}, {0, 1}, 100).passed);
  EXPECT_FALSE(judged({0, 1}, {NAN, 1}, 100).passed);
  EXPECT_FALSE(judged({INFINITY}, {-INFINITY}, 100).passed);
  EXPECT_EQ(judged({1, NAN}, {1, 2}, 1).text,
            "verify y: FAILED: relative error inf (limit 1), largest error inf at [1]: found nan, "
            "expected 2");
}

TEST(RandomDataTest, DependsOnSeedAndNameOnly) {
  Argument x{"x", Kind::Input, "input", DType::F32, {}};
  auto fill = [](Argument argument, uint64_t seed, int64_t extent) {
    Tensor tensor = std::move(*Tensor::zeros(argument.dtype, {extent}));
    fillRandom(argument, tensor, seed, 11);
    std::vector<double> values;
    for (int64_t i = 0; i < extent; ++i)
      values.push_back(loadAsDouble(argument.dtype, tensor.data(), size_t(i)));
    return values;
  };
  std::vector<double> values = fill(x, 1, 10000);
  EXPECT_EQ(values, fill(x, 1, 10000));
  EXPECT_NE(values, fill(x, 2, 10000));
  Argument y = x;
  y.name = "y";
  EXPECT_NE(values, fill(y, 1, 10000));
  double sum = 0, squares = 0;
  for (double value : values) {
    EXPECT_GE(value, -1);
    EXPECT_LE(value, 1);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.02);
  EXPECT_NEAR(squares / 10000, 1.0 / 3, 0.02);

  Argument weight = x;
  weight.role = "weight";
  EXPECT_EQ(fill(weight, 1, 10000)[5], double(float(values[5] / 100)));
  Argument tokens{"tokens", Kind::Input, "input", DType::I64, {}};
  std::vector<double> ids = fill(tokens, 1, 100);
  for (double id : ids)
    EXPECT_TRUE(id >= 0 && id < 11);
  EXPECT_NE(ids, std::vector<double>(100, 0));
  Argument start{"start", Kind::Input, "input", DType::I32, {}};
  EXPECT_EQ(fill(start, 1, 3), std::vector<double>(3, 0));
}

TEST(ArgumentSetTest, ResolvesDimensions) {
  Entry entry{"f", {"B", "C"}, {}};
  entry.args.push_back({"x", Kind::Input, "input", DType::F32, {{-1, "B"}}});
  entry.args.push_back({"k", Kind::InOut, "cache", DType::F32, {{-1, "B"}, {-1, "C"}}});
  Tensor x = tensorOf({1, 2});
  ArgumentSet arguments(entry);
  ASSERT_TRUE(arguments.give("x", x.view(), "x.npy"));
  EXPECT_EQ(arguments.setDim("B", 3, "--dim B").error(),
            "--dim B: dimension B is 3, but it is 2 in x.npy");
  EXPECT_EQ(arguments.setDim("Z", 3, "--dim Z").error(),
            "--dim Z: entry 'f' has no dimension 'Z', known are 'B', 'C'");
  EXPECT_EQ(arguments.give("z", x.view(), "--input z").error(),
            "--input z: entry 'f' has no argument 'z', known are 'x', 'k'");
  EXPECT_EQ(arguments.give("k", x.view(), "--input k").error(),
            "--input k: rank is 1, expected 2 (found f32 [2], expected f32 [B, C])");
  EXPECT_EQ(arguments.allocate({}).error(),
            "entry 'f': dimension C of argument 'k' (f32 [B, C]) is not known; give --dim C=N");
  ASSERT_TRUE(arguments.setDim("C", 2, "--dim C"));
  ASSERT_TRUE(arguments.allocate({}));
  EXPECT_EQ(arguments.view("x").data, x.data());
  EXPECT_TRUE(std::isnan(loadAsDouble(DType::F32, arguments.view("k").data, 3)));
}

} // namespace
