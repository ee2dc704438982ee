//===- ReductionsTest.cpp - reductions and scans in random layouts --------===//

#include "TileProgram.h"

#include "heddle/Dialect/Tile/Tile.h"

#include <numeric>

using namespace heddle;
using namespace heddle::test;
using layout::Dim;
using layout::Layout;

namespace {

const char *const kinds[] = {"add", "max", "min", "mul"};

int32_t combine(int kind, int32_t x, int32_t y) {
  switch (kind) {
  case 0:
    return int32_t(uint32_t(x) + uint32_t(y));
  case 1:
    return std::max(x, y);
  case 2:
    return std::min(x, y);
  default:
    return int32_t(uint32_t(x) * uint32_t(y));
  }
}

int32_t neutral(int kind) {
  constexpr int32_t values[] = {0, std::numeric_limits<int32_t>::min(),
                                std::numeric_limits<int32_t>::max(), 1};
  return values[kind];
}

std::vector<int32_t> randomNumbers(std::mt19937 &random, size_t count) {
  std::vector<int32_t> values(count);
  for (int32_t &value : values)
    value = int32_t(random());
  return values;
}

/// The layout of the tile without a dimension: registers that differ in it alone hold one element.
Layout withoutDim(const Layout &layout, int along) {
  Layout kept = layout.projectOutputs({along ? Dim::Coord0 : Dim::Coord1});
  if (!along)
    kept = kept.renameOutputs({{Dim::Coord1, Dim::Coord0}});
  return kept.withoutBroadcast(Dim::Register);
}

TEST(Reductions, RandomLayouts) {
  for (int seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    TileShape shape{3 + seed % 3, 4};
    int along = seed % 2, kind = seed / 2 % 4;
    // Two warps along the other dimension would need more than a random layout.
    Layout layout = randomLayout(random, shape, 0, /*mixes=*/false);
    std::string tile =
        std::to_string(shape.rows()) + "x" + std::to_string(shape.columns()) + "xi32";
    std::string row = std::to_string(along ? shape.rows() : shape.columns()) + "xi32";
    std::unique_ptr<SimtProgram> program =
        compileTiles("#t = " + textOf(layout) + "\n#r = " + textOf(withoutDim(layout, along)) +
                     "\ntile.kernel @k(%x: memref<" + tile + ">, %y: memref<" + row +
                     ">) config <block = [1], warps = 1> {\n%c0 = arith.constant 0 : index\n" +
                     "%in = tile.view %x[:, :] : memref<" + tile + "> -> !tile.view<" + tile +
                     ">\n%out = tile.view %y[:] : memref<" + row + "> -> !tile.view<" + row +
                     ">\n%t = tile.load %in[%c0, %c0] : !tile.view<" + tile + "> -> tensor<" +
                     tile + ", #t>\n%r = tile.reduce " + kinds[kind] + " %t along " +
                     std::to_string(along) + " : tensor<" + tile + ", #t> -> tensor<" + row +
                     ", #r>\ntile.store %r, %out[%c0] : tensor<" + row + ", #r>, !tile.view<" +
                     row + ">\ntile.return\n}");
    ASSERT_TRUE(program);
    int64_t rows = shape.rows(), columns = shape.columns();
    std::vector<int32_t> x = randomNumbers(random, shape.size()), y(along ? rows : columns),
                         expected(y.size(), neutral(kind));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        int32_t &sum = expected[along ? i : j];
        sum = combine(kind, sum, x[i * columns + j]);
      }
    program->run({1, 32, 0}, {{"x", x}, {"y", y, true}}).expectClean();
    EXPECT_EQ(y, expected) << kinds[kind] << " along " << along << ", " << caseText(seed, layout);
  }
}

TEST(Reductions, Scans) {
  for (int seed = 0; seed < 16; ++seed) {
    std::mt19937 random(seed);
    // 1 or 3 blocks of columns, one after another in registers.
    int64_t blocks = seed % 3 == 0 ? 3 : 1;
    TileShape shape{2 + seed % 3, 4};
    int along = seed % 2, kind = seed / 2 % 4;
    bool exclusive = seed / 8 % 2;
    Layout layout = randomLayout(random, shape, 0, /*mixes=*/false) *
                    Layout::identity(Dim::Register, Dim::Coord1, blocks);
    int64_t rows = shape.rows(), columns = shape.columns() * blocks;
    std::string tile = std::to_string(rows) + "x" + std::to_string(columns) + "xi32";
    std::unique_ptr<SimtProgram> program = compileTiles(
        "#t = " + textOf(layout) + "\ntile.kernel @k(%x: memref<" + tile + ">, %y: memref<" + tile +
        ">) config <block = [1], warps = 1> {\n%c0 = arith.constant 0 : index\n" +
        "%in = tile.view %x[:, :] : memref<" + tile + "> -> !tile.view<" + tile +
        ">\n%out = tile.view %y[:, :] : memref<" + tile + "> -> !tile.view<" + tile +
        ">\n%t = tile.load %in[%c0, %c0] : !tile.view<" + tile + "> -> tensor<" + tile +
        ", #t>\n%r = tile.scan " + kinds[kind] + (exclusive ? " exclusive" : " inclusive") +
        " %t along " + std::to_string(along) + " : tensor<" + tile +
        ", #t>\ntile.store %r, %out[%c0, %c0] : tensor<" + tile + ", #t>, !tile.view<" + tile +
        ">\ntile.return\n}");
    ASSERT_TRUE(program);
    std::vector<int32_t> x = randomNumbers(random, rows * columns), y(x.size()), expected(x.size());
    for (int64_t line = 0; line < (along ? rows : columns); ++line) {
      int32_t sum = neutral(kind);
      for (int64_t i = 0; i < (along ? columns : rows); ++i) {
        int64_t at = along ? line * columns + i : i * columns + line;
        int32_t next = combine(kind, sum, x[at]);
        expected[at] = exclusive ? sum : next;
        sum = next;
      }
    }
    program->run({1, 32, 0}, {{"x", x}, {"y", y, true}}).expectClean();
    EXPECT_EQ(y, expected) << kinds[kind] << " along " << along << ", " << caseText(seed, layout);
  }
}

/// All predicates on tiles that count, with starts at the ends of the range.
TEST(Reductions, ComparisonsOfCounters) {
  using Compare = bool (*)(int64_t, int64_t);
  std::pair<const char *, Compare> predicates[] = {
      {"slt", [](int64_t x, int64_t y) { return x < y; }},
      {"sle", [](int64_t x, int64_t y) { return x <= y; }},
      {"sgt", [](int64_t x, int64_t y) { return x > y; }},
      {"sge", [](int64_t x, int64_t y) { return x >= y; }},
      {"eq", [](int64_t x, int64_t y) { return x == y; }},
      {"ne", [](int64_t x, int64_t y) { return x != y; }},
      {"ult", [](int64_t x, int64_t y) { return uint32_t(x) < uint32_t(y); }}};
  std::mt19937 random(1);
  for (auto [name, holds] : predicates) {
    Layout layout = randomLayout(random, {4, 5}, 1);
    std::unique_ptr<SimtProgram> program = compileTiles(
        "#t = " + textOf(layout) + R"mlir(
tile.kernel @k(%y: memref<16x32xi1>, %i: i32, %j: i32) config <block = [1], warps = 2> {
  %c0 = arith.constant 0 : index
  %out = tile.view %y[:, :] : memref<16x32xi1> -> !tile.view<16x32xi1>
  %first = arith.index_cast %i : i32 to index
  %row = tile.iota along 0 start(%first) : tensor<16x32xi32, #t>
  %n = tile.iota along 1 : tensor<16x32xi32, #t>
  %two = arith.constant dense<2> : tensor<16x32xi32, #t>
  %twice = arith.muli %n, %two : tensor<16x32xi32, #t>
  %start = tensor.splat %j : tensor<16x32xi32, #t>
  %column = arith.addi %start, %twice : tensor<16x32xi32, #t>
)mlir" + "%b = arith.cmpi " +
        name + ", %row, %column : tensor<16x32xi32, #t>\ntile.store %b, %out[%c0, %c0] : " +
        "tensor<16x32xi1, #t>, !tile.view<16x32xi1>\ntile.return\n}");
    ASSERT_TRUE(program);
    constexpr int32_t least = std::numeric_limits<int32_t>::min(),
                      most = std::numeric_limits<int32_t>::max() - 100;
    for (auto [i, j] :
         {std::pair{0, 0}, {7, -3}, {least, 5}, {most, least}, {least, most}, {-5, 9}}) {
      std::vector<uint8_t> y(16 * 32), expected(y.size());
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 32; ++column)
          expected[row * 32 + column] = holds(int64_t(i) + row, int64_t(j) + 2 * column);
      program->run({1, 64, 0}, {{"y", y, true}}, {i, j}).expectClean();
      EXPECT_EQ(y, expected) << name << " from " << i << " and " << j;
    }
  }
}

} // namespace
