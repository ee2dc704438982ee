//===- LayoutArithmeticTest.cpp - arithmetic against the layouts ----------===//
//
// With constants for lane and warp the arithmetic folds to a constant, which has to be what the layout says.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Conversion/TileToNVVM/LayoutArithmetic.h"
#include "../Layout/LayoutTesting.h"
#include "TileProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::test;

using layout::Dim;
using layout::Layout;

namespace {

class LayoutArithmeticTest : public testing::Test {
protected:
  LayoutArithmeticTest() : b(UnknownLoc::get(&context), &context), math(b) {
    context.loadDialect<arith::ArithDialect>();
    module = ModuleOp::create(b.getLoc());
    b.setInsertionPointToStart(module->getBody());
  }

  int64_t constant(Value value) {
    std::optional<int64_t> constant = constantOf(value);
    EXPECT_TRUE(constant);
    return constant.value_or(-1);
  }

  /// Compares all positions of a layout; returns whether its arithmetic is of the form that is supported.
  bool check(const Layout &layout, int64_t scale) {
    bool isSupported = true;
    for (const layout::Axis &out : layout.outputs()) {
      LayoutArithmetic arithmetic(layout, out.dim, scale);
      if (!arithmetic.isValid()) {
        isSupported = false;
        continue;
      }
      for (int64_t warp = 0; warp < layout.inSize(Dim::Warp); ++warp)
        for (int64_t lane = 0; lane < layout.inSize(Dim::Lane); ++lane) {
          Value thread =
              arithmetic.thread(math, {{Dim::Lane, math.i32(lane)}, {Dim::Warp, math.i32(warp)}});
          for (int64_t reg = 0; reg < layout.inSize(Dim::Register); ++reg) {
            layout::Point element =
                layout.apply({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}});
            if (constant(arithmetic.apply(math, thread, reg)) !=
                layout::valueOf(element, out.dim) * scale) {
              ADD_FAILURE() << "register " << reg << ", lane " << lane << ", warp " << warp
                            << " of " << layout.str();
              return isSupported;
            }
          }
        }
      module->getBody()->clear();
    }
    return isSupported;
  }

  MLIRContext context;
  ImplicitLocOpBuilder b;
  IntegerMath math;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LayoutArithmeticTest, RandomLayoutsOfTiles) {
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    EXPECT_TRUE(check(randomLayout(random, {4, 5}, seed % 3), 1 << seed % 4)) << "seed " << seed;
  }
}

TEST_F(LayoutArithmeticTest, DigitsOfOtherBases) {
  // 3 x 5 digits in registers, lanes and warps, bits above them; some of these layouts have no form.
  int supported = 0;
  for (int seed = 0; seed < 200; ++seed) {
    layout::RandomLayouts layouts(seed);
    Layout layout = layouts.any({Dim::Register, Dim::Lane, Dim::Warp}, {Dim::Coord0, Dim::Coord1});
    if (layout.numPositions() <= 2048)
      supported += check(layout, 2);
  }
  EXPECT_GT(supported, 50);
}

TEST_F(LayoutArithmeticTest, OneHolderOfEachElement) {
  constexpr int64_t warps = 4;
  for (int seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    // Elements that have fewer bits than registers, lanes and warps.
    Layout layout = randomLayout(random, {2, 1 + seed % 5}, seed % 3, /*mixes=*/false);
    SmallVector<int64_t> first = firstRegisters(layout);
    std::map<layout::Element, int> holders;
    for (int64_t warp = 0; warp < warps; ++warp)
      for (int64_t lane = 0; lane < 32; ++lane) {
        Value holds = isFirstHolder(math, layout, math.i32(lane), math.i32(warp), warps);
        for (int64_t reg = 0; reg < int64_t(first.size()); ++reg)
          if (isTrue(holds) && first[reg] == reg)
            ++holders[layout::elementAt(
                layout, {{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}})];
      }
    EXPECT_EQ(int64_t(holders.size()), layout.numElements()) << caseText(seed, layout);
    for (auto [element, count] : holders)
      EXPECT_EQ(count, 1) << caseText(seed, layout);
    module->getBody()->clear();
  }
}

} // namespace
