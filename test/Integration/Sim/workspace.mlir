// Two launches with a buffer in between, which is part of the workspace: host memory for the simulator, the device's for CUDA.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=cpu,sim-sm_80,sm_80 --cuda-tools=none -o %t/m.so
// RUN: heddle-run %t/m.so --random 3 --dim N=77 --target=cpu --output y=%t/y.npy
// RUN: heddle-run %t/m.so --random 3 --dim N=77 --target=sim-sm_80 --verify y=%t/y.npy --rtol 0

// 77 rows of 32 f32; the kernels of both launches get it, and it is loaded once.
// RUN: env LD_LIBRARY_PATH=%fake_cuda HEDDLE_FAKE_CUDA_LOG=%t/log heddle-run %t/m.so --random 3 --dim N=77 --target=sm_80
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// LOG-COUNT-3: cuMemAlloc 9856
// LOG: cuModuleLoadData
// LOG: cuLaunchKernel (10, 1, 1)
// LOG-NOT: cuModuleLoadData
// LOG: cuLaunchKernel (10, 1, 1)
// LOG-NOT: cuLaunchKernel

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
func.func @f(%x: tensor<?x32xf32> {heddle.name = "x", heddle.dims = ["N", ""]}) -> (tensor<?x32xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %blocks = arith.ceildivui %n, %c8 : index
  %m = tile.dispatch @twice grid(%blocks, %c1, %c1) ins(%x : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>)
  %f = tensor.empty(%n) : tensor<?x32xf32>
  %y = tile.dispatch @twice grid(%blocks, %c1, %c1) ins(%m : tensor<?x32xf32>) outs(%f : tensor<?x32xf32>)
  return %y : tensor<?x32xf32>
}
