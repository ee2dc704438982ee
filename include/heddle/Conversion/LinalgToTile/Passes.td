//===- Passes.td - linalg ops on buffers to tile kernels -----*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_LINALG_TO_TILE_PASSES_TD
#define HEDDLE_CONVERSION_LINALG_TO_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertLinalgToTilePass : Pass<"convert-linalg-to-tile", "mlir::ModuleOp"> {
  let summary = "Turn kernels of one linalg op into tile kernels";
  let description = [{
    For what no kernel was formed of on tensors: copies and fills that bufferization put in, reductions, other elementwise work.

    Input: private functions of one linalg op on buffers, and calls of them, as outline-kernels leaves them. Output: each is a
    `tile.kernel` and launches of it. A program computes a block of the outputs: columns along their last dimension, rows along
    another. Reduction loops are loops of the program, one element after another.

    An op stays as it is if an output is not indexed by all parallel loops, each once; if its buffers hold other elements than integers
    and floats of 1, 8, 16, 32 or 64 bits; or if its body has operations that are not elementwise.

    ```mlir
    func.func private @kernel_copy(%ctx: !llvm.ptr, %from: memref<?x?xf32, strided<[?, 1], offset: ?>>,
                                   %to: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
      linalg.copy ins(%from : memref<?x?xf32, strided<[?, 1], offset: ?>>) outs(%to : memref<?x?xf32, strided<[?, 1], offset: ?>>)
      return
    }
    call @kernel_copy(%ctx, %x, %y) : (...) -> ()
    // becomes
    tile.kernel private @kernel_copy(%from: memref<?x?xf32, strided<[?, 1], offset: ?>>, %to: ...) {
      ...
      %block = tile.load %rows[%row, %column] pad(%zero) : !tile.view<?x?xf32> -> tensor<8x256xf32>
      tile.store %block, ...
    }
    tile.launch @kernel_copy grid(%programs, %c1, %c1) (%x, %y) : ...
    ```
  }];
  let statistics = [Statistic<"numKernels", "num-kernels", "Kernels built">];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect", "heddle::tile::TileDialect"
  ];
}

#endif // HEDDLE_CONVERSION_LINALG_TO_TILE_PASSES_TD
