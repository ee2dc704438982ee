//===- SyncTest.cpp - tile-insert-sync and its verifier -------------------===//

#include "RandomKernel.h"
#include "TileTransformsTesting.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

namespace {

/// Attention with one buffer each for K and V, or a ring, and an output that leaves through shared memory.
std::string attention(int64_t stages) {
  return R"(
#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>
tile.kernel @attention(%q: memref<?x64xf16>, %k: memref<?x64xf16>, %v: memref<?x64xf16>, %o: memref<?x64xf16>, %end: index)
    config <block = [64, 64], warps = 4, stages = )" +
         std::to_string(stages) + R"(> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %queries = tile.view %q[:, :] : memref<?x64xf16> -> !view
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %values = tile.view %v[:, :] : memref<?x64xf16> -> !view
  %outputs = tile.view %o[:, :] : memref<?x64xf16> -> !view
  %Q = tile_nv.alloc : !tile
  %K = tile_nv.alloc : !tile
  %V = tile_nv.alloc : !tile
  %O = tile_nv.alloc : !tile
  tile_nv.copy_async %queries[%c0, %c0] to %Q bounded : !view, !tile
  tile_nv.commit_group
  tile_nv.wait_group 0
  %r = scf.for %n = %c0 to %end step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile_nv.copy_async %keys[%n, %c0] to %K : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %s = tile_nv.dot %Q, %K, %zero {transpose_b} : !tile, !tile -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    tile_nv.copy_async %values[%n, %c0] to %V : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %next = tile_nv.dot %p, %V, %acc : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %rounded = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
  tile_nv.store %rounded, %O : tensor<64x64xf16>, !tile
  %rows = tile_nv.load %O : !tile -> tensor<64x64xf16>
  tile.store %rows, %outputs[%c0, %c0] : tensor<64x64xf16>, !view
  tile.return
}
)";
}

class SyncTest : public TileTransformsTest {
protected:
  /// Removes each operation of type `Op` in turn; returns for how many the verifier finds nothing.
  template <typename Op> int64_t survivors(ModuleOp module, int64_t &number) {
    int64_t survived = 0;
    for (number = 0;; ++number) {
      OwningOpRef<ModuleOp> mutant = module.clone();
      SmallVector<Op> ops;
      mutant->walk([&](Op op) { ops.push_back(op); });
      if (number == int64_t(ops.size()))
        return survived;
      ops[number]->erase();
      bool passes = run(*mutant, {createTileVerifySyncPass});
      survived += passes;
      if (passes)
        ADD_FAILURE() << "without " << number << " of\n" << print(module);
    }
  }
};

// Two barriers a trip with one buffer each, one with a ring; none can go, and no wait.
TEST_F(SyncTest, EachBarrierAndWaitOfAttentionIsNeeded) {
  for (int64_t stages : {1, 2, 3, 4}) {
    OwningOpRef<ModuleOp> module = parse(attention(stages));
    ASSERT_TRUE(run(*module, {createTilePipelinePass, [] { return createTileAllocateSharedPass(); },
                              createTileInsertSyncPass, createTileVerifySyncPass}))
        << messages;
    scf::ForOp loop;
    module->walk([&](scf::ForOp op) { loop = op; });
    EXPECT_EQ(llvm::range_size(loop.getBody()->getOps<BarrierOp>()), stages == 1 ? 2 : 1) << stages;
    int64_t barriers = 0, waits = 0;
    EXPECT_EQ(survivors<BarrierOp>(*module, barriers), 0);
    EXPECT_EQ(survivors<WaitGroupOp>(*module, waits), 0);
    EXPECT_EQ(barriers, stages == 1 ? 4 : 3);
    EXPECT_EQ(waits, stages == 1 ? 3 : 2);
  }
}

// What is copied in one trip is waited for two trips later, with nothing copied before the loop: a barrier is needed behind the wait, which
// only shows in the third trip.
TEST_F(SyncTest, RingWithoutPrologue) {
  OwningOpRef<ModuleOp> module = parse(R"(
#tile = #tile.layout<8x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
!ring = !tile_nv.buffer<8x8xf32, #tile, slots = 4>
!tile = !tile_nv.buffer<8x8xf32, #tile>
tile.kernel @ring(%x: memref<?x8xf32>, %n: index) config <block = [8, 8], warps = 2> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %view = tile.view %x[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  %K = tile_nv.alloc offset 0 : !ring
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%read = %c0, %write = %c2) -> (index, index) {
    tile_nv.wait_group 1
    %target = tile_nv.slot %K[%write] : !ring -> !tile
    tile_nv.copy_async %view[%i, %c0] to %target : !tile.view<?x8xf32>, !tile
    tile_nv.commit_group
    %now = tile_nv.slot %K[%read] : !ring -> !tile
    %x0 = tile_nv.load %now : !tile -> tensor<8x8xf32>
    %r1 = arith.addi %read, %c1 : index
    %r2 = arith.cmpi eq, %read, %c3 : index
    %r3 = arith.select %r2, %c0, %r1 : index
    %w1 = arith.addi %write, %c1 : index
    %w2 = arith.cmpi eq, %write, %c3 : index
    %w3 = arith.select %w2, %c0, %w1 : index
    scf.yield %r3, %w3 : index, index
  }
  tile.return
}
)");
  ASSERT_TRUE(run(*module, {createTileInsertSyncPass, createTileVerifySyncPass})) << messages;
  int64_t barriers = 0;
  EXPECT_EQ(survivors<BarrierOp>(*module, barriers), 0);
  EXPECT_EQ(barriers, 1);
}

// The barriers of kernels of any form satisfy the verifier, which shares no code with what placed them, and finds each one that is
// taken away. Where a copy in flight is touched, both report it.
TEST_F(SyncTest, RandomKernels) {
  int64_t placed = 0, placedInWarps = 0, refused = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::string text = accessingKernel(seed);
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << text;
    OwningOpRef<ModuleOp> synced = module->clone();
    if (!run(*synced, {createTileInsertSyncPass})) {
      ++refused;
      ASSERT_NE(messages.find("copy in flight"), std::string::npos) << messages;
      EXPECT_FALSE(run(*module, {createTileVerifySyncPass}));
      EXPECT_NE(messages.find("a copy in flight writes to"), std::string::npos)
          << "seed " << seed << messages << text;
      continue;
    }
    ASSERT_TRUE(run(*synced, {createTileVerifySyncPass})) << "seed " << seed << "\n"
                                                          << messages << print(*synced);
    int64_t barriers = 0, ofWarps = 0;
    ASSERT_EQ(survivors<BarrierOp>(*synced, barriers), 0) << "seed " << seed;
    ASSERT_EQ(survivors<WarpBarrierOp>(*synced, ofWarps), 0) << "seed " << seed;
    placed += barriers;
    placedInWarps += ofWarps;
  }
  EXPECT_GT(placed, 400);
  EXPECT_GT(placedInWarps, 30);
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 150);
}

} // namespace
