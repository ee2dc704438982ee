// RUN: heddle-opt %s --convert-tile-to-vector=bf16-pairs --canonicalize --cse | FileCheck %s

// Factors stay bf16. The right one, loaded in front of the loop, is packed there once: rows 2i and 2i + 1 interleaved.
// CHECK-LABEL: func.func private @natural(
// CHECK-DAG: %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<24x16xbf16>
// CHECK-DAG: %[[PAIRS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8x32xi32>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK-COUNT-2: vector.load {{.*}} vector<32xbf16>
// CHECK-COUNT-2: vector.shuffle {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK: scf.for {{.*}} to %{{.*}} step
// CHECK: %{{.*}}:24 = scf.for %[[K:.*]] = %c0 to %c8 step %c2 iter_args
// CHECK: vector.load %[[PAIRS]][%[[K]], %c0] : memref<8x32xi32>, vector<16xi32>
// CHECK: vector.load %[[A]][{{.*}}] : memref<24x16xbf16>, vector<2xbf16>
// CHECK-COUNT-48: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK-NOT: dpbf16ps
tile.kernel @natural(%a: memref<?x16xbf16>, %b: memref<16x32xbf16>, %c: memref<24x32xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %zeros = arith.constant dense<0.0> : tensor<24x32xf32>
  %aView = tile.view %a[:, :] : memref<?x16xbf16> -> !tile.view<?x16xbf16>
  %bView = tile.view %b[:, :] : memref<16x32xbf16> -> !tile.view<16x32xbf16>
  %cView = tile.view %c[:, :] : memref<24x32xf32> -> !tile.view<24x32xf32>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<16x32xbf16> -> tensor<16x32xbf16>
  %sum = scf.for %i = %c0 to %end step %c24 iter_args(%acc = %zeros) -> (tensor<24x32xf32>) {
    %aTile = tile.load %aView[%i, %c0] : !tile.view<?x16xbf16> -> tensor<24x16xbf16>
    %p = tile.dot %aTile, %bTile, %acc : tensor<24x16xbf16>, tensor<16x32xbf16> -> tensor<24x32xf32>
    scf.yield %p : tensor<24x32xf32>
  }
  tile.store %sum, %cView[%c0, %c0] : tensor<24x32xf32>, !tile.view<24x32xf32>
  tile.return
}

// The left factor is packed for transpose_a, the right one is rounded and packed at once.
// CHECK-LABEL: func.func private @transposed(
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<4x16xi32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<4x32xi32>
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xf32>) -> vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
tile.kernel @transposed(%a: memref<8x12xbf16>, %b: memref<8x32xf32>, %c: memref<12x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<12x32xf32>
  %aView = tile.view %a[:, :] : memref<8x12xbf16> -> !tile.view<8x12xbf16>
  %bView = tile.view %b[:, :] : memref<8x32xf32> -> !tile.view<8x32xf32>
  %cView = tile.view %c[:, :] : memref<12x32xf32> -> !tile.view<12x32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<8x12xbf16> -> tensor<8x12xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<8x32xf32> -> tensor<8x32xf32>
  %rounded = arith.truncf %bTile : tensor<8x32xf32> to tensor<8x32xbf16>
  %p = tile.dot %aTile, %rounded, %zeros {transpose_a} : tensor<8x12xbf16>, tensor<8x32xbf16> -> tensor<12x32xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<12x32xf32>, !tile.view<12x32xf32>
  tile.return
}

// An odd depth has no pairs: factors are widened.
// CHECK-LABEL: func.func private @odd(
// CHECK-NOT: dpbf16ps
// CHECK: vector.fma
tile.kernel @odd(%a: memref<12x7xbf16>, %b: memref<7x32xbf16>, %c: memref<12x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<12x32xf32>
  %aView = tile.view %a[:, :] : memref<12x7xbf16> -> !tile.view<12x7xbf16>
  %bView = tile.view %b[:, :] : memref<7x32xbf16> -> !tile.view<7x32xbf16>
  %cView = tile.view %c[:, :] : memref<12x32xf32> -> !tile.view<12x32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<12x7xbf16> -> tensor<12x7xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<7x32xbf16> -> tensor<7x32xbf16>
  %p = tile.dot %aTile, %bTile, %zeros : tensor<12x7xbf16>, tensor<7x32xbf16> -> tensor<12x32xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<12x32xf32>, !tile.view<12x32xf32>
  tile.return
}
