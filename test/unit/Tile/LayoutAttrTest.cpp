//===- LayoutAttrTest.cpp - layouts as attributes -------------------------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/Fragments.h"
#include "heddle/Layout/SharedMemory.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace heddle;
using namespace heddle::tile;

using layout::Dim;
using layout::Layout;
using layout::MmaOperand;

namespace {

class LayoutAttrTest : public testing::Test {
protected:
  LayoutAttrTest() { context.loadDialect<TileDialect>(); }

  /// The attribute, after a check that its text gives it back.
  LayoutAttr checked(const Layout &layout) {
    auto attr = LayoutAttr::get(&context, layout);
    std::string text;
    llvm::raw_string_ostream(text) << attr;
    EXPECT_EQ(parseAttribute(text, &context), attr) << text;
    EXPECT_EQ(attr.getLayout(), layout) << text;
    return attr;
  }

  /// The first error that a tensor with this encoding gives; empty if there is none.
  std::string encodingError(LayoutAttr attr, ArrayRef<int64_t> shape) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
      message = diag.str();
      return success();
    });
    (void)attr.verifyEncoding(shape, Float32Type::get(&context),
                              [&] { return emitError(UnknownLoc::get(&context)); });
    return message;
  }

  MLIRContext context;
};

TEST_F(LayoutAttrTest, FragmentsAreEncodings) {
  struct Case {
    MmaOperand operand;
    int k, bits;
    int64_t rows, columns;
  };
  layout::MmaTiling tiling;
  tiling.warpsM = 4;
  tiling.repeatM = 2;
  tiling.repeatN = 5;
  tiling.repeatK = 3;
  for (Case c : {Case{MmaOperand::A, 16, 16, 128, 48}, Case{MmaOperand::B, 16, 16, 48, 40},
                 Case{MmaOperand::C, 16, 16, 128, 40}, Case{MmaOperand::A, 8, 32, 128, 24},
                 Case{MmaOperand::A, 32, 8, 128, 96}}) {
    std::optional<Layout> tile = layout::mmaTile(c.operand, c.k, c.bits, tiling);
    ASSERT_TRUE(tile);
    LayoutAttr attr = checked(*tile);
    EXPECT_EQ(encodingError(attr, {c.rows, c.columns}), "");
    EXPECT_NE(encodingError(attr, {c.rows, c.columns + 8}), "");
  }
}

TEST_F(LayoutAttrTest, EveryWgmmaAccumulator) {
  for (int n = 8; n <= 256; n += 8) {
    std::optional<Layout> accumulator = layout::wgmmaAccumulator(n);
    ASSERT_TRUE(accumulator);
    EXPECT_EQ(encodingError(checked(*accumulator), {64, n}), "");
  }
}

TEST_F(LayoutAttrTest, CopiesAndSharedMemory) {
  for (int64_t columns : {24, 64, 80, 176}) {
    std::optional<Layout> blocked = layout::blockedLayout(48, columns, 8, 4);
    ASSERT_TRUE(blocked);
    EXPECT_EQ(encodingError(checked(*blocked), {48, columns}), "");
    std::optional<Layout> shared = layout::conflictFreeTile(48, columns, 16);
    ASSERT_TRUE(shared);
    EXPECT_EQ(encodingError(checked(*shared), {48, columns}),
              "expected a layout of registers, got one of memory offsets");
  }
}

TEST_F(LayoutAttrTest, RowStatisticsHoldEachElementOnceInAThread) {
  for (int n : {8, 80, 128}) {
    LayoutAttr rows = checked(*layout::wgmmaAccumulator(n)).withoutDim(1, 2);
    EXPECT_EQ(encodingError(checked(rows.getLayout()), {64}), "");
    EXPECT_EQ(rows.getLayout().inSize(Dim::Register), 2);
    LayoutAttr columns = checked(*layout::wgmmaAccumulator(n)).withoutDim(0, 2);
    EXPECT_EQ(encodingError(checked(columns.getLayout()), {n}), "");
    EXPECT_EQ(columns.getLayout().inSize(Dim::Register), n / 4);
    EXPECT_EQ(encodingError(checked(rows.withoutDim(0, 1).getLayout()), {}), "");
  }
}

TEST_F(LayoutAttrTest, TransposedTwiceIsTheSame) {
  LayoutAttr accumulator = checked(*layout::wgmmaAccumulator(80));
  EXPECT_EQ(encodingError(checked(accumulator.transposed().getLayout()), {80, 64}), "");
  EXPECT_EQ(accumulator.transposed().transposed(), accumulator);
}

} // namespace
