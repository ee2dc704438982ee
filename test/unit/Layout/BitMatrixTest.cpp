//===- BitMatrixTest.cpp - matrices over GF(2) ----------------------------===//

#include "heddle/Layout/BitMatrix.h"
#include <gtest/gtest.h>
#include <random>

using namespace heddle::layout;

namespace {

BitMatrix randomMatrix(std::mt19937_64 &engine, int rows, int columns) {
  BitMatrix matrix(rows);
  for (int column = 0; column < columns; ++column)
    matrix.append(engine() & ((uint64_t(1) << rows) - 1));
  return matrix;
}

TEST(BitMatrixTest, AppliesAndMultiplies) {
  BitMatrix matrix(3);
  for (uint64_t column : {0b011, 0b110, 0b101})
    matrix.append(column);
  EXPECT_EQ(matrix.apply(0b000), 0u);
  EXPECT_EQ(matrix.apply(0b011), 0b101u);
  EXPECT_EQ(matrix.apply(0b111), 0u);
  EXPECT_EQ(matrix.rank(), 2);
  BitMatrix square = matrix * matrix;
  for (uint64_t vector = 0; vector < 8; ++vector)
    EXPECT_EQ(square.apply(vector), matrix.apply(matrix.apply(vector)));
}

TEST(BitMatrixTest, PseudoInverseLaws) {
  std::mt19937_64 engine(1);
  for (int trial = 0; trial < 500; ++trial) {
    int rows = int(engine() % 9), columns = int(engine() % 9);
    BitMatrix matrix = randomMatrix(engine, rows, columns);
    BitMatrix inverse = matrix.pseudoInverse();
    ASSERT_EQ(inverse.rows(), columns);
    ASSERT_EQ(inverse.columns(), rows);
    EXPECT_TRUE(matrix * inverse * matrix == matrix) << "trial " << trial;
    BitMatrix back = inverse * matrix, forth = matrix * inverse;
    if (matrix.rank() == columns)
      for (int i = 0; i < columns; ++i)
        EXPECT_EQ(back.column(i), uint64_t(1) << i) << "trial " << trial;
    if (matrix.rank() == rows)
      for (int i = 0; i < rows; ++i)
        EXPECT_EQ(forth.column(i), uint64_t(1) << i) << "trial " << trial;
  }
}

TEST(BitMatrixTest, SolvesExactlyWhatIsInTheSpan) {
  std::mt19937_64 engine(2);
  for (int trial = 0; trial < 200; ++trial) {
    int rows = 1 + int(engine() % 6), columns = 1 + int(engine() % 6);
    BitMatrix matrix = randomMatrix(engine, rows, columns);
    uint64_t allowed = engine() & ((uint64_t(1) << columns) - 1);
    for (uint64_t target = 0; target < (uint64_t(1) << rows); ++target) {
      bool reachable = false;
      for (uint64_t x = 0; x < (uint64_t(1) << columns); ++x)
        reachable = reachable || ((x & ~allowed) == 0 && matrix.apply(x) == target);
      std::optional<uint64_t> solution = matrix.solve(target, allowed);
      ASSERT_EQ(solution.has_value(), reachable) << "trial " << trial << " target " << target;
      if (solution) {
        EXPECT_EQ(*solution & ~allowed, 0u);
        EXPECT_EQ(matrix.apply(*solution), target);
      }
    }
  }
}

TEST(BitMatrixTest, PrefersTheFirstColumns) {
  BitMatrix matrix(2);
  for (uint64_t column : {0b01, 0b01, 0b10})
    matrix.append(column);
  EXPECT_EQ(matrix.solve(0b01), 0b001u);
  EXPECT_EQ(matrix.solve(0b01, 0b110), 0b010u);
  EXPECT_EQ(matrix.pseudoInverse().column(0), 0b001u);
}

} // namespace
