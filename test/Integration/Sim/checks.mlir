// Checks of values: the simulator's tensors are in the host's memory and are looked at; a device's are not, and nothing waits for them.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=sim-sm_80,sm_80 --cuda-tools=none -o %t/m.so
// DEFINE: %{inputs} = --random 1 --input start=%t/start.npy
// RUN: python3 %S/inputs/write_i32.py %t/start.npy 0 12
// RUN: not heddle-run %t/m.so %{inputs} --target=sim-sm_80 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: f: start[1] is 12, expected a value from 0 to 8 (status 2)
// RUN: env LD_LIBRARY_PATH=%fake_cuda HEDDLE_FAKE_CUDA_LOG=%t/log heddle-run %t/m.so %{inputs} --target=sm_80
// RUN: FileCheck %s --check-prefix=LOG --input-file=%t/log
// LOG: cuDeviceGetAttribute
// LOG-NOT: DtoH
// LOG: cuLaunchKernel
// RUN: python3 %S/inputs/write_i32.py %t/start.npy 0 8
// RUN: heddle-run %t/m.so %{inputs} --target=sim-sm_80

tile.kernel @twice(%x: memref<?xi32, strided<[1], offset: ?>>, %y: memref<?xi32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %from = tile.view %x[:] : memref<?xi32, strided<[1], offset: ?>> -> !tile.view<?xi32>
  %to = tile.view %y[:] : memref<?xi32, strided<[1], offset: ?>> -> !tile.view<?xi32>
  %t = tile.load %from[%c0] pad(%zero) : !tile.view<?xi32> -> tensor<32xi32>
  %d = arith.addi %t, %t : tensor<32xi32>
  tile.store %d, %to[%c0] : tensor<32xi32>, !tile.view<?xi32>
  tile.return
}
func.func @f(%start: tensor<?xi32> {heddle.name = "start", heddle.dims = ["N"]}) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  attn.require_range %start in [%c0, %c8], "start" : tensor<?xi32>
  %n = tensor.dim %start, %c0 : tensor<?xi32>
  %e = tensor.empty(%n) : tensor<?xi32>
  %y = tile.dispatch @twice grid(%c1, %c1, %c1) ins(%start : tensor<?xi32>) outs(%e : tensor<?xi32>)
  return %y : tensor<?xi32>
}
