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

// What stands in the way.
func.func private @kernel_index(%ctx: !llvm.ptr, %y: memref<?xindex>) {
  // expected-error @below {{op 'linalg.generic' has no GPU kernel: a buffer holds elements of type index, expected integers or floats of 1, 8, 16, 32 or 64 bits}}
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : memref<?xindex>) {
  ^bb0(%old: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  }
  return
}
func.func private @kernel_twice(%ctx: !llvm.ptr, %x: memref<?x?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{op 'linalg.generic' has no GPU kernel: expected each output to be indexed by all parallel loops, each once}}
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}
func.func @others(%ctx: !llvm.ptr, %x: memref<?x?xf32>, %y: memref<?xf32>, %z: memref<?xindex>) {
  func.call @kernel_index(%ctx, %z) : (!llvm.ptr, memref<?xindex>) -> ()
  func.call @kernel_twice(%ctx, %x, %y) : (!llvm.ptr, memref<?x?xf32>, memref<?xf32>) -> ()
  return
}
