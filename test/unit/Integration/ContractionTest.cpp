//===- ContractionTest.cpp - projections in every form and variant --------===//

#include "ProductText.h"
#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Columns, k, and whether the weights are [k][columns] instead of [columns][k].
struct Shape {
  int64_t columns, depth;
  bool transposed = false;
  std::string name() const {
    return "f" + std::to_string(columns) + "x" + std::to_string(depth) + (transposed ? "t" : "");
  }
};

// Less than a tile, odd k, tails of every kind, several blocks of k.
const Shape shapes[] = {{1, 1},   {5, 7},     {33, 31},     {70, 129},
                        {96, 64}, {40, 1030}, {5, 7, true}, {70, 129, true}};

void expectRounded(const Array &actual, const Array &sums) {
  std::vector<double> values = actual.values(), rounded = sums.copy(actual.type()).values();
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(values[i] == rounded[i] || (std::isnan(values[i]) && std::isnan(rounded[i])))
        << i << " " << values[i] << " instead of " << rounded[i];
}

class Contractions : public testing::TestWithParam<DType> {};

} // namespace

TEST_P(Contractions, AnyShapeAndThreads) {
  for (const std::string &variant : GetParam() == DType::BF16 ? testedVariants() : hostVariants()) {
    Program program;
    bool rounds = GetParam() != DType::F32;
    for (const Shape &shape : shapes)
      for (bool rounded : {false, true})
        if (!rounded || rounds)
          program.add(productText(shape.name() + (rounded ? "r" : ""), GetParam(), shape.columns,
                                  shape.depth, shape.transposed, rounded));
    ASSERT_TRUE(program.compile(variant));
    for (const Shape &shape : shapes)
      for (int64_t rows : {0, 1, 2, 8, 9, 13, 32, 33, 64, 65, 100}) {
        SCOPED_TRACE(variant + " " + shape.name() + " rows " + std::to_string(rows));
        Random random(rows + 1);
        // Rows whose stride is not their length.
        Array x = Array::uniform(GetParam(), {rows, shape.depth + 3}, random, -1, 1)
                      .slice(1, 0, shape.depth);
        std::vector<int64_t> extents{shape.columns, shape.depth};
        if (shape.transposed)
          std::swap(extents[0], extents[1]);
        Array w = Array::uniform(GetParam(), extents, random, -1, 1);
        // A weight that is none reaches its own column alone, an infinite input its own row.
        int64_t column = shape.columns / 2, k = shape.depth - 1;
        w.set(shape.transposed ? std::vector<int64_t>{0, column} : std::vector<int64_t>{column, 0},
              NAN);
        if (rows)
          x.set({rows - 1, k}, INFINITY);
        Array y(DType::F32, {rows, shape.columns});
        program.call(shape.name(), {&x, &w, &y}, 1);
        for (int32_t threads : {2, 4}) {
          Array again(DType::F32, {rows, shape.columns});
          program.call(shape.name(), {&x, &w, &again}, threads);
          EXPECT_TRUE(y.sameBits(again)) << threads;
        }
        if (rounds) {
          Array actual(GetParam(), {rows, shape.columns});
          program.call(shape.name() + "r", {&x, &w, &actual}, 2);
          expectRounded(actual, y);
        }
        std::vector<double> left = x.values(), right = w.values();
        int64_t ofColumn = shape.transposed ? 1 : shape.depth,
                ofStep = shape.transposed ? shape.columns : 1;
        for (int64_t m = 0; m < rows; ++m)
          for (int64_t n = 0; n < shape.columns; ++n) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < shape.depth; ++i) {
              double product = left[m * shape.depth + i] * right[n * ofColumn + i * ofStep];
              sum += product;
              size += std::fabs(product);
            }
            double actual = y.get({m, n});
            if (std::isfinite(sum))
              ASSERT_NEAR(actual, sum, 2e-6 * size) << m << " " << n;
            else if (std::isnan(sum))
              ASSERT_TRUE(std::isnan(actual)) << m << " " << n << " " << actual;
            else
              ASSERT_EQ(actual, sum) << m << " " << n;
          }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Contractions, testing::Values(DType::F32, DType::F16, DType::BF16),
                         [](const auto &info) { return std::string(dtypeName(info.param)); });
