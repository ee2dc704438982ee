//===- Passes.td - tile kernels to vector code on CPUs -------*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_TILETOVECTOR_PASSES_TD
#define HEDDLE_CONVERSION_TILETOVECTOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileRowsToLanesPass : Pass<"tile-rows-to-lanes", "::heddle::tile::KernelOp"> {
  let summary = "Exchange the dimensions of tiles where a loop reduces the rows of products";
  let description = [{
    Input: a `tile.kernel` as a builder makes it, before `convert-tile-to-vector`, whose vectors run along rows.

    A kernel in which a loop reduces the rows of a product, as an online softmax does, gets its tiles exchanged, so that its rows are the
    lanes of vectors: reductions, row statistics and their broadcasts need no shuffles then, and products no transposed panels. Loaded tiles
    keep their form, stored ones get it back. The results are the same up to the order of sums.

    Only kernels in which such rows fill whole vectors, and whose tiles are made by loads, stores, products, reductions, broadcasts, iota,
    transpose and elementwise ops in `scf.for`; others stay as they are.

    ```mlir
    %s = tile.dot %q, %k, %zeros {transpose_b} : tensor<64x128xf32>, tensor<32x128xf32> -> tensor<64x32xf32>
    %m = tile.reduce max %s along 1 : tensor<64x32xf32> -> tensor<64xf32>
    // becomes, with %qt = tile.transpose %q where %q is loaded
    %s = tile.dot %k, %qt, %zeros : tensor<32x128xf32>, tensor<128x64xf32> -> tensor<32x64xf32>
    %m = tile.reduce max %s along 0 : tensor<32x64xf32> -> tensor<64xf32>
    ```
  }];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">];
  let statistics = [Statistic<"numKernels", "num-kernels", "Kernels changed">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def ConvertTileToVectorPass : Pass<"convert-tile-to-vector", "mlir::ModuleOp"> {
  let summary = "Lower tile kernels and their launches to tasks of vector code";
  let description = [{
    Input: `tile.kernel`s, and functions that launch them; the first argument of such a function is the context, `!llvm.ptr`.

    * A kernel becomes a private function `(context, arguments..., x, y, z)` with one `scf.forall` over all programs, x fastest; a
      launch becomes a call of it.
    * A tile is a stack buffer whose rows are padded to whole vectors. Elementwise work, broadcasts, slices and `tile.iota` have no
      buffer if they are needed in one place: they are computed there, vector by vector. Reductions are computed in the loop that
      writes their operand, where there is one. Tiles that `scf.for` carries stay in one buffer.
    * f16 and bf16 tiles are kept as f32, rounded where the IR rounds. `tile.dot` is a register tile of `rows` x `vectors` vectors
      with loop-carried accumulators; an operand b that is transposed goes through a panel.
    * With `bf16-pairs`, bf16 tiles stay bf16, and a `tile.dot` of them over an even depth adds two products to a lane at once, from rows
      that are interleaved in pairs. With `amx`, those of whole matrix tiles of 16 x 16 sums are 2 x 2 of them at a time. Where a second
      product multiplies what is computed from the first one column by column, as in an online softmax whose rows are lanes, both are done
      for panels of 32 columns, and the products of one panel are interleaved with the vector code of another.
    * A `tile.dot` of at most 8 rows uses b where it lies, if its load has no padding and no other use.
    * Loads and stores of vectors where the memory is contiguous along the columns, of scalars otherwise. `ahead` of a load becomes
      `memref.prefetch` to the second-level cache, a cache line at a time.

    Output: no op of the tile dialect is left. An op that has no lowering is an error, and so are buffers of more than 512 KiB.

    ```mlir
    tile.kernel @double(%x: memref<?x64xf32>) {
      %view = tile.view %x[:, :] : memref<?x64xf32> -> !tile.view<?x64xf32>
      %row = tile.program_id x
      %c0 = arith.constant 0 : index
      %t = tile.load %view[%row, %c0] : !tile.view<?x64xf32> -> tensor<1x64xf32>
      %d = arith.addf %t, %t : tensor<1x64xf32>
      tile.store %d, %view[%row, %c0] : tensor<1x64xf32>, !tile.view<?x64xf32>
      tile.return
    }
    // becomes
    func.func private @double(%context: !llvm.ptr, %x: memref<?x64xf32>, %gx: index, %gy: index, %gz: index) {
      ...
      scf.forall (%program) in (%programs) { ... vector.load ... arith.addf ... : vector<16xf32> ... vector.store ... }
      return
    }
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"rows", "rows", "int64_t", "12", "rows of a register tile">,
    Option<"vectors", "vectors", "int64_t", "2", "vectors that a row of a register tile holds">,
    Option<"bf16Pairs", "bf16-pairs", "bool", "false", "multiply bf16 in pairs, as AVX512-BF16 does; for 16 lanes">,
    Option<"amx", "amx", "bool", "false", "multiply bf16 by matrix tiles (AMX-BF16); needs bf16-pairs">,
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels lowered">,
    Statistic<"stackBytes", "stack-bytes", "Bytes of tile buffers">,
  ];
  let dependentDialects = [
    "mlir::amx::AMXDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"
  ];
}

#endif // HEDDLE_CONVERSION_TILETOVECTOR_PASSES_TD
