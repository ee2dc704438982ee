//===- KernelCostTest.cpp - bytes and FLOPs against counting by hand ------===//

#include "heddle/Analysis/EntryKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace heddle;

namespace {

/// A causal product: program (i, head) multiplies its 32 rows with the key blocks up to its own, and stores the last product. The grid is
/// flattened on x, so that rows are `id mod blocks`.
constexpr llvm::StringLiteral causal = R"(
  tile.kernel @k(%x: memref<?x?x8xf16>, %y: memref<?x?x32xf32>, %n: memref<?xi32>) config <block = [32, 8], warps = 4> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f16
    %acc = arith.constant dense<0.0> : tensor<32x32xf32>
    %rows = memref.dim %x, %c1 : memref<?x?x8xf16>
    %up = arith.addi %rows, %c31 : index
    %blocks = arith.divui %up, %c32 : index
    %id = tile.program_id x
    %block = arith.remui %id, %blocks : index
    %head = arith.divui %id, %blocks : index
    %row = arith.muli %block, %c32 : index
    %view = tile.view %x[%head, :, :] : memref<?x?x8xf16> -> !tile.view<?x8xf16>
    %out = tile.view %y[%head, :, :] : memref<?x?x32xf32> -> !tile.view<?x32xf32>
    %q = tile.load %view[%row, %c0] pad(%zero) : !tile.view<?x8xf16> -> tensor<32x8xf16>
    %end = arith.addi %row, %c32 : index
    %r = scf.for %j = %c0 to %end step %c32 iter_args(%a = %acc) -> tensor<32x32xf32> {
      %key = tile.load %view[%j, %c0] pad(%zero) : !tile.view<?x8xf16> -> tensor<32x8xf16>
      %s = tile.dot %q, %key, %acc {transpose_b} : tensor<32x8xf16>, tensor<32x8xf16> -> tensor<32x32xf32>
      %e = math.exp2 %s : tensor<32x32xf32>
      %f = math.fma %e, %s, %a : tensor<32x32xf32>
      scf.yield %f : tensor<32x32xf32>
    }
    tile.store %r, %out[%row, %c0] : tensor<32x32xf32>, !tile.view<?x32xf32>
    tile.return
  }
)";

class KernelCostTest : public ::testing::Test {
protected:
  KernelCostTest() {
    context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                        mlir::tensor::TensorDialect>();
  }

  tile::KernelOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return module ? *module->getOps<tile::KernelOp>().begin() : tile::KernelOp();
  }

  KernelCost count(llvm::StringRef text, std::array<ScalarEvaluator::Extent, 3> grid,
                   const ArgumentExtents &extents) {
    tile::KernelOp kernel = parse(text);
    EXPECT_TRUE(kernel);
    return countTileKernel(kernel, grid, extents, ArgumentScalars(extents.size()));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(KernelCostTest, TriangleOfBlocksWithATail) {
  for (int64_t rows : {0, 1, 31, 32, 33, 100, 512})
    for (int64_t heads : {1, 3}) {
      int64_t blocks = (rows + 31) / 32;
      KernelCost cost = count(causal, {blocks * heads, 1, 1},
                              {{heads, rows, 8}, {heads, rows, 32}, {std::nullopt}});
      KernelCost expected;
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t other = -1; other <= block; ++other) {
          // Its own rows first, then the others up to its own.
          int64_t first = 32 * (other < 0 ? block : other);
          expected.bytesIn += heads * std::min<int64_t>(32, rows - first) * 8 * 2;
          if (other < 0) {
            expected.bytesOut += heads * std::min<int64_t>(32, rows - first) * 32 * 4;
            continue;
          }
          expected.matrixFlops += heads * 2 * 32 * 32 * 8;
          expected.otherFlops += heads * 3 * 32 * 32;
        }
      EXPECT_EQ(cost.programs, blocks * heads);
      EXPECT_EQ(cost.bytesIn, expected.bytesIn) << rows;
      EXPECT_EQ(cost.bytesOut, expected.bytesOut) << rows;
      EXPECT_EQ(cost.matrixFlops, expected.matrixFlops) << rows;
      EXPECT_EQ(cost.otherFlops, expected.otherFlops) << rows;
      EXPECT_FALSE(cost.assumesData);
      EXPECT_FALSE(cost.isIncomplete);
    }
}

TEST_F(KernelCostTest, LargeGridsAreCountedByPeriods) {
  // 2^16 heads of 1024 rows: 2^21 programs, of which 32 differ.
  int64_t heads = 1 << 16;
  KernelCost cost =
      count(causal, {32 * heads, 1, 1}, {{heads, 1024, 8}, {heads, 1024, 32}, {std::nullopt}});
  EXPECT_EQ(cost.matrixFlops, heads * (32 * 33 / 2) * 2 * 32 * 32 * 8);
  EXPECT_FALSE(cost.isIncomplete);
  // An extent of the grid that is no multiple of the period.
  KernelCost few = count(causal, {35, 1, 1}, {{2, 1024, 8}, {2, 1024, 32}, {std::nullopt}});
  EXPECT_EQ(few.matrixFlops, (32 * 33 / 2 + 1 + 2 + 3) * 2 * 32 * 32 * 8);
}

TEST_F(KernelCostTest, WhatMayBeSkippedCounts) {
  KernelCost cost = count(R"(
    tile.kernel @k(%x: memref<16x32xf32>) {
      %c0 = arith.constant 0 : index
      %is = arith.constant dense<false> : tensor<16xi1>
      %view = tile.view %x[:, :] : memref<16x32xf32> -> !tile.view<16x32xf32>
      %t = tile.load %view[%c0, %c0] : !tile.view<16x32xf32> -> tensor<16x32xf32>
      %r = tile.if_any %is changes(%t) : tensor<16xi1>, tensor<16x32xf32> {
        %p = arith.mulf %t, %t : tensor<16x32xf32>
        tile.yield %p : tensor<16x32xf32>
      }
      tile.store %r, %view[%c0, %c0] : tensor<16x32xf32>, !tile.view<16x32xf32>
      tile.return
    }
  )",
                          {3, 1, 1}, {{16, 32}});
  EXPECT_EQ(cost.otherFlops, 3 * 16 * 32);
  EXPECT_FALSE(cost.assumesData);
  EXPECT_FALSE(cost.isIncomplete);
}

TEST_F(KernelCostTest, UnknownGridCountsNothing) {
  KernelCost cost = count(causal, {std::nullopt, 1, 1}, {{1, 64, 8}, {1, 64, 32}, {std::nullopt}});
  EXPECT_TRUE(cost.isIncomplete);
  EXPECT_EQ(cost.bytesIn + cost.matrixFlops, 0);
}

/// Blocks of a length that is data: a view's size (%full), a bound (%least) or nothing (%free) limits it.
std::string dataKernel(llvm::StringRef length) {
  return (R"(
  tile.kernel @k(%x: memref<?x8xf32>, %n: memref<?xi32>) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %id = tile.program_id y
    %word = memref.load %n[%id] : memref<?xi32>
    %free = arith.index_cast %word : i32 to index
    %rows = memref.dim %x, %c0 : memref<?x8xf32>
    %positive = arith.maxsi %free, %c0 : index
    %least = arith.minsi %positive, %rows : index
    %word2 = memref.load %n[%c0] : memref<?xi32>
    %full = arith.index_cast %word2 : i32 to index
    %part = memref.subview %x[0, 0] [%full, 8] [1, 1] : memref<?x8xf32> to memref<?x8xf32, strided<[8, 1]>>
    %view = tile.view %part[:, :] : memref<?x8xf32, strided<[8, 1]>> -> !tile.view<?x8xf32>
    scf.for %i = %c0 to )" +
          length + R"( step %c16 {
      %tile = tile.load %view[%i, %c0] pad(%zero) : !tile.view<?x8xf32> -> tensor<16x8xf32>
      %cond = arith.cmpi sgt, %free, %c16 : index
      scf.if %cond {
        tile.store %tile, %view[%i, %c0] : tensor<16x8xf32>, !tile.view<?x8xf32>
      } else {
        %sum = arith.addf %tile, %tile : tensor<16x8xf32>
      }
    }
    tile.return
  })")
      .str();
}

TEST_F(KernelCostTest, LengthsThatAreDataCountAsFull) {
  for (llvm::StringRef length : {"%least", "%full"}) {
    KernelCost cost = count(dataKernel(length), {1, 5, 1}, {{40, 8}, {5}});
    EXPECT_TRUE(cost.assumesData);
    EXPECT_FALSE(cost.isIncomplete);
    EXPECT_EQ(cost.bytesIn, 5 * 40 * 8 * 4);
    // The branch counts as taken.
    EXPECT_EQ(cost.bytesOut, 5 * 40 * 8 * 4);
    EXPECT_EQ(cost.otherFlops, 0);
  }
  KernelCost cost = count(dataKernel("%free"), {1, 5, 1}, {{40, 8}, {5}});
  EXPECT_TRUE(cost.isIncomplete);
  EXPECT_EQ(cost.bytesIn, 0);
}

TEST_F(KernelCostTest, LoopsCarryIndices) {
  // 1, 2, 4, 8 rows: a loop-carried index decides.
  KernelCost cost = count(R"(
  tile.kernel @k(%x: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%n = %c1) -> index {
      %part = memref.subview %x[0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
      %view = tile.view %part[:] : memref<?xf32, strided<[1]>> -> !tile.view<?xf32>
      %zero = arith.constant 0.0 : f32
      %t = tile.load %view[%c0] pad(%zero) : !tile.view<?xf32> -> tensor<16xf32>
      %m = arith.muli %n, %c2 : index
      scf.yield %m : index
    }
    tile.return
  })",
                          {3, 2, 1}, {{100}});
  EXPECT_EQ(cost.bytesIn, 6 * (1 + 2 + 4 + 8) * 4);
  EXPECT_EQ(cost.programs, 6);
}

TEST_F(KernelCostTest, EntriesAddUpTheirLaunches) {
  parse((R"(
  func.func @entry(%ctx: index, %x: memref<?x?x8xf16> {heddle.dims = ["H", "L", 8]},
                   %y: memref<?x?x32xf32> {heddle.dims = ["H", "L", 32]}, %n: memref<?xi32> {heddle.dims = ["H"]}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %h = memref.dim %x, %c0 : memref<?x?x8xf16>
    %l = memref.dim %x, %c1 : memref<?x?x8xf16>
    %b = arith.ceildivui %l, %c32 : index
    %g = arith.muli %b, %h : index
    scf.for %i = %c0 to %h step %c1 {
      tile.launch @k grid(%g, %c1, %c1) (%x, %y, %n) : memref<?x?x8xf16>, memref<?x?x32xf32>, memref<?xi32>
    }
    call @product(%x, %y) : (memref<?x?x8xf16>, memref<?x?x32xf32>) -> ()
    return
  }
  func.func private @product(%x: memref<?x?x8xf16>, %y: memref<?x?x32xf32>) {
    linalg.generic {indexing_maps = [affine_map<(h, l, n, k) -> (h, l, k)>, affine_map<(h, l, n, k) -> (h, l, n)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%x : memref<?x?x8xf16>) outs(%y : memref<?x?x32xf32>) {
    ^bb0(%a: f16, %o: f32):
      %w = arith.extf %a : f16 to f32
      %s = arith.addf %w, %o : f32
      linalg.yield %s : f32
    }
    return
  })" + causal)
            .str());
  llvm::StringMap<int64_t> given;
  given["L"] = 64;
  EntryKernels kernels = collectKernels(*module->getOps<mlir::func::FuncOp>().begin(), given);
  ASSERT_EQ(kernels.extents.size(), 2u);
  EXPECT_EQ(kernels.extents[0], std::make_pair(std::string("H"), int64_t(1)));
  EXPECT_EQ(kernels.extents[1], std::make_pair(std::string("L"), int64_t(64)));
  given["H"] = 3;
  kernels = collectKernels(*module->getOps<mlir::func::FuncOp>().begin(), given);
  ASSERT_EQ(kernels.uses.size(), 2u);
  const KernelUse &first = kernels.uses[0];
  EXPECT_EQ(first.kernel, "k");
  EXPECT_EQ(first.launches, 3);
  EXPECT_EQ(first.gridFormula, "ceildiv(L, 32) * H");
  EXPECT_EQ(first.grid, (std::vector<int64_t>{6, 1, 1}));
  EXPECT_EQ(first.block, (std::vector<int64_t>{32, 8}));
  EXPECT_EQ(first.cost.programs, 18);
  EXPECT_EQ(first.cost.matrixFlops, 3 * 3 * 3 * 2 * 32 * 32 * 8);
  const KernelUse &second = kernels.uses[1];
  EXPECT_EQ(second.ops, (std::vector<std::string>{"arith.extf", "arith.addf"}));
  EXPECT_EQ(second.cost.bytesIn, 3 * 64 * (8 * 2 + 32 * 4));
  EXPECT_EQ(second.cost.bytesOut, 3 * 64 * 32 * 4);
  EXPECT_EQ(second.cost.otherFlops, 3 * 64 * 32 * 8);
}

} // namespace
