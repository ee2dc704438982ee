//===- CopiesTest.cpp - asynchronous copies of tiles ----------------------===//

#include "TileProgram.h"

#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/SharedMemory.h"

using namespace heddle::test;
using namespace heddle::layout;

namespace {

struct Copy {
  std::string type = "f16";
  int rows = 32, columns = 64;         // of the tile
  int viewRows = 70, viewColumns = 64; // of memory
  int warps = 4;
  bool table = false, bounded = true;
  int columnUnit = 1;    // %j counts so many columns
  bool firstRow = false; // the kernel knows that the tile begins at row 0

  int bytes() const { return type == "f32" ? 4 : type == "f16" ? 2 : type == "f64" ? 8 : 1; }
  std::string str() const {
    return type + " " + std::to_string(rows) + "x" + std::to_string(columns) + " of " +
           std::to_string(viewRows) + "x" + std::to_string(viewColumns) + ", " +
           std::to_string(warps) + " warps" + (table ? ", table" : "");
  }
};

std::string extents(int rows, int columns, const std::string &type) {
  return std::to_string(rows) + "x" + std::to_string(columns) + "x" + type;
}

/// y = the tile of x at (i, j), through shared memory.
std::string textOf(const Copy &p) {
  int bits = p.bytes() * 8;
  auto swizzled = bits <= 32 ? conflictFreeTile(p.rows, p.columns, bits) : std::nullopt;
  Layout shared = swizzled ? *swizzled : rowMajorTile(p.rows, p.columns);
  Layout registers = *blockedLayout(p.rows, p.columns, 1, p.warps);
  std::string x = extents(p.viewRows, p.viewColumns, p.type),
              y = extents(p.rows, p.columns, p.type), buffer = "!tile_nv.buffer<" + y + ", #s>";
  std::string rows = p.table ? "100" : std::to_string(p.viewRows);
  std::string view =
      "!tile.view<" + rows + "x" + std::to_string(p.viewColumns) + "x" + p.type + ">";
  std::string text =
      "#s = " + heddle::test::textOf(shared) + "\n#r = " + heddle::test::textOf(registers) +
      "\ntile.kernel @k(%x: memref<" + x + ">" + (p.table ? ", %t: memref<100xi32>" : "") +
      ", %y: memref<" + y +
      ">, %i: i32, %j: i32) config <block = [1], warps = " + std::to_string(p.warps) +
      "> {\n%row = " +
      (p.firstRow ? "arith.constant 0 : index" : "arith.index_cast %i : i32 to index") +
      "\n%units = arith.index_cast %j : i32 to index\n%c0 = arith.constant 0 : index\n" +
      "%unit = arith.constant " + std::to_string(p.columnUnit) +
      " : index\n%column = arith.muli %units, %unit : index\n";
  text += p.table ? "%in = tile.gather_view %x[table %t, :] : memref<" + x +
                        ">, memref<100xi32> -> " + view
                  : "%in = tile.view %x[:, :] : memref<" + x + "> -> " + view;
  text += "\n%out = tile.view %y[:, :] : memref<" + y + "> -> !tile.view<" + y +
          ">\n%b = tile_nv.alloc offset 1024 : " + buffer +
          "\ntile_nv.copy_async %in[%row, %column] to %b" + (p.bounded ? " bounded" : "") + " : " +
          view + ", " + buffer +
          "\ntile_nv.commit_group\ntile_nv.wait_group 0\ntile_nv.barrier\n%r = tile_nv.load %b : " +
          buffer + " -> tensor<" + y + ", #r>\ntile.store %r, %out[%c0, %c0] : tensor<" + y +
          ", #r>, !tile.view<" + y + ">\ntile.return\n}";
  return text;
}

template <typename T> void check(const Copy &p, std::vector<std::pair<int, int>> places) {
  std::unique_ptr<SimtProgram> program = compileTiles(textOf(p));
  ASSERT_TRUE(program) << p.str();
  std::vector<T> x(p.viewRows * p.viewColumns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = T(i % 119 + 1);
  std::vector<int32_t> table(100);
  for (int i = 0; i < 100; ++i)
    table[i] = i % 5 == 3 ? -1 : i * 37 % p.viewRows;
  for (auto [row, units] : places) {
    std::vector<T> y(p.rows * p.columns, T(7)), expected(y.size());
    for (int r = 0; r < p.rows; ++r)
      for (int c = 0; c < p.columns; ++c) {
        int i = row + r, j = units * p.columnUnit + c;
        bool isInside = i >= 0 && i < (p.table ? 100 : p.viewRows) && j >= 0 && j < p.viewColumns;
        if (p.table && isInside) {
          i = table[i];
          isInside = i >= 0;
        }
        expected[r * p.columns + c] = isInside ? x[i * p.viewColumns + j] : T(0);
      }
    std::vector<SimtBuffer> buffers{{"x", x}, {"y", y, true}};
    if (p.table)
      buffers.insert(buffers.begin() + 1, {"t", table});
    // Arguments that the kernel does not use are left out.
    std::vector<int32_t> scalars = {row, units};
    if (p.firstRow)
      scalars.erase(scalars.begin());
    SimtResult result = program->run({1, uint32_t(32 * p.warps), 131072}, buffers, scalars);
    result.expectClean();
    ASSERT_TRUE(y == expected) << p.str() << " at " << row << ", " << units * p.columnUnit;
  }
}

void check(const Copy &p, std::vector<std::pair<int, int>> places) {
  if (p.type == "f64")
    check<double>(p, places);
  else if (p.type == "f32")
    check<float>(p, places);
  else if (p.type == "f16")
    check<uint16_t>(p, places);
  else
    check<uint8_t>(p, places);
}

// Rows of 128, 120, 124 and 122 bytes: chunks of 16, 8 and 4 bytes, and single elements.
TEST(Copies, RowsOutsideAndColumnsCut) {
  for (int viewColumns : {64, 60, 62, 61})
    for (int warps : {1, 4}) {
      Copy p;
      p.viewColumns = viewColumns;
      p.warps = warps;
      check(p, {{0, 0}, {50, 0}, {69, 0}, {-3, 0}, {-40, 0}, {200, 0}, {5, 3}, {5, -3}, {50, 70}});
    }
}

TEST(Copies, ColumnsInUnitsOfChunks) {
  for (int unit : {4, 8, 16}) {
    Copy p;
    p.viewColumns = 88;
    p.columnUnit = unit;
    check(p, {{0, 0}, {40, 1}, {60, 2}, {-1, 88 / unit - 1}, {3, -1}, {3, -4}});
  }
}

TEST(Copies, OtherTypesAndShapes) {
  for (const char *type : {"f64", "f32", "f16", "i8"})
    for (auto [rows, columns] : {std::pair(8, 16), std::pair(64, 32), std::pair(16, 80),
                                 std::pair(24, 112), std::pair(48, 256)}) {
      Copy p;
      p.type = type;
      p.rows = rows;
      p.columns = p.viewColumns = columns;
      check(p, {{0, 0}, {65, 0}});
      p.viewColumns = columns - 3;
      check(p, {{2, 0}, {65, 1}});
    }
}

TEST(Copies, WithoutBounds) {
  for (const char *type : {"f32", "f16", "i8"})
    for (int warps : {1, 2, 8}) {
      Copy p;
      p.type = type;
      p.bounded = false;
      p.warps = warps;
      check(p, {{0, 0}, {38, 0}});
    }
}

TEST(Copies, RowsOfATable) {
  for (int columns : {64, 60}) {
    Copy p;
    p.viewColumns = columns;
    p.table = true;
    check(p, {{0, 0}, {50, 0}, {90, 0}, {-5, 0}});
    // Entries are negative in rows that are known to be inside of the view.
    p.firstRow = true;
    check(p, {{0, 0}});
  }
}

/// Blocks of 32 rows of x, up or down, each copied to where it came from: one pointer walks through them.
TEST(Copies, Loops) {
  for (const char *first : {"%at", "%down"}) {
    std::string text = R"mlir(
#s = #tile.layout<32x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0)]>
#r = #tile.layout<32x64, register = [(0, 1), (0, 2), (0, 4), (16, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)], warp = [(4, 0), (8, 0)]>
tile.kernel @k(%x: memref<160x64xf16>, %y: memref<160x64xf16>) config <block = [1], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %c160 = arith.constant 160 : index
  %in = tile.view %x[:, :] : memref<160x64xf16> -> !tile.view<160x64xf16>
  %out = tile.view %y[:, :] : memref<160x64xf16> -> !tile.view<160x64xf16>
  %b = tile_nv.alloc offset 0 : !tile_nv.buffer<32x64xf16, #s>
  scf.for %at = %c0 to %c160 step %c32 {
    %down = arith.subi %c128, %at : index
    tile_nv.barrier
    tile_nv.copy_async %in[FIRST, %c0] to %b : !tile.view<160x64xf16>, !tile_nv.buffer<32x64xf16, #s>
    tile_nv.commit_group
    tile_nv.wait_group 0
    tile_nv.barrier
    %t = tile_nv.load %b : !tile_nv.buffer<32x64xf16, #s> -> tensor<32x64xf16, #r>
    tile.store %t, %out[FIRST, %c0] : tensor<32x64xf16, #r>, !tile.view<160x64xf16>
  }
  tile.return
})mlir";
    for (size_t at; (at = text.find("FIRST")) != std::string::npos;)
      text.replace(at, 5, first);
    std::unique_ptr<SimtProgram> program = compileTiles(text);
    ASSERT_TRUE(program);
    std::vector<uint16_t> x(160 * 64), y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = uint16_t(i);
    SimtResult result = program->run({1, 128, 4096}, {{"x", x}, {"y", y, true}});
    result.expectClean();
    EXPECT_TRUE(y == x) << first;
    EXPECT_EQ(result.total.shared_conflicts, 0u);
    EXPECT_EQ(result.total.global_load_sectors * 32, result.total.global_load_bytes);
  }
}

} // namespace
