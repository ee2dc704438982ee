// RUN: heddle-opt %s --split-input-file --verify-device-entries --verify-diagnostics
// RUN: heddle-opt %s --split-input-file --verify-device-entries=host-memory | FileCheck %s

// Kernels and views only.
tile.kernel @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
  tile.return
}
// CHECK-LABEL: @launches
func.func @launches(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  tile.launch @copy grid(%n, %c1, %c1) (%x, %t) : memref<?xf32>, memref<?xf32>
  tile.launch @copy grid(%n, %c1, %c1) (%t, %y) : memref<?xf32>, memref<?xf32>
  return
}

// -----

// The host reads tensors of the simulator only.
// CHECK-LABEL: @reads
func.func @reads(%ctx: !llvm.ptr, %x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{op 'memref.load' has no GPU kernel: the host would have to wait for the device and access its memory, for instance for an attn.rope whose scaling depends on the length of a call; expected, for instance, a rope with length or inv_freq, or target sim-sm_80}}
  %v = memref.load %x[%c0] : memref<?xi32>
  %ok = arith.cmpi sge, %v, %v : i32
  attn.require %ok, "x[0] is {0}" (%v : i32)
  return
}
