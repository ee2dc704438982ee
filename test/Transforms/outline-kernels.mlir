// RUN: heddle-opt %s --outline-kernels --split-input-file --verify-diagnostics | FileCheck %s
// RUN: heddle-opt %s --outline-kernels=complete-products --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=COMPLETE

#id = affine_map<(i, j) -> (i, j)>

// Kernels know neither extents nor outer strides, take what their body captures, and hold constants themselves.
// CHECK-LABEL: func.func @entry(
// CHECK-SAME: %[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[X:[a-z0-9]+]]: memref<?x4xf32, strided<[?, 1]>>, %[[Y:[a-z0-9]+]]: memref<?x4xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK-DAG: %[[KX:.*]] = memref.cast %[[X]] : {{.*}} to memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK-DAG: %[[KY:.*]] = memref.cast %[[Y]] : {{.*}} to memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK: call @kernel_generic(%[[CTX]], %[[KX]], %[[KY]], %[[N]])
// CHECK: call @kernel_copy(%[[CTX]],
// CHECK-NOT: linalg.
// CHECK: return
func.func @entry(%ctx: !llvm.ptr, %x: memref<?x4xf32, strided<[?, 1]>>, %y: memref<?x4xf32>, %n: index) {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32, strided<[?, 1]>>) outs(%y : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %first = arith.cmpi slt, %i, %n : index
    %p = arith.mulf %a, %two : f32
    %r = arith.select %first, %p, %a : f32
    linalg.yield %r : f32
  }
  memref.copy %y, %x : memref<?x4xf32> to memref<?x4xf32, strided<[?, 1]>>
  return
}

// CHECK-LABEL: func.func private @kernel_generic(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[A:[a-z0-9]+]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[B:[a-z0-9]+]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[M:[a-z0-9]+]]: index)
// CHECK: %[[TWO:.*]] = arith.constant 2.0
// CHECK: linalg.generic {{.*}} ins(%[[A]] : {{.*}}) outs(%[[B]] :
// CHECK: arith.cmpi slt, %{{.*}}, %[[M]]
// CHECK: arith.mulf %{{.*}}, %[[TWO]]
// CHECK-LABEL: func.func private @kernel_copy(
// CHECK: linalg.copy

// -----

// An argument that was updated in place is not copied to itself, whatever its type is called.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: call
// CHECK: return
func.func @in_place(%ctx: !llvm.ptr, %x: memref<?x4xf32>) {
  memref.copy %x, %x : memref<?x4xf32> to memref<?x4xf32>
  %y = memref.cast %x : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
  memref.copy %y, %x : memref<?x4xf32, strided<[4, 1], offset: ?>> to memref<?x4xf32>
  return
}
// CHECK-NOT: kernel_

// -----

func.func @left_over(%ctx: !llvm.ptr, %x: memref<4x4xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4x4xf32> to tensor<4x4xf32>
  // expected-error @+1 {{'linalg.softmax' op has no lowering to buffers and loops; write it as linalg structured ops}}
  %s = linalg.softmax dimension(1) ins(%t : tensor<4x4xf32>) outs(%t : tensor<4x4xf32>) -> tensor<4x4xf32>
  bufferization.materialize_in_destination %s in writable %x : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{entry 'no_context' does not take a context first; run entry-to-buffers first}}
func.func @no_context(%x: memref<4x4xf32>) {
  linalg.copy ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  return
}

// -----

func.func @tensors(%ctx: !llvm.ptr, %x: tensor<4x4xf32>) {
  // expected-error @+1 {{'linalg.copy' op has no lowering to buffers and loops; write it as linalg structured ops}}
  %y = linalg.copy ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>

// With complete-products a product, its zeros and its rounding are one kernel, and the sums a buffer of the kernel's.
// COMPLETE-LABEL: func.func @rounded
// COMPLETE-NOT: memref.alloc
// COMPLETE: call @kernel_contract(
// COMPLETE-NOT: call
// COMPLETE: return
// CHECK-LABEL: func.func @rounded
// CHECK: call @kernel_fill
// CHECK: call @kernel_contract
// CHECK: call @kernel_generic
func.func @rounded(%ctx: !llvm.ptr, %x: memref<4x8xbf16>, %w: memref<8x8xbf16>, %r: memref<4x8xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<4x8xf32>)
  linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<4x8xbf16>, memref<8x8xbf16>) outs(%sums : memref<4x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : memref<4x8xf32>) outs(%r : memref<4x8xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  }
  return
}

// The product would read what has been rounded already: the sums stay outside.
// COMPLETE-LABEL: func.func @in_place
// COMPLETE: memref.alloc
// COMPLETE: call @kernel_contract
// COMPLETE: call @kernel_generic
func.func @in_place(%ctx: !llvm.ptr, %x: memref<8x8xbf16>, %w: memref<8x8xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() {alignment = 64 : i64} : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<8x8xf32>)
  linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<8x8xbf16>, memref<8x8xbf16>) outs(%sums : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sums : memref<8x8xf32>) outs(%x : memref<8x8xbf16>) {
  ^bb0(%a: f32, %b: bf16):
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  }
  return
}

// Zeros that something else sees, another start, and sums that are read again.
// COMPLETE-LABEL: func.func @others
// COMPLETE: call @kernel_fill
// COMPLETE: call @kernel_copy
// COMPLETE: call @kernel_contract
// COMPLETE: call @kernel_fill
// COMPLETE: call @kernel_contract
// COMPLETE: call @kernel_contract
// COMPLETE: call @kernel_generic
// COMPLETE: call @kernel_copy
func.func @others(%ctx: !llvm.ptr, %x: memref<4x8xf32>, %w: memref<8x8xf32>, %y: memref<4x8xf32>, %z: memref<4x8xf32>, %r: memref<4x8xbf16>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<4x8xf32>)
  linalg.copy ins(%y : memref<4x8xf32>) outs(%z : memref<4x8xf32>)
  linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>)
  %a = memref.alloc() : memref<4x8xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<4x8xf32>)
  linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%a : memref<4x8xf32>)
  %b = memref.alloc() : memref<4x8xf32>
  linalg.fill ins(%zero : f32) outs(%b : memref<4x8xf32>)
  linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%b : memref<4x8xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : memref<4x8xf32>) outs(%r : memref<4x8xbf16>) {
  ^bb0(%p: f32, %q: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  }
  linalg.copy ins(%b : memref<4x8xf32>) outs(%z : memref<4x8xf32>)
  return
}

// COMPLETE-LABEL: func.func private @kernel_contract(
// COMPLETE-SAME: %[[X:[a-z0-9]+]]: memref<?x?xbf16, {{[^)]*}}, %[[R:[a-z0-9]+]]: memref<?x?xbf16, strided<[?, 1], offset: ?>>)
// COMPLETE: %[[ROWS:.*]] = memref.dim %[[R]], %c0
// COMPLETE: %[[COLUMNS:.*]] = memref.dim %[[R]], %c1
// COMPLETE: %[[SUMS:.*]] = memref.alloc(%[[ROWS]], %[[COLUMNS]]) {alignment = 64 : i64} : memref<?x?xf32>
// COMPLETE: linalg.fill {{.*}} outs(%[[SUMS]]
// COMPLETE: linalg.contract {{.*}} outs(%[[SUMS]]
// COMPLETE: linalg.generic {{.*}} ins(%[[SUMS]] : {{.*}}) outs(%[[R]]
