//===- ElementwiseTest.cpp - functions against double precision -----------===//

#include "TileProgram.h"

#include <cmath>

using namespace heddle::test;

namespace {

constexpr int count = 1024;

/// An op on f32 tiles, what it computes, the inputs, and the largest error: relative, or absolute for |result| < `unit`.
struct Function {
  const char *op;
  double (*formula)(double);
  double low, high, limit, unit;
};

/// `op` is on %a, %one and, if there is a `w`, %b.
std::vector<float> evaluate(const std::string &op, std::vector<float> x,
                            std::vector<float> w = {}) {
  std::unique_ptr<SimtProgram> program = compileTiles(R"mlir(
#t = #tile.layout<1024, register = [(1), (2), (4)], lane = [(8), (16), (32), (64), (128)], warp = [(256), (512)]>
tile.kernel @k(%x: memref<1024xf32>, %w: memref<1024xf32>, %y: memref<1024xf32>) config <block = [1024], warps = 4> {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<1024xf32, #t>
  %in = tile.view %x[:] : memref<1024xf32> -> !tile.view<1024xf32>
  %in2 = tile.view %w[:] : memref<1024xf32> -> !tile.view<1024xf32>
  %out = tile.view %y[:] : memref<1024xf32> -> !tile.view<1024xf32>
  %a = tile.load %in[%c0] : !tile.view<1024xf32> -> tensor<1024xf32, #t>
  %b = tile.load %in2[%c0] : !tile.view<1024xf32> -> tensor<1024xf32, #t>
)mlir" + ("%r = " + op) + R"mlir( : tensor<1024xf32, #t>
  tile.store %r, %out[%c0] : tensor<1024xf32, #t>, !tile.view<1024xf32>
  tile.return
})mlir");
  std::vector<float> y(count);
  std::vector<SimtBuffer> buffers{{"x", x}, {"y", y, true}};
  if (!w.empty())
    buffers.insert(buffers.begin() + 1, {"w", w});
  if (program)
    program->run({1, 128, 0}, buffers).expectClean();
  return y;
}

TEST(Elementwise, FunctionsOfOneNumber) {
  const Function functions[] = {
      {"math.exp %a", std::exp, -80, 80, 6e-6, 0},
      {"math.exp2 %a", std::exp2, -120, 120, 4e-7, 0},
      {"math.expm1 %a", std::expm1, -3, 3, 8e-7, 0},
      {"math.log %a", std::log, 1e-6, 1e6, 4e-7, 1},
      {"math.log1p %a", std::log1p, -0.9, 3, 6e-7, 0},
      {"math.log10 %a", std::log10, 1e-6, 1e6, 4e-7, 1},
      {"math.tanh %a", std::tanh, -9, 9, 6e-7, 0},
      {"math.tanh %a", std::tanh, -1e-3, 1e-3, 3e-7, 0},
      {"math.erf %a", std::erf, -5, 5, 4e-7, 0},
      {"math.sin %a", std::sin, -2e5, 2e5, 1e-6, 1},
      {"math.cos %a", std::cos, -2e5, 2e5, 1e-6, 1},
      {"math.sin %a", std::sin, -2e9, 2e9, 2e-6, 1},
      {"math.cos %a", std::cos, -2e9, 2e9, 2e-6, 1},
      {"math.rsqrt %a", [](double x) { return 1 / std::sqrt(x); }, 1e-6, 1e6, 4e-7, 0},
      {"math.sqrt %a", std::sqrt, 0, 1e6, 1e-7, 0},
      {"arith.divf %one, %a", [](double x) { return 1 / x; }, 0.01, 100, 4e-7, 0},
      {"math.ceil %a", std::ceil, -1000, 1000, 0, 0},
      {"math.trunc %a", std::trunc, -3, 3, 0, 0},
      {"math.round %a", std::round, -3, 3, 0, 0},
      {"math.roundeven %a", [](double x) { return std::nearbyint(x); }, -3, 3, 0, 0},
  };
  for (const Function &function : functions) {
    std::vector<float> x(count);
    for (int i = 0; i < count; ++i)
      x[i] = float(function.low + (function.high - function.low) * i / (count - 1));
    std::vector<float> y = evaluate(function.op, x);
    for (int i = 0; i < count; ++i) {
      double expected = function.formula(x[i]);
      double scale = std::max(std::abs(expected), function.unit);
      ASSERT_LE(std::abs(y[i] - expected), function.limit * scale) << function.op << " of " << x[i];
    }
  }
}

TEST(Elementwise, Quotients) {
  std::vector<float> x(count), w(count);
  std::mt19937 random(3);
  for (int i = 0; i < count; ++i) {
    x[i] = float(std::ldexp(int32_t(random()) / 2147483648.0, int(random() % 120) - 60));
    w[i] = float(std::ldexp(int32_t(random()) / 2147483648.0, int(random() % 60) - 30));
  }
  float infinity = INFINITY;
  float special[][2] = {
      {1, 0},         {-1, 0}, {0, 0},          {infinity, 2}, {1, infinity},
      {3e38f, 3e38f}, {5, 3},  {1e-30f, 1e30f}, {NAN, 1},      {infinity, infinity}};
  for (int i = 0; i < 10; ++i)
    x[i] = special[i][0], w[i] = special[i][1];
  std::vector<float> y = evaluate("arith.divf %a, %b", x, w);
  for (int i = 0; i < count; ++i) {
    float expected = x[i] / w[i];
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(y[i])) << x[i] << " / " << w[i];
    else if (std::isinf(expected))
      EXPECT_EQ(y[i], expected) << x[i] << " / " << w[i];
    else if (std::abs(expected) < 1.2e-38f)
      EXPECT_LT(std::abs(y[i]), 1.2e-38f) << x[i] << " / " << w[i];
    else
      EXPECT_NEAR(y[i], expected, 2.5e-7 * std::abs(expected)) << x[i] << " / " << w[i];
  }
}

TEST(Elementwise, Powers) {
  std::vector<float> x(count), w(count);
  for (int i = 0; i < count; ++i) {
    x[i] = float(i % 32 - 8) / 4;
    w[i] = float(i / 32 - 16) / 2;
  }
  std::vector<float> y = evaluate("math.powf %a, %b", x, w);
  for (int i = 0; i < count; ++i) {
    double expected = std::pow(double(x[i]), double(w[i]));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(y[i])) << x[i] << " ^ " << w[i];
    else if (std::isinf(expected))
      EXPECT_TRUE(std::isinf(y[i])) << x[i] << " ^ " << w[i];
    else
      EXPECT_NEAR(y[i], expected, 6e-6 * std::abs(expected)) << x[i] << " ^ " << w[i];
  }
}

} // namespace
