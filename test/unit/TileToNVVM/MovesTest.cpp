//===- MovesTest.cpp - loads, stores and conversions of layouts -----------===//

#include "TileProgram.h"

#include <numeric>
#include <optional>

using namespace heddle::test;
using heddle::layout::Layout;

namespace {

/// Elements whose bits are all different, as far as their width allows.
template <typename T> std::vector<T> numbered(size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = T(i * 0x9e3779b97f4a7c15 >> 17 ^ i);
  return values;
}

std::string memref(TileShape shape, const std::string &type) {
  return "memref<" + std::to_string(shape.rows()) + "x" + std::to_string(shape.columns()) + "x" +
         type + ">";
}

/// The tile goes from one layout to another through the lanes of a warp.
template <typename T> void expectMoves(int seed, const std::string &type) {
  std::mt19937 random(seed);
  TileShape shape{2 + int(random() % 3), 3 + int(random() % 3)};
  Layout from = randomLayout(random, shape), to = randomLayout(random, shape);
  std::string memory = memref(shape, type), view = "!tile.view" + memory.substr(6),
              tile = memory.substr(7, memory.size() - 8);
  std::unique_ptr<SimtProgram> program = compileTiles(
      "#from = " + textOf(from) + "\n#to = " + textOf(to) + "\ntile.kernel @k(%x: " + memory +
      ", %y: " + memory + ") config <block = [1], warps = 1> {\n" +
      "%c0 = arith.constant 0 : index\n%in = tile.view %x[:, :] : " + memory + " -> " + view +
      "\n%out = tile.view %y[:, :] : " + memory + " -> " + view +
      "\n%t = tile.load %in[%c0, %c0] : " + view + " -> tensor<" + tile + ", #from>" +
      "\n%u = tile.convert_layout %t : tensor<" + tile + ", #from> -> tensor<" + tile +
      ", #to>\ntile.store %u, %out[%c0, %c0] : tensor<" + tile + ", #to>, " + view +
      "\ntile.return\n}");
  ASSERT_TRUE(program);
  std::vector<T> x = numbered<T>(shape.size()), y(shape.size());
  program->run({1, 32, 0}, {{"x", x}, {"y", y, true}}).expectClean();
  EXPECT_EQ(x, y) << type << ", " << caseText(seed, from) << " to " << to.str();
}

TEST(Moves, BetweenLayoutsOfAWarp) {
  for (int seed = 0; seed < 6; ++seed) {
    expectMoves<uint32_t>(seed, "f32");
    expectMoves<uint16_t>(seed + 100, "f16");
    expectMoves<uint8_t>(seed + 200, "i8");
    expectMoves<uint64_t>(seed + 300, "f64");
  }
}

/// Part of a view that is larger or smaller than the tile, at any place: padding outside, and nothing stored there.
TEST(Moves, EdgesOfViews) {
  for (int seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    TileShape shape{4, 5};
    Layout layout = randomLayout(random, shape, seed % 3, /*mixes=*/seed % 2 == 0);
    int rows = 5 + random() % 20, columns = 8 * (1 + random() % 6);
    std::string memory = "<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf16>";
    std::unique_ptr<SimtProgram> program = compileTiles(
        "#t = " + textOf(layout) + "\ntile.kernel @k(%x: memref" + memory + ", %y: memref" +
        memory + ", %i: i32, %j: i32) config <block = [1], warps = 4> {" + R"mlir(
  %pad = arith.constant 2.0 : f16
  %row = arith.index_cast %i : i32 to index
  %eighth = arith.index_cast %j : i32 to index
  %c8 = arith.constant 8 : index
  %column = arith.muli %eighth, %c8 : index
)mlir" + "%in = tile.view %x[:, :] : memref" +
        memory + " -> !tile.view" + memory + "\n%out = tile.view %y[:, :] : memref" + memory +
        " -> !tile.view" + memory + "\n%t = tile.load %in[%row, %column] pad(%pad) : !tile.view" +
        memory + " -> tensor<16x32xf16, #t>\n%one = arith.constant dense<1.0> : " +
        "tensor<16x32xf16, #t>\n%u = arith.addf %t, %one : tensor<16x32xf16, #t>\n" +
        "%zero = arith.constant 0 : index\n" + "tile.store %u, %out[%zero, %zero] : " +
        "tensor<16x32xf16, #t>, !tile.view" + memory + "\ntile.return\n}");
    ASSERT_TRUE(program);
    for (auto [row, eighth] : {std::pair{0, 0}, {-3, 0}, {3, 1}, {rows - 2, -1}, {100, 0}}) {
      // 0x3c00 is 1, 0x4000 is 2, 0x4200 is 3.
      std::vector<uint16_t> x(rows * columns), y(x.size(), 7), expected(x.size(), 7);
      for (uint16_t &value : x)
        value = random() % 2 ? 0x3c00 : 0x4000;
      for (int r = 0; r < std::min(16, rows); ++r)
        for (int c = 0; c < std::min(32, columns); ++c) {
          int i = row + r, j = 8 * eighth + c;
          bool inside = i >= 0 && i < rows && j >= 0 && j < columns;
          expected[r * columns + c] = inside && x[i * columns + j] == 0x3c00 ? 0x4000 : 0x4200;
        }
      program->run({1, 128, 0}, {{"x", x}, {"y", y, true}}, {row, eighth}).expectClean();
      EXPECT_EQ(y, expected) << "at " << row << ", " << 8 * eighth << " of " << rows << " x "
                             << columns << ", " << caseText(seed, layout);
    }
  }
}

/// Pages by a table of a table, and a constant with different elements; `rows` of them, or 16, which the kernel knows.
void expectPages(std::optional<int> rows) {
  std::string view = rows ? "!tile.view<?x8xf32>" : "!tile.view<16x8xf32>";
  std::unique_ptr<SimtProgram> program =
      compileTiles(R"mlir(
#t = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#c = #tile.layout<8, register = [(1)], lane = [(2), (4), (0), (0), (0)]>
tile.kernel @k(%pages: memref<3x4x8xf32>, %table: memref<4xi32>, %order: memref<4xi64>, %y: memref<16x8xf32>, %n: i32)
    config <block = [1], warps = 1> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant -1.0 : f32
  %rows = arith.index_cast %n : i32 to index
  %t = tile.gather_view %table[table %order] : memref<4xi32>, memref<4xi64> -> !tile.view<4xi32>
)mlir"
                   "%view = tile.gather_view %pages[table %t, page, :]" +
                   std::string(rows ? " rows(%rows)" : "") +
                   " : memref<3x4x8xf32>, !tile.view<4xi32> -> " + view +
                   R"mlir(
  %out = tile.view %y[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
)mlir"
                   "%x = tile.load %view[%c0, %c0] pad(%pad) : " +
                   view + R"mlir( -> tensor<16x8xf32, #t>
  %weights = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32, #c>
  %b = tile.broadcast %weights along 0 : tensor<8xf32, #c> -> tensor<16x8xf32, #t>
  %z = arith.mulf %x, %b : tensor<16x8xf32, #t>
  tile.store %z, %out[%c0, %c0] : tensor<16x8xf32, #t>, !tile.view<16x8xf32>
  tile.return
})mlir");
  ASSERT_TRUE(program);
  std::vector<float> pages(3 * 4 * 8), y(16 * 8);
  std::iota(pages.begin(), pages.end(), 1.0f);
  std::vector<int32_t> table = {2, -5, 0, 1};
  std::vector<int64_t> order = {3, 1, 0, 2};
  program
      ->run({1, 32, 0}, {{"pages", pages}, {"table", table}, {"order", order}, {"y", y, true}},
            rows ? std::vector<int32_t>{*rows} : std::vector<int32_t>{})
      .expectClean();
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int32_t page = table[order[row / 4]];
      float x =
          row >= rows.value_or(16) || page < 0 ? -1.0f : pages[(page * 4 + row % 4) * 8 + column];
      EXPECT_EQ(y[row * 8 + column], x * (column + 1)) << row << ", " << column;
    }
}

TEST(Moves, PagesOfATable) {
  expectPages(14);
  expectPages(std::nullopt);
}

/// Tiles of 64 from a position on at which they leave the range of 32 bits, up to which they are outside.
TEST(Moves, EndOfTheRange) {
  for (const char *start : {"2147483647", "2147483620", "-2147483648"}) {
    std::unique_ptr<SimtProgram> program = compileTiles(R"mlir(
#t = #tile.layout<64, register = [(32)], lane = [(1), (2), (4), (8), (16)]>
tile.kernel @k(%x: memref<8xf32>, %y: memref<64xf32>) config <block = [1], warps = 1> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 2.0 : f32
  %start = arith.constant )mlir" + std::string(start) + R"mlir( : index
  %in = tile.view %x[:] : memref<8xf32> -> !tile.view<8xf32>
  %out = tile.view %y[:] : memref<64xf32> -> !tile.view<64xf32>
  %t = tile.load %in[%start] pad(%pad) : !tile.view<8xf32> -> tensor<64xf32, #t>
  tile.store %t, %out[%c0] : tensor<64xf32, #t>, !tile.view<64xf32>
  tile.return
})mlir");
    ASSERT_TRUE(program);
    std::vector<float> x(8), y(64), expected(64, 2);
    program->run({1, 32, 0}, {{"x", x}, {"y", y, true}}).expectClean();
    EXPECT_EQ(y, expected) << start;
  }
}

/// Numbers of 64 bits that leave the range of an index.
TEST(Moves, WideNumbers) {
  std::unique_ptr<SimtProgram> program = compileTiles(R"mlir(
#t = #tile.layout<64, register = [(1)], lane = [(2), (4), (8), (16), (32)]>
tile.kernel @k(%y: memref<64xi64>, %start: i32) config <block = [1], warps = 1> {
  %c0 = arith.constant 0 : index
  %first = arith.index_cast %start : i32 to index
  %out = tile.view %y[:] : memref<64xi64> -> !tile.view<64xi64>
  %n = tile.iota along 0 start(%first) : tensor<64xi64, #t>
  tile.store %n, %out[%c0] : tensor<64xi64, #t>, !tile.view<64xi64>
  tile.return
})mlir");
  ASSERT_TRUE(program);
  for (int32_t start : {0, -3, 2147483640, -2147483647 - 1}) {
    std::vector<int64_t> y(64);
    program->run({1, 32, 0}, {{"y", y, true}}, {start}).expectClean();
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(y[i], int64_t(start) + i);
  }
}

} // namespace
