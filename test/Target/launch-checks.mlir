// A call that a later kernel can't take is refused before the first one runs: @copy has a row of its grid's second dimension for each row.
// DEFINE: %{run} = env LD_LIBRARY_PATH=%fake_cuda HEDDLE_FAKE_CUDA_LOG=%t/log heddle-run
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=sm_80 --cuda-tools=none -o %t/m.so
// RUN: heddle-compile %s --target=sim-sm_80 -o %t/sim.so
// RUN: %{run} %t/m.so --random 1 --dim N=65535 && FileCheck %s --check-prefix=FITS --input-file=%t/log
// FITS: cuLaunchKernel (8192, 1, 1)
// FITS: cuLaunchKernel (1, 65535, 1)
// RUN: rm %t/log && not %{run} %t/m.so --random 1 --dim N=65536 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log --implicit-check-not=cuLaunchKernel --implicit-check-not=cuModuleLoadData
// LOG: cuInit
// RUN: not heddle-run %t/sim.so --random 1 --dim N=65536 --sim-report 2>&1 | FileCheck %s --implicit-check-not=launches
// CHECK: f: kernel 'copy': the shapes need a grid of 1 x 65536 x 1 programs, expected at most 2147483647 x 65535 x 65535

tile.kernel @twice(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %block = tile.program_id x
  %row = arith.muli %block, %c8 : index
  %from = tile.view %x[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<8x32xf32>
  %d = arith.addf %t, %t : tensor<8x32xf32>
  tile.store %d, %to[%row, %c0] : tensor<8x32xf32>, !tile.view<?x?xf32>
  tile.return
}
tile.kernel @copy(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %row = tile.program_id y
  %from = tile.view %x[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<1x32xf32>
  tile.store %t, %to[%row, %c0] : tensor<1x32xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @f(%x: tensor<?x32xf32> {heddle.name = "x", heddle.dims = ["N", ""]})
    -> (tensor<?x32xf32> {heddle.name = "y"}, tensor<?x32xf32> {heddle.name = "z"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %blocks = arith.ceildivui %n, %c8 : index
  %y = tile.dispatch @twice grid(%blocks, %c1, %c1) ins(%x : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>)
  %z = tile.dispatch @copy grid(%c1, %n, %c1) ins(%x : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>)
  return %y, %z : tensor<?x32xf32>, tensor<?x32xf32>
}
