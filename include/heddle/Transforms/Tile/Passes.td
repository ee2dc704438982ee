//===- Passes.td - passes on tile kernels ---------------------*- tablegen -*-===//

#ifndef HEDDLE_TRANSFORMS_TILE_PASSES_TD
#define HEDDLE_TRANSFORMS_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileAssignLayoutsPass : Pass<"tile-assign-layouts", "heddle::tile::KernelOp"> {
  let summary = "Give every tile of a kernel a layout";
  let description = [{
    Input: kernels without layouts whose config gives the number of warps, a power of two; kernels without one are left as they are.

    Output: every tile has a layout, and where a use needs another one than the value has, `tile.convert_layout` follows the value.

    * Products: the accumulator of mma.sync m16n8, spread over warps along M as far as M / 16 goes and then along N. What their operands
      need is met by a conversion; M, N and K that do not fill the instructions are an error.
    * Loads that products read, and kernels without products: neighbouring lanes have neighbouring vectors of up to 16 bytes. A tile of
      rank 2 that is stored is converted to such a layout unless lanes write neighbouring parts of rows anyway.
    * Everything else follows, forwards and then backwards, through elementwise operations, reductions, slices, loops and branches
      (lib/Transforms/Tile/LayoutAssignment.h). Constants, splats, iotas and broadcasts are copied for each layout.

    ```mlir
    %s = tile.dot %q, %k, %zero {transpose_b} : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %max = tile.reduce max %s along 1 : tensor<128x64xf32> -> tensor<128xf32>
    // becomes
    %q1 = tile.convert_layout %q : tensor<128x64xf16, #blocked> -> tensor<128x64xf16, #operand>
    %s = tile.dot %q1, %k, %zero1 {transpose_b} : tensor<128x64xf16, #operand>, tensor<64x64xf16, #blocked> -> tensor<128x64xf32, #acc>
    %max = tile.reduce max %s along 1 : tensor<128x64xf32, #acc> -> tensor<128xf32, #rows>
    ```
  }];
  let statistics = [
    Statistic<"numConversions", "num-conversions", "Conversions between layouts">,
  ];
  let dependentDialects = ["mlir::arith::ArithDialect", "heddle::tile::TileDialect"];
}

def TileOptimizeLayoutsPass : Pass<"tile-optimize-layouts", "heddle::tile::KernelOp"> {
  let summary = "Move conversions to where they are cheap, and cross-thread sums out of loops";
  let description = [{
    Input and output: kernels whose tiles have layouts.

    * A conversion of a tile next to a cast moves to the side with fewer bits; conversions of conversions become one.
    * A loop-carried sum of rows is split: each thread carries the sum of its own elements, and the reduction across threads follows
      the loop (or the last one of several that follow one another). A sum without decay may be needed in any layout.
    * Where a `tile.if_any` asks whether maxima of rows exceed a limit, each thread asks that of its own elements, and maxima cross threads
      in the branch only.

    ```mlir
    %r = scf.for ... iter_args(%sum = %zeros) -> (tensor<128xf32, #rows>) {
      %block = tile.reduce add %weights along 1 : tensor<128x64xf32, #acc> -> tensor<128xf32, #rows>
      %next = math.fma %sum, %decay, %block : tensor<128xf32, #rows>
      scf.yield %next : tensor<128xf32, #rows>
    // becomes
    %p = scf.for ... iter_args(%part = %zeros) -> (tensor<128x4xf32, #part>) {
      %block = tile_nv.reduce_in_thread add %weights along 1 : tensor<128x64xf32, #acc> -> tensor<128x4xf32, #part>
      %decays = tile.broadcast %decay along 1 : tensor<128xf32, #rows> -> tensor<128x4xf32, #part>
      %next = math.fma %part, %decays, %block : tensor<128x4xf32, #part>
      scf.yield %next : tensor<128x4xf32, #part>
    }
    %r = tile.reduce add %p along 1 : tensor<128x4xf32, #part> -> tensor<128xf32, #rows>
    ```
  }];
  let statistics = [
    Statistic<"numSums", "num-sums", "Loop-carried sums that were split">,
    Statistic<"numConditions", "num-conditions", "Conditions on maxima of rows that each thread asks of its own elements">,
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::math::MathDialect", "heddle::tile::TileDialect", "heddle::tile_nv::TileNVDialect"
  ];
}

def TileMultibufferPass : Pass<"tile-multibuffer", "heddle::tile::KernelOp"> {
  let summary = "Move operands of products, and tiles that change threads, through shared memory";
  let description = [{
    Input: kernels whose tiles have layouts.

    Output: products are `tile_nv.dot`; loads that only they read are asynchronous copies into buffers, waited for where they are used.
    With more than one stage, vectors that the same loop loads and several threads hold, such as the weight of a norm, are copied, too.
    Conversions that need other threads' elements are a store and a load, and so are the parts of reductions across warps: the
    `tile.convert_layout` that are left rename registers, and a `tile.reduce` combines what one warp holds. A `tile.if_any` that is left is
    decided by each warp for itself; others are inlined. Nothing is synchronised yet: tile-insert-sync does that.

    ```mlir
    %k = tile.load %view[%n, %c0] : !tile.view<?x128xf16> -> tensor<64x128xf16, #blocked>
    %s = tile.dot %q, %k, %zero {transpose_b} : tensor<128x128xf16, #operand>, tensor<64x128xf16, #blocked> -> tensor<128x64xf32, #acc>
    // becomes
    %keys = tile_nv.alloc : !tile_nv.buffer<64x128xf16, #swizzled>  // at the kernel's start
    tile_nv.copy_async %view[%n, %c0] to %keys : !tile.view<?x128xf16>, !tile_nv.buffer<64x128xf16, #swizzled>
    tile_nv.commit_group
    tile_nv.wait_group 0
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : ...
    ```
  }];
  let statistics = [
    Statistic<"numCopies", "num-copies", "Loads that became asynchronous copies">,
    Statistic<"numExchanges", "num-exchanges", "Conversions and reductions through shared memory">,
    Statistic<"numInlined", "num-inlined", "Branches that warps can't take on their own">,
  ];
  let dependentDialects = ["heddle::tile::TileDialect", "heddle::tile_nv::TileNVDialect"];
}

def TileSelectConfigPass : Pass<"tile-select-config", "heddle::tile::KernelOp"> {
  let summary = "Complete the config of a kernel and the knobs of its code";
  let description = [{
    Input: kernels without layouts.

    Output: `#tile.config` with block, stages and warps, and the attributes `tile_nv.keep_operands`, `tile_nv.interleave`,
    `tile_nv.remat` and, for 16-bit products whose operands are copied ahead, `tile_nv.ctas` (heddle/Transforms/Tile/KernelKnobs.h).
    They come from a table of measured shapes, and for other shapes from a count of registers and shared memory. What a kernel has
    already is kept; a hint that cannot be followed is an error.

    ```mlir
    tile.kernel @k(...) config <block = [128, 64]> { // 16-bit scores and values, head dimension 128
    // becomes
    tile.kernel @k(...) config <block = [128, 64], stages = 1, warps = 4> attributes {tile_nv.interleave = true, tile_nv.remat = ["a"], ...
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"", "GPU that the kernel is made for: sm_80, sm_86, sm_89, sm_90">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0", "shared memory that a CTA may have; 0: as much as the chip has">
  ];
}

def TilePipelinePass : Pass<"tile-pipeline", "heddle::tile::KernelOp"> {
  let summary = "Start the copies of a loop before they are needed";
  let description = [{
    Input: kernels as tile-multibuffer leaves them: a `tile_nv.copy_async`, its commit and a wait for all groups stand in front of
    what reads the buffer. `stages` of the config is 1 for one buffer each, or the number of slots of a ring.

    Output: copies start in an earlier phase or trip. Behind a loop that was changed no copy is in flight. A copy that must stay is
    reported as a missed remark (--remarks-filter=tile-pipeline). Buffers of a ring have `slots`, and are read through `tile_nv.slot`.

    ```mlir
    scf.for %n = %begin to %end step %c64 {
      tile_nv.copy_async %view[%n, %c0] to %keys // commit, wait for all
      %s = tile_nv.dot %q, %keys, %zero
      %p = math.exp2 %s
    // becomes
    scf.if %any {
      tile_nv.copy_async %view[%begin, %c0] to %keys // commit
    }
    scf.for %n = %begin to %end step %c64 {
      tile_nv.wait_group 0
      %s = tile_nv.dot %q, %keys, %zero
      scf.if %more {
        tile_nv.copy_async %view[%next, %c0] to %keys // commit
      }
      %p = math.exp2 %s
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect"];
}

def TileAllocateSharedPass : Pass<"tile-allocate-shared", "heddle::tile::KernelOp"> {
  let summary = "Give every buffer its place in shared memory";
  let description = [{
    Input: kernels whose buffers have no offsets.

    Output: every `tile_nv.alloc` has an offset, and `tile_nv.shared_bytes` of the kernel says how many bytes a CTA needs. Buffers
    share bytes if they do not live at the same time. Needing more than the chip has is an error with both numbers.

    ```mlir
    %keys = tile_nv.alloc : !tile_nv.buffer<64x128xf16, #layout>
    // becomes
    %keys = tile_nv.alloc offset 32768 : !tile_nv.buffer<64x128xf16, #layout>
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"", "GPU that the kernel is made for: sm_80, sm_86, sm_89, sm_90">,
    Option<"budget", "budget", "int64_t", "0", "bytes that may be used; 0: what a CTA of the chip may have">
  ];
  let statistics = [Statistic<"numBuffers", "num-buffers", "Number of buffers that were placed">];
}

def TileInsertSyncPass : Pass<"tile-insert-sync", "heddle::tile::KernelOp"> {
  let summary = "Place the barriers that accesses of shared memory need";
  let description = [{
    Input: kernels whose buffers have offsets, without barriers, or with some. Shared memory is used below scf.for and scf.if only.

    Output: between any two accesses of the same bytes, one of them a write, of different threads, stands a barrier on every way, and
    behind the wait if the first one is a copy. `tile_nv.warp_barrier` where layouts prove that what a warp touches no other warp does.
    No barrier that was placed could be left out. A copy in flight that something else touches is an error. A store to global memory that
    the kernel also loads from has a barrier on either side.
  }];
  let statistics = [
    Statistic<"numBarriers", "num-barriers", "Number of barriers that were placed">,
    Statistic<"numRemoved", "num-removed", "Number of barriers that another one made needless">
  ];
  let dependentDialects = ["heddle::tile_nv::TileNVDialect"];
}

def TileSkipTripsPass : Pass<"tile-skip-trips", "heddle::tile::KernelOp"> {
  let summary = "Let warps leave out trips that change nothing for them";
  let description = [{
    Input: kernels whose tiles have layouts and whose barriers are in place.

    Output: no `tile.skip_unless` is left. Where warps can decide for themselves, the work on tiles of such a loop stands in
    `tile.if_any`, one between any two barriers, waits, copies and stores, which all warps come to as before. Else, and with several
    conditions, the products of scores and weights get the conditions as `needs`. Loops for which neither is possible stay as they
    are, and a missed remark says why.

    ```mlir
    %r:3 = scf.for ... iter_args(%acc = ..., %max = ..., %sum = ...) {
      tile.skip_unless %sees : tensor<128xi1, #rows>
      %s = tile_nv.dot %q, %keys, %zero
      tile_nv.barrier
      ... // computes %newacc, %newmax, %newsum of %s, %acc, %max, %sum
      scf.yield %newacc, %newmax, %newsum
    // becomes
    %r:3 = scf.for ... iter_args(%acc = ..., %max = ..., %sum = ...) {
      %s = tile.if_any %sees changes(%zeros) { ... }
      tile_nv.barrier
      %new:3 = tile.if_any %sees changes(%acc, %max, %sum) { ... }
      scf.yield %new#0, %new#1, %new#2
    ```
  }];
  let statistics = [
    Statistic<"numLoops", "num-loops", "Loops whose trips warps may leave out, or products of them">,
    Statistic<"numProductLoops", "num-product-loops", "Loops with products of which warps may leave out parts">,
    Statistic<"numStaying", "num-staying", "Loops with a hint that stay as they are">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect", "heddle::tile::TileDialect"];
}

def TileVerifySyncPass : Pass<"tile-verify-sync", "heddle::tile::KernelOp"> {
  let summary = "Report accesses of shared memory that no barrier orders";
  let description = [{
    Input: kernels whose barriers are in place. Nothing is changed.

    Reports, at the second operation and with a note at the first, every pair of accesses of the same bytes that threads may make in
    either order, and every access of bytes that a copy in flight writes to. It shares no code with tile-insert-sync.
  }];
}

#endif // HEDDLE_TRANSFORMS_TILE_PASSES_TD
