// RUN: heddle-opt %s --emulate-amx --split-input-file --verify-diagnostics | FileCheck %s

// A tile is a vector of its rows, also where loops carry it. Memory may name its elements otherwise.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: memref<?x?xbf16>, %[[B:.*]]: memref<?x32xi32>, %[[C:.*]]: memref<16x16xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<16x32xbf16>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<16x16xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<16x16xf32>) {
// CHECK-COUNT-16: vector.load %[[A]][{{.*}}] : memref<?x?xbf16>, vector<32xbf16>
// CHECK-COUNT-16: vector.load %[[B]][{{.*}}] : memref<?x32xi32>, vector<16xi32>
// Even and odd elements of k have sums of their own.
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK: vector.deinterleave
// CHECK-COUNT-2: vector.fma
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK-COUNT-16: vector.store %{{.*}}, %[[C]]
// CHECK-NOT: amx.
func.func @product(%a: memref<?x?xbf16>, %b: memref<?x32xi32>, %c: memref<16x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  %sum = scf.for %k = %c0 to %n step %c16 iter_args(%acc = %zero) -> !amx.tile<16x16xf32> {
    %x = amx.tile_load %a[%c0, %k] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %y = amx.tile_load %b[%k, %c0] : memref<?x32xi32> into !amx.tile<16x32xbf16>
    %next = amx.tile_mulf %x, %y, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    scf.yield %next : !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%c0, %c0], %sum : memref<16x16xf32>, !amx.tile<16x16xf32>
  return
}

// -----

func.func @f16(%a: memref<16x32xf16>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  %x = amx.tile_load %a[%c0, %c0] : memref<16x32xf16> into !amx.tile<16x32xf16>
  // expected-error @below {{failed to legalize operation 'amx.tile_mulf'}}
  %sum = amx.tile_mulf %x, %x, %zero : !amx.tile<16x32xf16>, !amx.tile<16x32xf16>, !amx.tile<16x16xf32>
  amx.tile_store %c[%c0, %c0], %sum : memref<16x16xf32>, !amx.tile<16x16xf32>
  return
}
