// RUN: heddle-opt %s --infer-entry-dims --entry-to-buffers --split-input-file --verify-diagnostics | FileCheck %s

// The context first, then arguments, then results that update none. Weights and results are contiguous, caches and inputs have free
// strides but the last.
// CHECK-LABEL: func.func @signature(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[X:[a-zA-Z0-9_]+]]: memref<?x4xf32, strided<[?, 1]>> {heddle.dims = ["d0", 4], heddle.name = "arg0"},
// CHECK-SAME: %[[W:[a-zA-Z0-9_]+]]: memref<4x4xbf16> {heddle.dims = [4, 4], heddle.name = "w", heddle.role = "weight"},
// CHECK-SAME: %{{.*}}: memref<?xi32> {heddle.dims = ["d1"], heddle.name = "arg2"},
// CHECK-SAME: %[[R:[a-zA-Z0-9_]+]]: memref<?x4xf32> {heddle.dims = ["d0", 4], heddle.name = "result0"})
// CHECK-SAME: attributes {heddle.entry = "signature"} {
// CHECK: bufferization.to_tensor %[[X]] restrict :
// CHECK: bufferization.to_tensor %[[W]] restrict :
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[R]]
// CHECK: return{{$}}
func.func @signature(%x: tensor<?x4xf32>, %w: tensor<4x4xbf16> {heddle.name = "w", heddle.role = "weight"}, %s: tensor<?xi32>)
    -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}

// Plain results are stored before arguments are overwritten, and an argument that becomes another one is copied.
// CHECK-LABEL: func.func @swap(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?xf32> {heddle.dims = ["N"], heddle.name = "a"}, %[[B:[a-z0-9]+]]: memref<?xf32> {heddle.dims = ["N"], heddle.name = "b"}, %[[OLD:[a-z0-9]+]]: memref<?xf32>
// CHECK: %[[TA:[a-zA-Z0-9_]+]] = bufferization.to_tensor %[[A]] restrict writable
// CHECK: %[[TB:[a-zA-Z0-9_]+]] = bufferization.to_tensor %[[B]] restrict writable
// CHECK: bufferization.materialize_in_destination %[[TA]] in restrict writable %[[OLD]]
// CHECK: %[[CB:[a-zA-Z0-9_]+]] = bufferization.alloc_tensor() copy(%[[TB]])
// CHECK: %[[CA:[a-zA-Z0-9_]+]] = bufferization.alloc_tensor() copy(%[[TA]])
// CHECK: %[[NA:[a-zA-Z0-9_]+]] = bufferization.materialize_in_destination %[[CB]] in %[[TA]]
// CHECK: %[[NB:[a-zA-Z0-9_]+]] = bufferization.materialize_in_destination %[[CA]] in %[[TB]]
// CHECK: bufferization.materialize_in_destination %[[NA]] in writable %[[A]]
// CHECK: bufferization.materialize_in_destination %[[NB]] in writable %[[B]]
func.func @swap(%a: tensor<?xf32> {heddle.name = "a", heddle.dims = ["N"]}, %b: tensor<?xf32> {heddle.name = "b", heddle.dims = ["N"]})
    -> (tensor<?xf32> {heddle.updates = "a"}, tensor<?xf32> {heddle.updates = "b"}, tensor<?xf32>) {
  return %b, %a, %a : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// Every user of a filled tensor fills one of its own.
// CHECK-LABEL: func.func @fills
// CHECK-COUNT-2: linalg.fill
func.func @fills(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul ins(%a, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

func.func private @helper(tensor<4xf32>)
func.func @calls(%x: tensor<4xf32>) {
  // expected-error @+1 {{entry 'calls' calls a function that could not be inlined: it is recursive or has no body}}
  call @helper(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{entry 'twice' updates argument 'x' by two results}}
func.func @twice(%x: tensor<4xf32> {heddle.name = "x"}) -> (tensor<4xf32> {heddle.updates = "x"}, tensor<4xf32> {heddle.updates = "x"}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{entry 'unknown' result 0 updates 'y', which is no argument}}
func.func @unknown(%x: tensor<4xf32> {heddle.name = "x"}) -> (tensor<4xf32> {heddle.updates = "y"}) {
  return %x : tensor<4xf32>
}
