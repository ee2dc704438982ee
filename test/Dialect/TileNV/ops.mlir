// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --cse --canonicalize | FileCheck %s --check-prefix=KEPT

// CHECK-DAG: #[[ACC:.*]] = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
// CHECK-DAG: #[[PART:.*]] = #tile.layout<16x4, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]>
// CHECK-DAG: #[[MEM:.*]] = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<80, offset = [(1), (2), (4), (8)], repeat = [5 x offset 16 -> coord0 16]>
#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#part = #tile.layout<16x4, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]>
#memory = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
#row = #tile.layout<80, offset = [(1), (2), (4), (8)], repeat = [5 x offset 16 -> coord0 16]>

// CHECK-LABEL: tile.kernel @buffers
tile.kernel @buffers(%x: memref<?x8xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  // CHECK: %[[B:.*]] = tile_nv.alloc : !tile_nv.buffer<16x8xf32, #[[MEM]]>
  %b = tile_nv.alloc : !tile_nv.buffer<16x8xf32, #memory>
  // CHECK: %[[RING:.*]] = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x8xf32, #[[MEM]], slots = 3>
  %ring = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x8xf32, #memory, slots = 3>
  // CHECK: tile_nv.alloc offset 16 : !tile_nv.buffer<80xi1, #[[ROW]]>
  %mask = tile_nv.alloc offset 16 : !tile_nv.buffer<80xi1, #row>
  // CHECK: %[[SLOT:.*]] = tile_nv.slot %[[RING]][%{{.*}}] : !tile_nv.buffer<16x8xf32, #[[MEM]], slots = 3> -> !tile_nv.buffer<16x8xf32, #[[MEM]]>
  %slot = tile_nv.slot %ring[%i] : !tile_nv.buffer<16x8xf32, #memory, slots = 3> -> !tile_nv.buffer<16x8xf32, #memory>
  // CHECK: tile_nv.copy_async %{{.*}}[%{{.*}}, %{{.*}}] to %[[SLOT]] : !tile.view<?x8xf32>, !tile_nv.buffer<16x8xf32, #[[MEM]]>
  tile_nv.copy_async %view[%i, %c0] to %slot : !tile.view<?x8xf32>, !tile_nv.buffer<16x8xf32, #memory>
  // CHECK: tile_nv.copy_async %{{.*}}[%{{.*}}, %{{.*}}] to %[[B]] bounded : !tile.view<?x8xf32>, !tile_nv.buffer<16x8xf32, #[[MEM]]>
  tile_nv.copy_async %view[%i, %c0] to %b bounded : !tile.view<?x8xf32>, !tile_nv.buffer<16x8xf32, #memory>
  // CHECK: tile_nv.commit_group
  tile_nv.commit_group
  // CHECK: tile_nv.wait_group 1
  tile_nv.wait_group 1
  // CHECK: tile_nv.barrier
  tile_nv.barrier
  // CHECK: tile_nv.load %[[B]] : !tile_nv.buffer<16x8xf32, #[[MEM]]> -> tensor<16x8xf32, #[[ACC]]>
  %t = tile_nv.load %b : !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x8xf32, #acc>
  // CHECK: tile_nv.store %{{.*}}, %[[SLOT]] : tensor<16x8xf32, #[[ACC]]>, !tile_nv.buffer<16x8xf32, #[[MEM]]>
  tile_nv.store %t, %slot : tensor<16x8xf32, #acc>, !tile_nv.buffer<16x8xf32, #memory>
  // CHECK: tile_nv.warp_barrier
  tile_nv.warp_barrier
  tile.return
}

// CHECK-LABEL: tile.kernel @products
tile.kernel @products(%y: memref<?xf32>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %out = tile.view %c[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %rows = tile.view %y[:] : memref<?xf32> -> !tile.view<?xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %b = tile_nv.alloc : !tile_nv.buffer<16x8xf32, #memory>
  %a = tile_nv.load %b : !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x8xf32, #acc>
  // CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} precision tf32x3 {transpose_b} : !tile_nv.buffer<16x8xf32, #[[MEM]]>, !tile_nv.buffer<16x8xf32, #[[MEM]]> -> tensor<16x16xf32>
  %d = tile_nv.dot %b, %b, %zero precision tf32x3 {transpose_b}
      : !tile_nv.buffer<16x8xf32, #memory>, !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x16xf32>
  // CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} {transpose_b} : tensor<16x8xf32, #[[ACC]]>, !tile_nv.buffer<16x8xf32, #[[MEM]]> -> tensor<16x16xf32>
  %e = tile_nv.dot %a, %b, %d {transpose_b}
      : tensor<16x8xf32, #acc>, !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x16xf32>
  %sees = arith.constant dense<true> : tensor<16xi1>
  // CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[SEES:.*]], %[[SEES]] : tensor<16xi1>, tensor<16xi1>) {transpose_b} :
  %f = tile_nv.dot %a, %b, %e needs(%sees, %sees : tensor<16xi1>, tensor<16xi1>) {transpose_b}
      : tensor<16x8xf32, #acc>, !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x16xf32>
  // CHECK: tile_nv.reduce_in_thread add %{{.*}} along 1 : tensor<16x8xf32, #[[ACC]]> -> tensor<16x4xf32, #[[PART]]>
  %part = tile_nv.reduce_in_thread add %a along 1 : tensor<16x8xf32, #acc> -> tensor<16x4xf32, #part>
  tile.store %e, %out[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// Reads of a buffer with a write or a barrier between them stay two reads.
// KEPT-LABEL: tile.kernel @effects
// KEPT: tile_nv.load
// KEPT: tile_nv.barrier
// KEPT: tile_nv.load
// KEPT: tile_nv.store
// KEPT: tile_nv.load
tile.kernel @effects(%x: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  %b = tile_nv.alloc : !tile_nv.buffer<16x8xf32, #memory>
  %0 = tile_nv.load %b : !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x8xf32, #acc>
  tile_nv.barrier
  %1 = tile_nv.load %b : !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x8xf32, #acc>
  %2 = arith.addf %0, %1 : tensor<16x8xf32, #acc>
  tile_nv.store %2, %b : tensor<16x8xf32, #acc>, !tile_nv.buffer<16x8xf32, #memory>
  %3 = tile_nv.load %b : !tile_nv.buffer<16x8xf32, #memory> -> tensor<16x8xf32, #acc>
  tile.store %3, %view[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<16x8xf32>
  tile.return
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<?xf32>, %n: index) {
  // CHECK: tile_nv.launch @lowered grid(%{{.*}}, %{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}) : memref<?xf32>, index
  tile_nv.launch @lowered grid(%n, %n, %n) (%x, %n) : memref<?xf32>, index
  return
}
module @lowered {}
