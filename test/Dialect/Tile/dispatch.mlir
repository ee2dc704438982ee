// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --bufferize-entries --canonicalize | FileCheck %s --check-prefix=BUFFERS

// The tiles of a kernel stay values.
// BUFFERS-LABEL: tile.kernel @scale
// BUFFERS: arith.mulf %{{.*}}, %{{.*}} : tensor<16xf32>
tile.kernel @scale(%x: memref<?xf32, strided<[1], offset: ?>>, %factor: f32, %y: memref<?xf32, strided<[1], offset: ?>>) {
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %block = tile.program_id x
  %first = arith.muli %block, %c16 : index
  %from = tile.view %x[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %to = tile.view %y[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %tile = tile.load %from[%first] pad(%zero) : !tile.view<?xf32> -> tensor<16xf32>
  %factors = tensor.splat %factor : tensor<16xf32>
  %scaled = arith.mulf %tile, %factors : tensor<16xf32>
  tile.store %scaled, %to[%first] : tensor<16xf32>, !tile.view<?xf32>
  tile.return
}

// A new buffer; then in place, as nothing reads it any more.
// CHECK-LABEL: func.func @twice
// BUFFERS-LABEL: func.func @twice(
func.func @twice(%x: tensor<?xf32>, %n: index, %factor: f32) -> tensor<?xf32> {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%size) : tensor<?xf32>
  // CHECK: %[[Y:.*]] = tile.dispatch @scale grid(%{{.*}}, %{{.*}}, %{{.*}}) ins(%{{.*}}, %{{.*}} : tensor<?xf32>, f32) outs(%{{.*}} : tensor<?xf32>)
  // BUFFERS: memref.alloc
  // BUFFERS: %[[FROM:.*]] = memref.cast %{{.*}} : memref<?xf32, strided<[?], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
  // BUFFERS: %[[TO:.*]] = memref.cast %{{.*}} : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  // BUFFERS: tile.launch @scale grid(%{{.*}}, %{{.*}}, %{{.*}}) (%[[FROM]], %{{.*}}, %[[TO]])
  // BUFFERS-NOT: memref.alloc
  // BUFFERS: tile.launch @scale
  %y = tile.dispatch @scale grid(%n, %c1, %c1) ins(%x, %factor : tensor<?xf32>, f32) outs(%init : tensor<?xf32>)
  %z = tile.dispatch @scale grid(%n, %c1, %c1) ins(%x, %factor : tensor<?xf32>, f32) outs(%y : tensor<?xf32>)
  // BUFFERS: return
  return %z : tensor<?xf32>
}
