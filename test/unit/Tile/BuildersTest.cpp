//===- BuildersTest.cpp - tile operations made in C++ ---------------------===//

#include "mlir/IR/Builders.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace heddle::tile;

namespace {

class BuildersTest : public testing::Test {
protected:
  BuildersTest() {
    context.loadDialect<TileDialect, memref::MemRefDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
  }

  /// A kernel with these arguments; the builder is left inside, before its end.
  KernelOp makeKernel(TypeRange types) {
    auto kernel = KernelOp::create(builder, builder.getUnknownLoc(), "kernel", types);
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    builder.setInsertionPoint(ReturnOp::create(builder, builder.getUnknownLoc()));
    return kernel;
  }

  MLIRContext context;
  OpBuilder builder{&context};
  OwningOpRef<ModuleOp> module;
};

TEST_F(BuildersTest, TypesFollowFromOperands) {
  Location loc = builder.getUnknownLoc();
  Type f16 = builder.getF16Type();
  int64_t any = ShapedType::kDynamic;
  KernelOp kernel =
      makeKernel({MemRefType::get({any, 16, 8, 64}, f16),
                  MemRefType::get({40}, builder.getI32Type()), builder.getIndexType()});
  kernel.setConfigAttr(
      ConfigAttr::get(&context, builder.getDenseI64ArrayAttr({64, 64}), 2, std::nullopt));
  Value source = kernel.getArgument(0), table = kernel.getArgument(1),
        index = kernel.getArgument(2);

  auto view =
      ViewOp::create(builder, loc, source, ValueRange{index, index}, ArrayRef<int64_t>{0, 3});
  EXPECT_EQ(view.getType(), ViewType::get({any, 64}, f16));
  auto pages = GatherViewOp::create(builder, loc, source, table, ValueRange{index}, Value(),
                                    /*tableDim=*/0, /*paged=*/true, ArrayRef<int64_t>{3});
  EXPECT_EQ(pages.getType(), ViewType::get({640, 64}, f16));
  auto limited =
      GatherViewOp::create(builder, loc, source, table, ValueRange{index, index},
                           /*rows=*/index, /*tableDim=*/0, /*paged=*/false, ArrayRef<int64_t>{3});
  EXPECT_EQ(limited.getType(), ViewType::get({any, 64}, f16));

  auto tile = LoadOp::create(builder, loc, RankedTensorType::get({32, 64}, f16), view,
                             ValueRange{index, index}, /*pad=*/Value());
  auto max = ReduceOp::create(builder, loc, CombiningKind::Max, tile, /*along=*/1);
  EXPECT_EQ(max.getType(), RankedTensorType::get({32}, f16));
  auto turned = TransposeOp::create(builder, loc, tile);
  EXPECT_EQ(turned.getType(), RankedTensorType::get({64, 32}, f16));
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace
