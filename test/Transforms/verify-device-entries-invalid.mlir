// RUN: heddle-opt %s --verify-device-entries=host-memory --verify-diagnostics
// RUN: heddle-opt %s --verify-device-entries --verify-diagnostics

// The error is at the op, once for a kernel of two calls.
func.func private @kernel_add(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{op 'linalg.add' has no GPU kernel}}
  linalg.add ins(%x, %x : memref<?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
func.func private @elsewhere(%x: memref<?xf32>)
func.func @entry(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
  func.call @kernel_add(%ctx, %x, %y) : (!llvm.ptr, memref<?xf32>, memref<?xf32>) -> ()
  func.call @kernel_add(%ctx, %y, %x) : (!llvm.ptr, memref<?xf32>, memref<?xf32>) -> ()
  return
}
