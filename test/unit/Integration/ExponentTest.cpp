//===- ExponentTest.cpp - exp2 over its whole range -----------------------===//

#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t columns = 64;

/// An entry that computes exp2 of rows in vectors.
std::string exponentText(const std::string &name, const std::string &flags) {
  std::string text = R"mlir(
func.func @NAME(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x64xf32>
  %y = tile.dispatch @NAME_kernel grid(%rows, %c1, %c1) ins(%x : tensor<?x64xf32>) outs(%empty : tensor<?x64xf32>)
  return %y : tensor<?x64xf32>
}
tile.kernel private @NAME_kernel(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %row = tile.program_id x
  %from = tile.view %x[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] : !tile.view<?x?xf32> -> tensor<1x64xf32>
  %e = math.exp2 %t FLAGS : tensor<1x64xf32>
  tile.store %e, %to[%row, %c0] : tensor<1x64xf32>, !tile.view<?x?xf32>
  tile.return
}
)mlir";
  auto replace = [&](const std::string &what, const std::string &by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), by);
  };
  replace("NAME", name);
  replace("FLAGS", flags);
  return text;
}

/// Every input of a fine grid from below the smallest result to above the largest, and special ones.
std::vector<double> inputs() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<double> values{-infinity, infinity, std::nan(""), 0.0,   -0.0, 1e-45, -1e-40, 128,
                             127.99999, 3.4e38,   -3.4e38,      -1e30, 1e30, -149,  -149.5, -150,
                             -126,      -126.5,   0.5,          -0.5,  1.5,  -1.5,  160,    -160};
  for (double x = -152; x < 129; x += 0x1.1p-7)
    values.push_back(float(x));
  while (values.size() % columns != 0)
    values.push_back(0);
  return values;
}

class Exponent : public testing::TestWithParam<Way> {};

} // namespace

TEST_P(Exponent, IsAccurateOverTheWholeRange) {
  Program program;
  program.add(exponentText("exact", ""));
  program.add(exponentText("rough", "fastmath<afn>"));
  ASSERT_TRUE(program.compile(GetParam()));
  std::vector<double> values = inputs();
  int64_t rows = int64_t(values.size()) / columns;
  Array x = Array::filled(DType::F32, {rows, columns},
                          [&](const Array::Index &at) { return values[at[0] * columns + at[1]]; });
  for (bool isRough : {false, true}) {
    Array y(DType::F32, {rows, columns});
    program.call(isRough ? "rough" : "exact", {&x, &y});
    for (int64_t i = 0; i < y.count(); ++i) {
      double given = x[i], got = y[i], expected = std::exp2(given);
      if (std::isnan(given)) {
        EXPECT_TRUE(std::isnan(got));
        continue;
      }
      if (float(expected) == 0 || std::isinf(float(expected))) {
        // Just below the largest exponent a rough result may round to infinity, and at the other end to the smallest number.
        EXPECT_TRUE(got == float(expected) || (float(expected) == 0 && got <= 0x1p-149))
            << given << " gave " << got;
        continue;
      }
      double ulp = std::max(std::exp2(std::floor(std::log2(expected)) - 23), 0x1p-149);
      // Rounding adds to the error of the polynomial, by much where ulps are large.
      double limit = isRough ? 1.1e-4 * expected + ulp / 2 : 2 * ulp;
      EXPECT_LE(std::abs(got - expected), limit)
          << given << " gave " << got << ", expected " << expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Exponent, testing::ValuesIn(cpuWays()), nameOfWay);
