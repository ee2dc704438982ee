// RUN: heddle-opt %s --convert-tile-to-vector="lanes=8 rows=6 vectors=2" --canonicalize --cse | FileCheck %s

// 13 x 35 of 6 x 16: two whole register tiles of rows and one of a row, two of columns and one of a vector. bf16 is kept as f32; b goes
// through a panel of 10 x 40, transposed in registers.
// CHECK-LABEL: func.func private @register_tiles(
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<10x40xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<35x16xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<13x16xf32>
// CHECK: arith.extf {{.*}} vector<8xbf16> to vector<8xf32>
// CHECK: vector.shuffle
// CHECK: scf.for %[[N:.*]] = %c0 to %c32 step %c16
// CHECK: scf.for %[[M:.*]] = %c0 to %c12 step %c6
// CHECK: %{{.*}}:12 = scf.for {{.*}} to %c10 step %c2 iter_args
// CHECK-COUNT-24: vector.fma {{.*}} vector<8xf32>
// CHECK-NOT: vector.fma
// CHECK: %{{.*}}:2 = scf.for {{.*}} to %c10 step %c2 iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c12 step %c6
// CHECK: %{{.*}}:6 = scf.for
// CHECK: vector.maskedstore
tile.kernel @register_tiles(%a: memref<13x10xbf16>, %b: memref<35x10xbf16>, %c: memref<13x35xf32>) {
  %c0 = arith.constant 0 : index
  %aView = tile.view %a[:, :] : memref<13x10xbf16> -> !tile.view<13x10xbf16>
  %bView = tile.view %b[:, :] : memref<35x10xbf16> -> !tile.view<35x10xbf16>
  %cView = tile.view %c[:, :] : memref<13x35xf32> -> !tile.view<13x35xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<13x10xbf16> -> tensor<13x10xbf16>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<35x10xbf16> -> tensor<35x10xbf16>
  %zeros = arith.constant dense<0.0> : tensor<13x35xf32>
  %p = tile.dot %aTile, %bTile, %zeros {transpose_b} : tensor<13x10xbf16>, tensor<35x10xbf16> -> tensor<13x35xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<13x35xf32>, !tile.view<13x35xf32>
  tile.return
}

// Few rows: b is read from memory, without a panel, and sums over lanes come last.
// CHECK-LABEL: func.func private @few_rows(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<2x16xf32>, %[[B:[a-z0-9]+]]: memref<?x16xf32>
// CHECK: scf.forall
// CHECK-COUNT-2: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: scf.for {{.*}} to %c8 step %c4
// CHECK: vector.load %[[B]]
// CHECK-COUNT-16: vector.fma
// CHECK: vector.shuffle
// CHECK: vector.extract_strided_slice {{.*}} vector<8xf32> to vector<4xf32>
tile.kernel @few_rows(%a: memref<2x16xf32>, %b: memref<?x16xf32>, %c: memref<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %aView = tile.view %a[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  %bView = tile.view %b[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %cView = tile.view %c[:, :] : memref<2x8xf32> -> !tile.view<2x8xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<?x16xf32> -> tensor<8x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<2x8xf32>
  %p = tile.dot %aTile, %bTile, %zeros {transpose_b} : tensor<2x16xf32>, tensor<8x16xf32> -> tensor<2x8xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<2x8xf32>, !tile.view<2x8xf32>
  tile.return
}
