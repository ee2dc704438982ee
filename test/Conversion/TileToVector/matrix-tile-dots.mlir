// RUN: heddle-opt %s --convert-tile-to-vector="bf16-pairs amx" --canonicalize --cse | FileCheck %s
// RUN: not heddle-opt %s --convert-tile-to-vector=amx 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: error: option 'amx' needs 'bf16-pairs'

// 2 x 2 sums, each from a zero of its own, and one column of tiles that is left over. The right factor is in pairs of rows.
// CHECK-LABEL: func.func private @natural(
// CHECK-DAG: %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x64xbf16>
// CHECK-DAG: %[[PAIRS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x48xi32>
// CHECK-DAG: %[[C:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x48xf32>
// CHECK-COUNT-4: amx.tile_zero : !amx.tile<16x16xf32>
// CHECK: %[[SUMS:.*]]:4 = scf.for %[[STEP:.*]] = %c0 to %c2 step %c1 iter_args
// CHECK-DAG: %[[K:.*]] = arith.muli %[[STEP]], %c32
// CHECK-DAG: amx.tile_load %[[A]][%{{.*}}, %[[K]]] : memref<32x64xbf16> into !amx.tile<16x32xbf16>
// CHECK-DAG: amx.tile_load %[[A]]
// CHECK-DAG: amx.tile_load %[[PAIRS]]
// CHECK-DAG: amx.tile_load %[[PAIRS]][%{{.*}}, %{{.*}}] : memref<32x48xi32> into !amx.tile<16x32xbf16>
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: amx.tile_store %[[C]][%{{.*}}, %{{.*}}], %[[SUMS]]#0 : memref<32x48xf32>, !amx.tile<16x16xf32>
// CHECK-COUNT-3: amx.tile_store %[[C]]
// CHECK-COUNT-2: amx.tile_zero
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_store
// CHECK-NOT: dpbf16ps
tile.kernel @natural(%a: memref<32x64xbf16>, %b: memref<64x48xbf16>, %c: memref<32x48xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x48xf32>
  %aView = tile.view %a[:, :] : memref<32x64xbf16> -> !tile.view<32x64xbf16>
  %bView = tile.view %b[:, :] : memref<64x48xbf16> -> !tile.view<64x48xbf16>
  %cView = tile.view %c[:, :] : memref<32x48xf32> -> !tile.view<32x48xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<64x48xbf16> -> tensor<64x48xbf16>
  %p = tile.dot %aTile, %bTile, %zeros : tensor<32x64xbf16>, tensor<64x48xbf16> -> tensor<32x48xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<32x48xf32>, !tile.view<32x48xf32>
  tile.return
}

// As attention adds values: the sums of the loop are decayed where they are, and go on from there. Rows of the transposed left factor are
// interleaved, and exchanged as 32-bit elements.
// CHECK-LABEL: func.func private @transposed(
// CHECK-DAG: %[[V:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x16xi32>
// CHECK-DAG: %[[ACC:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xf32>
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = vector.load %[[ACC]]
// CHECK: %[[DECAYED:.*]] = arith.mulf %[[OLD]]
// CHECK: vector.store %[[DECAYED]], %[[ACC]]
// CHECK-COUNT-2: amx.tile_load %[[ACC]][%{{.*}}, %{{.*}}] : memref<16x32xf32> into !amx.tile<16x16xf32>
// CHECK: amx.tile_load {{.*}} : memref<16x16xi32> into !amx.tile<16x32xbf16>
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_store %[[ACC]]
tile.kernel @transposed(%v: memref<?x16xbf16>, %w: memref<?x32xbf16>, %o: memref<16x32xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %half = arith.constant dense<0.5> : tensor<16x32xf32>
  %vView = tile.view %v[:, :] : memref<?x16xbf16> -> !tile.view<?x16xbf16>
  %wView = tile.view %w[:, :] : memref<?x32xbf16> -> !tile.view<?x32xbf16>
  %oView = tile.view %o[:, :] : memref<16x32xf32> -> !tile.view<16x32xf32>
  %sum = scf.for %i = %c0 to %end step %c32 iter_args(%acc = %zeros) -> (tensor<16x32xf32>) {
    %vTile = tile.load %vView[%i, %c0] : !tile.view<?x16xbf16> -> tensor<32x16xbf16>
    %wTile = tile.load %wView[%i, %c0] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
    %decayed = arith.mulf %acc, %half : tensor<16x32xf32>
    %p = tile.dot %vTile, %wTile, %decayed {transpose_a} : tensor<32x16xbf16>, tensor<32x32xbf16> -> tensor<16x32xf32>
    scf.yield %p : tensor<16x32xf32>
  }
  tile.store %sum, %oView[%c0, %c0] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}

// Both factors are filled up with zeros to a depth of 64.
// CHECK-LABEL: func.func private @ragged(
// CHECK-DAG: %[[LEFT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x64xbf16>
// CHECK-DAG: %[[RIGHT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x16xi32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : vector<16xbf16>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0> : vector<16xi32>
// CHECK: vector.maskedload {{.*}} : memref<16x48xbf16>
// CHECK: vector.store %[[NONE]], %[[LEFT]][%{{.*}}, %c48]
// CHECK-COUNT-12: vector.store %[[ZEROS]], %[[RIGHT]]
// CHECK: amx.tile_mulf
tile.kernel @ragged(%a: memref<16x40xbf16>, %b: memref<40x16xbf16>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %aView = tile.view %a[:, :] : memref<16x40xbf16> -> !tile.view<16x40xbf16>
  %bView = tile.view %b[:, :] : memref<40x16xbf16> -> !tile.view<40x16xbf16>
  %cView = tile.view %c[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<16x40xbf16> -> tensor<16x40xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<40x16xbf16> -> tensor<40x16xbf16>
  %p = tile.dot %aTile, %bTile, %zeros : tensor<16x40xbf16>, tensor<40x16xbf16> -> tensor<16x16xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// 24 rows are no whole tiles.
// CHECK-LABEL: func.func private @pairs(
// CHECK-NOT: amx
// CHECK: dpbf16ps
tile.kernel @pairs(%a: memref<24x32xbf16>, %b: memref<32x32xbf16>, %c: memref<24x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<24x32xf32>
  %aView = tile.view %a[:, :] : memref<24x32xbf16> -> !tile.view<24x32xbf16>
  %bView = tile.view %b[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %cView = tile.view %c[:, :] : memref<24x32xf32> -> !tile.view<24x32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<24x32xbf16> -> tensor<24x32xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %p = tile.dot %aTile, %bTile, %zeros : tensor<24x32xbf16>, tensor<32x32xbf16> -> tensor<24x32xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<24x32xf32>, !tile.view<24x32xf32>
  tile.return
}
