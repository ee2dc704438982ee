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
  int64_t parts = 0; // conditions of `needs`, of the columns or of the depth
  bool needsDepth = false;
  int rarity = 1; // one of so many conditions is true; 0: none is

  int bits() const {
    return type[0] == 'i' ? 8 : type == std::string("bf16") ? 16 : atoi(type + 1);
  }
  int64_t warps() const { return warpsM * warpsN; }
  std::string str() const {
    return std::string(type) + precision + " " + std::to_string(rows) + "x" +
           std::to_string(columns) + "x" + std::to_string(depth) + ", warps " +
           std::to_string(warpsM) + "x" + std::to_string(warpsN) + (transposeA ? ", a^T" : "") +
           (transposeB ? ", b^T" : "") + (a == Place::Registers ? ", a in registers" : "") +
           (parts ? ", needs " + std::to_string(parts) + (needsDepth ? " of depth" : "") +
                        ", one of " + std::to_string(rarity)
                  : "");
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

  Layout acc = *mmaTile(MmaOperand::C, 16, 16, tiling);
  Layout rows = acc.projectOutputs({Dim::Coord0}).withoutBroadcast(Dim::Register);
  std::string text =
      "#acc = " + heddle::test::textOf(acc) + "\n#rows = " + heddle::test::textOf(rows) +
      "\n#b = " + heddle::test::textOf(sharedLayout(bRows, bColumns, p.bits())) + "\n";
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
  std::string flags;
  for (auto [isSet, name] :
       {std::pair(p.transposeA, "transpose_a"), std::pair(p.transposeB, "transpose_b"),
        std::pair(p.needsDepth, "needs_depth")})
    if (isSet)
      flags += std::string(flags.empty() ? " {" : ", ") + name;
  flags += flags.empty() ? "" : "}";
  std::string f = std::to_string(p.rows * p.parts) + "xi32";
  text += "tile.kernel @k(%a: memref<" + a + ">, %b: memref<" + b + ">, %o: memref<" + o + ">" +
          (p.parts ? ", %f: memref<" + f + ">" : "") +
          ") config <block = [1], warps = " + std::to_string(p.warps()) + ">" + p.knobs +
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
  std::string ofRows = "tensor<" + std::to_string(p.rows), needs, types;
  if (p.parts)
    text += "%none = arith.constant dense<0> : " + ofRows +
            "xi32, #rows>\n%fv = tile.view %f[:] : " + "memref<" + f + "> -> !tile.view<" + f +
            ">\n";
  for (int64_t part = 0; part < p.parts; ++part) {
    std::string n = std::to_string(part);
    text += "%at" + n + " = arith.constant " + std::to_string(part * p.rows) + " : index\n%f" + n +
            " = tile.load %fv[%at" + n + "] : !tile.view<" + f + "> -> " + ofRows +
            "xi32, #rows>\n%needed" + n + " = arith.cmpi ne, %f" + n + ", %none : " + ofRows +
            "xi32, #rows>\n";
    needs += (part ? ", %needed" : " needs(%needed") + n;
    types += (part ? ", " : " : ") + ofRows + "xi1, #rows>";
  }
  if (p.parts)
    needs += types + ")";
  std::string tileO = "tensor<" + o + ", #acc>";
  text += "%acc = tile.load %ov[%c0, %c0] : !tile.view<" + o + "> -> " + tileO +
          "\n%r = tile_nv.dot %as, %bs, %acc" + precision + needs + flags + " : " +
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
  std::vector<int32_t> needed(p.rows * p.parts);
  for (int32_t &isNeeded : needed)
    isNeeded = p.rarity != 0 && random() % p.rarity == 0;
  std::unique_ptr<SimtProgram> program = compileTiles(textOf(p));
  EXPECT_TRUE(program) << p.str();
  if (!program)
    return {};
  std::vector<SimtBuffer> buffers{{"a", aIn}, {"b", bIn}, {"o", o, true}};
  if (p.parts)
    buffers.push_back({"f", needed});
  SimtResult result = program->run({1, uint32_t(32 * p.warps()), 65536}, buffers);
  result.expectClean();
  for (int64_t m = 0; m < p.rows; ++m)
    for (int64_t n = 0; n < p.columns; ++n) {
      double expected = c[m * p.columns + n], size = std::abs(expected);
      std::vector<double> optional(std::max<int64_t>(p.parts, 1)); // sums of parts not needed
      for (int64_t k = 0; k < p.depth; ++k) {
        int64_t part = p.needsDepth ? k * p.parts / p.depth : n * p.parts / p.columns;
        double product = a[m * p.depth + k] * b[k * p.columns + n];
        (!p.parts || needed[part * p.rows + m] ? expected : optional[part]) += product;
        size += std::abs(product);
      }
      double error = std::abs(double(o[m * p.columns + n]) - expected);
      for (uint64_t added = 1; added < uint64_t(1) << optional.size(); ++added) {
        double with = expected;
        for (size_t part = 0; part < optional.size(); ++part)
          with += added >> part & 1 ? optional[part] : 0;
        error = std::min(error, std::abs(double(o[m * p.columns + n]) - with));
      }
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

/// Fails unless needed parts are there, and some of the others are left out.
void runNeeds(Product p) {
  uint64_t all = uint64_t(2 * p.rows * p.columns * p.depth);
  if (p.precision == std::string("tf32x3"))
    all *= 3;
  p.rarity = 7;
  EXPECT_LE(runExact(p).total.mma_flops, all) << p.str();
  p.rarity = 60;
  EXPECT_LT(runExact(p).total.mma_flops, all) << p.str();
  p.rarity = 0;
  EXPECT_EQ(runExact(p).total.mma_flops, 0u) << p.str();
}

TEST(Products, NeededParts) {
  // Parts are as wide as several fragments, as one, and no multiple of one; those of few columns ask fragments of 16 rows apart. A step
  // of 16 along K has two parts of 8.
  for (auto [warpsM, warpsN, rows, columns, depth, parts, needsDepth] :
       {std::tuple(1, 1, 16, 64, 32, 4, false), std::tuple(2, 1, 64, 32, 32, 4, false),
        std::tuple(2, 1, 64, 32, 32, 1, false), std::tuple(1, 1, 32, 24, 16, 2, false),
        std::tuple(2, 1, 32, 24, 16, 3, false), std::tuple(1, 2, 32, 64, 16, 4, false),
        std::tuple(2, 2, 64, 48, 32, 3, false), std::tuple(1, 1, 16, 32, 64, 4, true),
        std::tuple(2, 1, 64, 24, 32, 4, true), std::tuple(1, 2, 32, 32, 64, 2, true),
        std::tuple(2, 2, 64, 32, 32, 4, true)}) {
    Product p{"f16", "", rows, columns, depth, warpsM, warpsN};
    p.parts = parts;
    p.needsDepth = needsDepth;
    p.transposeB = !needsDepth;
    runNeeds(p);
    p.type = "f32";
    p.precision = rows == 16 ? "tf32x3" : "tf32";
    if (needsDepth)
      p.a = Place::Registers;
    runNeeds(p);
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
