//===- ProductsTest.cpp - matrix products against plain loops -------------===//
//
// Operands are copied to shared memory, or loaded in the layout of the instruction's operand. Elements are small integers, so that all
// sums are exact and results must be equal, whatever the order; how f32 is split is tested with fractions.
//
//===----------------------------------------------------------------------===//

#include "TileProgram.h"

#include "heddle/Layout/MmaPlan.h"
#include "heddle/Layout/SharedMemory.h"

#include <cmath>

using namespace heddle::test;
using namespace heddle::layout;

namespace {

enum class Place { Shared, Registers };

struct Product {
  const char *type; // of the operands
  const char *precision = "";
  int64_t rows = 32, columns = 32, depth = 32;
  int64_t warpsM = 1, warpsN = 1;
  bool transposeA = false, transposeB = false;
  Place a = Place::Shared;
  OrderOfK order = OrderOfK::Instruction;
  const char *knobs = "";

  int bits() const {
    return type[0] == 'i' ? 8 : type == std::string("bf16") ? 16 : atoi(type + 1);
  }
  int64_t warps() const { return warpsM * warpsN; }
  std::string str() const {
    return std::string(type) + precision + " " + std::to_string(rows) + "x" +
           std::to_string(columns) + "x" + std::to_string(depth) + ", warps " +
           std::to_string(warpsM) + "x" + std::to_string(warpsN) + (transposeA ? ", a^T" : "") +
           (transposeB ? ", b^T" : "") + (a == Place::Registers ? ", a in registers" : "");
  }
};

std::string extents(int64_t rows, int64_t columns, const std::string &type) {
  return std::to_string(rows) + "x" + std::to_string(columns) + "x" + type;
}

Layout sharedLayout(int64_t rows, int64_t columns, int bits) {
  std::optional<Layout> swizzled;
  if (bits <= 32)
    swizzled = fragmentTile(rows, columns, bits);
  return swizzled ? *swizzled : rowMajorTile(rows, columns);
}

/// The kernel's text: o = a b + o.
std::string textOf(const Product &p) {
  MmaTiling tiling{p.warpsM, p.warpsN, p.rows / 16 / p.warpsM, p.columns / 8 / p.warpsN, 1};
  std::string result = p.type == std::string("i8") ? "i32" : p.bits() == 64 ? "f64" : "f32";
  int64_t aRows = p.transposeA ? p.depth : p.rows, aColumns = p.transposeA ? p.rows : p.depth;
  int64_t bRows = p.transposeB ? p.columns : p.depth, bColumns = p.transposeB ? p.depth : p.columns;
  std::string a = extents(aRows, aColumns, p.type), b = extents(bRows, bColumns, p.type),
              o = extents(p.rows, p.columns, result);
  std::string bufferA = "!tile_nv.buffer<" + a + ", #a>",
              bufferB = "!tile_nv.buffer<" + b + ", #b>";

  std::string text = "#acc = " + heddle::test::textOf(*mmaTile(MmaOperand::C, 16, 16, tiling)) +
                     "\n#b = " + heddle::test::textOf(sharedLayout(bRows, bColumns, p.bits())) +
                     "\n";
  if (p.a == Place::Shared) {
    text += "#a = " + heddle::test::textOf(sharedLayout(aRows, aColumns, p.bits())) + "\n";
  } else {
    MmaTiling along = tiling;
    int k = p.bits() == 16 ? 16 : 8;
    along.repeatK = p.depth / k;
    Layout fragments =
        OperandFragments(MmaOperand::A, k, p.bits(), along, p.order, /*paired=*/false).layout();
    if (p.transposeA)
      fragments = fragments.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
    text += "#a = " + heddle::test::textOf(fragments) + "\n";
  }
  std::string precision = p.precision[0] ? std::string(" precision ") + p.precision : "";
  std::string flags = p.transposeA && p.transposeB ? " {transpose_a, transpose_b}"
                      : p.transposeA               ? " {transpose_a}"
                      : p.transposeB               ? " {transpose_b}"
                                                   : "";
  text += "tile.kernel @k(%a: memref<" + a + ">, %b: memref<" + b + ">, %o: memref<" + o +
          ">) config <block = [1], warps = " + std::to_string(p.warps()) + ">" + p.knobs +
          " {\n%c0 = arith.constant 0 : index\n";
  for (auto [name, type] : {std::pair("a", a), std::pair("b", b), std::pair("o", o)})
    text += std::string("%") + name + "v = tile.view %" + name + "[:, :] : memref<" + type +
            "> -> !tile.view<" + type + ">\n";
  text += "%bs = tile_nv.alloc offset 32768 : " + bufferB + "\n" +
          "tile_nv.copy_async %bv[%c0, %c0] to %bs : !tile.view<" + b + ">, " + bufferB + "\n";
  if (p.a == Place::Shared)
    text += "%as = tile_nv.alloc offset 0 : " + bufferA +
            "\ntile_nv.copy_async %av[%c0, %c0] to %as : !tile.view<" + a + ">, " + bufferA + "\n";
  text += "tile_nv.commit_group\ntile_nv.wait_group 0\ntile_nv.barrier\n";
  if (p.a == Place::Registers)
    text += "%as = tile.load %av[%c0, %c0] : !tile.view<" + a + "> -> tensor<" + a + ", #a>\n";
  std::string tileO = "tensor<" + o + ", #acc>";
  text += "%acc = tile.load %ov[%c0, %c0] : !tile.view<" + o + "> -> " + tileO +
          "\n%r = tile_nv.dot %as, %bs, %acc" + precision + flags + " : " +
          (p.a == Place::Shared ? bufferA : "tensor<" + a + ", #a>") + ", " + bufferB + " -> " +
          tileO + "\ntile.store %r, %ov[%c0, %c0] : " + tileO + ", !tile.view<" + o +
          ">\ntile.return\n}";
  return text;
}

template <typename T> struct Half {
  static uint16_t bits(double value) {
    T half = T(value);
    uint16_t result;
    memcpy(&result, &half, 2);
    return result;
  }
};

/// The product for inputs of type In, as memory holds them, and results of type Out.
template <typename In, typename Out>
SimtResult run(const Product &p, In (*convert)(double), double scale, double limit) {
  std::mt19937 random(unsigned(p.rows * 31 + p.depth * 7 + p.columns));
  auto number = [&] { return double(int(random() % 9) - 4) * scale; };
  std::vector<double> a(p.rows * p.depth), b(p.depth * p.columns), c(p.rows * p.columns);
  std::vector<In> aIn(a.size()), bIn(b.size());
  std::vector<Out> o(c.size());
  for (int64_t m = 0; m < p.rows; ++m)
    for (int64_t k = 0; k < p.depth; ++k) {
      double value = a[m * p.depth + k] = number();
      aIn[p.transposeA ? k * p.rows + m : m * p.depth + k] = convert(value);
    }
  for (int64_t k = 0; k < p.depth; ++k)
    for (int64_t n = 0; n < p.columns; ++n) {
      double value = b[k * p.columns + n] = number();
      bIn[p.transposeB ? n * p.depth + k : k * p.columns + n] = convert(value);
    }
  for (size_t i = 0; i < c.size(); ++i) {
    c[i] = double(int(random() % 9) - 4);
    o[i] = Out(c[i]);
  }
  std::unique_ptr<SimtProgram> program = compileTiles(textOf(p));
  EXPECT_TRUE(program) << p.str();
  if (!program)
    return {};
  SimtResult result =
      program->run({1, uint32_t(32 * p.warps()), 65536}, {{"a", aIn}, {"b", bIn}, {"o", o, true}});
  result.expectClean();
  for (int64_t m = 0; m < p.rows; ++m)
    for (int64_t n = 0; n < p.columns; ++n) {
      double expected = c[m * p.columns + n], size = std::abs(expected);
      for (int64_t k = 0; k < p.depth; ++k) {
        expected += a[m * p.depth + k] * b[k * p.columns + n];
        size += std::abs(a[m * p.depth + k] * b[k * p.columns + n]);
      }
      double error = std::abs(double(o[m * p.columns + n]) - expected);
      if (error > limit * size) {
        ADD_FAILURE() << p.str() << ": element " << m << ", " << n << " is " << o[m * p.columns + n]
                      << ", expected " << expected;
        return result;
      }
    }
  return result;
}

uint16_t toF16(double value) { return Half<_Float16>::bits(value); }
uint16_t toBF16(double value) {
  float single = float(value);
  uint32_t bits;
  memcpy(&bits, &single, 4);
  return uint16_t(bits >> 16);
}
float toF32(double value) { return float(value); }
double toF64(double value) { return value; }
int8_t toI8(double value) { return int8_t(value); }

SimtResult runExact(const Product &p) {
  std::string type = p.type;
  if (type == "f16")
    return run<uint16_t, float>(p, toF16, 1, 0);
  if (type == "bf16")
    return run<uint16_t, float>(p, toBF16, 1, 0);
  if (type == "f32")
    return run<float, float>(p, toF32, 1, 0);
  if (type == "f64")
    return run<double, double>(p, toF64, 1, 0);
  return run<int8_t, int32_t>(p, toI8, 1, 0);
}

template <typename Visit> void forTransposes(Product p, Visit visit) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      p.transposeA = a;
      p.transposeB = b;
      visit(p);
    }
}

TEST(Products, HalvesReadByMatricesWithoutConflicts) {
  for (const char *type : {"f16", "bf16"})
    for (auto [warpsM, warpsN, rows, columns, depth] :
         {std::tuple(1, 1, 16, 8, 16), std::tuple(1, 1, 32, 24, 48), std::tuple(4, 1, 64, 64, 64),
          std::tuple(2, 2, 32, 48, 80), std::tuple(1, 4, 16, 64, 128)}) {
      Product p{type, "", rows, columns, depth, warpsM, warpsN};
      forTransposes(p, [](const Product &p) {
        SimtResult result = runExact(p);
        EXPECT_EQ(result.total.shared_conflicts, 0u) << p.str();
        EXPECT_EQ(result.total.mma_flops, uint64_t(2 * p.rows * p.columns * p.depth)) << p.str();
      });
    }
}

TEST(Products, OperandInRegisters) {
  for (const char *type : {"f16", "bf16"})
    for (bool transposed : {false, true}) {
      Product p{type, "", 64, 32, 32, 2, 2};
      p.a = Place::Registers;
      p.transposeA = transposed;
      runExact(p);
    }
  for (const char *precision : {"tf32", "tf32x3"})
    for (OrderOfK order : {OrderOfK::Instruction, OrderOfK::Accumulator})
      for (bool transposed : {false, true}) {
        Product p{"f32", precision, 32, 48, 24, 2, 1};
        p.a = Place::Registers;
        p.order = order;
        p.transposeB = transposed;
        runExact(p);
      }
}

TEST(Products, AddressesFormedAnew) {
  Product p{"f16", "", 32, 64, 64, 2, 1};
  p.knobs = " attributes {tile_nv.remat = [\"a\", \"b\", \"bt\"]}";
  forTransposes(p, [](const Product &p) { runExact(p); });
}

TEST(Products, SplitFloats) {
  for (auto [warpsM, warpsN, rows, columns, depth] :
       {std::tuple(1, 1, 16, 8, 8), std::tuple(2, 1, 32, 40, 24), std::tuple(2, 2, 64, 32, 64)}) {
    Product p{"f32", "tf32", rows, columns, depth, warpsM, warpsN};
    forTransposes(p, [](const Product &p) { runExact(p); });
    p.precision = "tf32x3";
    forTransposes(p, [](const Product &p) {
      // Of numbers with 24 bits 21 or 22 count: 2^-21 of each product.
      run<float, float>(p, toF32, 1.0 / 3, 1e-6);
    });
  }
}

TEST(Products, MultiplyAdds) {
  for (auto [type, precision] : {std::pair("f32", ""), std::pair("f64", ""), std::pair("i8", "")})
    for (auto [warpsM, warpsN, rows, columns, depth] :
         {std::tuple(1, 1, 16, 8, 4), std::tuple(2, 1, 32, 24, 16), std::tuple(2, 2, 32, 32, 32)}) {
      Product p{type, precision, rows, columns, depth, warpsM, warpsN};
      forTransposes(p, [](const Product &p) { runExact(p); });
    }
}

TEST(Products, MultiplyAddsWithoutConflicts) {
  Product p{"f32", "", 64, 64, 64, 4, 1};
  forTransposes(
      p, [](const Product &p) { EXPECT_EQ(runExact(p).total.shared_conflicts, 0u) << p.str(); });
}

} // namespace
