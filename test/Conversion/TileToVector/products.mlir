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

// Few rows: both operands are read from memory, without a panel, and sums over lanes come last.
// CHECK-LABEL: func.func private @few_rows(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<2x16xf32>, %[[B:[a-z0-9]+]]: memref<?x16xf32>
// CHECK: scf.forall
// CHECK-COUNT-1: memref.alloca
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

// At most 8 rows of b are read at once. A load that says which rows come next has them fetched, line by line and not past the last one.
// CHECK-LABEL: func.func private @ahead(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<1x16xf32>, %[[B:[a-z0-9]+]]: memref<?x16xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c8
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %c32
// CHECK: %[[ROW:.*]] = arith.minsi %[[AHEAD]], %[[LAST]]
// CHECK-COUNT-8: memref.prefetch %[[B]]{{.*}}, read, locality<2>, data : memref<?x16xf32>
// CHECK-NOT: memref.prefetch
// CHECK: vector.shuffle
tile.kernel @ahead(%a: memref<1x16xf32>, %b: memref<?x16xf32>, %i: index, %c: memref<1x32xf32>) {
  %c0 = arith.constant 0 : index
  %aView = tile.view %a[:, :] : memref<1x16xf32> -> !tile.view<1x16xf32>
  %bView = tile.view %b[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %cView = tile.view %c[:, :] : memref<1x32xf32> -> !tile.view<1x32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<1x16xf32> -> tensor<1x16xf32>
  %bTile = tile.load %bView[%i, %c0] ahead 32 : !tile.view<?x16xf32> -> tensor<32x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<1x32xf32>
  %p = tile.dot %aTile, %bTile, %zeros {transpose_b} : tensor<1x16xf32>, tensor<32x16xf32> -> tensor<1x32xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<1x32xf32>, !tile.view<1x32xf32>
  tile.return
}

// The next rows of pages are found through the table. Vectors of few rows divide the columns equally: 5 are 3 and 2.
// CHECK-LABEL: func.func private @ahead_in_pages(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<3x8xf32>, %[[B:[a-z0-9]+]]: memref<?x4x40xf32>, %[[T:[a-z0-9]+]]: memref<?xi32>
// CHECK: %[[LIST:.*]] = memref.alloca() {{.*}} : memref<24xindex>
// CHECK: scf.for
// CHECK: memref.load %[[T]]
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[B]]
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c8
// CHECK: memref.load %[[LIST]][%[[ROW]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c8
// CHECK: %[[AHEAD:.*]] = memref.load %[[LIST]][%[[NEXT]]]
// CHECK: memref.prefetch %[[FLAT]][%[[AHEAD]]]
tile.kernel @ahead_in_pages(%w: memref<3x8xf32>, %b: memref<?x4x40xf32>, %t: memref<?xi32>, %i: index, %c: memref<3x40xf32>) {
  %c0 = arith.constant 0 : index
  %wView = tile.view %w[:, :] : memref<3x8xf32> -> !tile.view<3x8xf32>
  %bView = tile.gather_view %b[table %t, page, :] : memref<?x4x40xf32>, memref<?xi32> -> !tile.view<?x40xf32>
  %cView = tile.view %c[:, :] : memref<3x40xf32> -> !tile.view<3x40xf32>
  %wTile = tile.load %wView[%c0, %c0] : !tile.view<3x8xf32> -> tensor<3x8xf32>
  %bTile = tile.load %bView[%i, %c0] ahead 8 : !tile.view<?x40xf32> -> tensor<8x40xf32>
  %zeros = arith.constant dense<0.0> : tensor<3x40xf32>
  %p = tile.dot %wTile, %bTile, %zeros : tensor<3x8xf32>, tensor<8x40xf32> -> tensor<3x40xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<3x40xf32>, !tile.view<3x40xf32>
  tile.return
}

// Rows of pages come in groups of four without a stride here, too.
// CHECK-LABEL: func.func private @values_of_pages(
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast
// CHECK: scf.for %[[STEP:.*]] = %c0 to %c16 step %c2
// CHECK: arith.andi %[[STEP]], %c4
// CHECK: arith.andi %[[STEP]], %c8
// CHECK: vector.load %[[FLAT]]
tile.kernel @values_of_pages(%w: memref<2x16xf32>, %b: memref<?x4x16xf32>, %t: memref<?xi32>, %i: index, %c: memref<2x16xf32>) {
  %c0 = arith.constant 0 : index
  %wView = tile.view %w[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  %bView = tile.gather_view %b[table %t, page, :] : memref<?x4x16xf32>, memref<?xi32> -> !tile.view<?x16xf32>
  %cView = tile.view %c[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  %wTile = tile.load %wView[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
  %bTile = tile.load %bView[%i, %c0] : !tile.view<?x16xf32> -> tensor<16x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<2x16xf32>
  %p = tile.dot %wTile, %bTile, %zeros : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
  tile.return
}

// Sums that start from what is in memory and end there have no buffer; the left factor has the only one.
// CHECK-LABEL: func.func private @in_place(
// CHECK-SAME: memref<2x8xf32>, %[[B:[a-z0-9]+]]: memref<8x16xf32>, %[[C:[a-z0-9]+]]: memref<2x16xf32>
// CHECK: memref.alloca() {{.*}} : memref<2x8xf32>
// CHECK-NOT: memref.alloca
// CHECK: %[[OLD:.*]] = vector.load %[[C]][%c0, %c0]
// CHECK: %[[START:.*]] = arith.mulf %[[OLD]]
// CHECK: %[[SUMS:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}} = %[[START]],
// CHECK: vector.store %[[SUMS]]#0, %[[C]][%c0, %c0]
// CHECK: vector.store %[[SUMS]]#3, %[[C]][%c1, %c8]
// CHECK-NOT: vector.store
tile.kernel @in_place(%w: memref<2x8xf32>, %b: memref<8x16xf32>, %c: memref<2x16xf32>) {
  %c0 = arith.constant 0 : index
  %half = arith.constant dense<0.5> : tensor<2x16xf32>
  %wView = tile.view %w[:, :] : memref<2x8xf32> -> !tile.view<2x8xf32>
  %bView = tile.view %b[:, :] : memref<8x16xf32> -> !tile.view<8x16xf32>
  %cView = tile.view %c[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  %old = tile.load %cView[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
  %wTile = tile.load %wView[%c0, %c0] : !tile.view<2x8xf32> -> tensor<2x8xf32>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<8x16xf32> -> tensor<8x16xf32>
  %start = arith.mulf %old, %half : tensor<2x16xf32>
  %p = tile.dot %wTile, %bTile, %start : tensor<2x8xf32>, tensor<8x16xf32> -> tensor<2x16xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
  tile.return
}

// A factor in the same memory is read before that is written: there are buffers.
// CHECK-LABEL: func.func private @in_place_of_a_factor(
// CHECK-COUNT-3: memref.alloca
tile.kernel @in_place_of_a_factor(%w: memref<8x8xf32>, %c: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %wView = tile.view %w[:, :] : memref<8x8xf32> -> !tile.view<8x8xf32>
  %cView = tile.view %c[:, :] : memref<8x8xf32> -> !tile.view<8x8xf32>
  %old = tile.load %cView[%c0, %c0] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %wTile = tile.load %wView[%c0, %c0] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %factor = tile.load %cView[%c0, %c0] : !tile.view<8x8xf32> -> tensor<8x8xf32>
  %p = tile.dot %wTile, %factor, %old : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}
