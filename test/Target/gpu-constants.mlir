// Constant tensors of entries: on the CPU and in the simulator they are data of the module; a CUDA device gets a copy in each context.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference -o %t/cpu.so
// RUN: heddle-compile %s --target=sim-sm_80,sm_80 --cuda-tools=none -o %t/m.so
// RUN: heddle-run %t/cpu.so --random 1 --dim L=11 --output o=%t/o.npy --output rows=%t/rows.npy
// RUN: heddle-run %t/m.so --random 1 --dim L=11 --target=sim-sm_80 --sim-check --verify o=%t/o.npy --verify rows=%t/rows.npy --rtol 0

// Two constants are copied, before the first launch and once: three of the calls are timed.
// DEFINE: %{run} = env LD_LIBRARY_PATH=%fake_cuda HEDDLE_FAKE_CUDA_LOG=%t/log heddle-run %t/m.so --random 1 --dim L=11 --target=sm_80
// RUN: %{run} --bench 3
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// LOG-NOT: cuLaunchKernel
// LOG: cuMemAlloc 96
// LOG-NEXT: cuMemcpyHtoDAsync 96, stream
// LOG-NEXT: cuStreamSynchronize
// LOG: cuMemAlloc 20
// LOG-NEXT: cuMemcpyHtoDAsync 20, stream
// LOG-NEXT: cuStreamSynchronize
// LOG: cuLaunchKernel
// LOG-NOT: HtoDAsync
// LOG-NOT: cuStreamSynchronize
// RUN: not env HEDDLE_FAKE_CUDA=cuMemcpyHtoDAsync=700 %{run} 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: f: cuMemcpyHtoDAsync of a constant tensor: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)
// RUN: not env HEDDLE_FAKE_CUDA=capturing %{run} 2>&1 | FileCheck %s --check-prefix=CAPTURE
// CAPTURE: f: a constant tensor of {{20|96}} bytes is not loaded on device 0 yet, which is not possible while a stream is captured; call 'f' once before the capture

#all = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<?x5xf32> {heddle.name = "x", heddle.dims = ["L", ""]}) -> (tensor<?x5xf32> {heddle.name = "o"}, tensor<?x8xf32> {heddle.name = "rows"}) {
  %c0 = arith.constant 0 : index
  %l = tensor.dim %x, %c0 : tensor<?x5xf32>
  // With an operation that a kernel is formed of.
  %scales = arith.constant dense<[0.5, 1.5, -2.0, 3.0, 0.25]> : tensor<5xf32>
  %e = tensor.empty(%l) : tensor<?x5xf32>
  %o = linalg.generic {indexing_maps = [#all, affine_map<(i, j) -> (j)>, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %scales : tensor<?x5xf32>, tensor<5xf32>) outs(%e : tensor<?x5xf32>) {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %r = arith.mulf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<?x5xf32>
  // Rows by number.
  %table = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0]]> : tensor<3x8xf32>
  %f = tensor.empty(%l) : tensor<?x8xf32>
  %rows = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<?x8xf32>) {
  ^bb0(%old: f32):
    %three = arith.constant 3 : index
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %row = arith.remui %i, %three : index
    %r = tensor.extract %table[%row, %j] : tensor<3x8xf32>
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %o, %rows : tensor<?x5xf32>, tensor<?x8xf32>
}
