// RUN: heddle-opt %s --convert-tile-to-vector="lanes=8" --canonicalize --cse | FileCheck %s

// A tile that may cross the edges: rows outside are padding, a row that is whole is read as vectors, another one under a mask.
// CHECK-LABEL: func.func private @edges(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?xf32
// CHECK: scf.for
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: scf.if %[[INSIDE]] {
// CHECK: scf.if
// CHECK-COUNT-2: vector.load %[[X]]
// CHECK: } else {
// CHECK-COUNT-2: vector.maskedload %[[X]]
// CHECK: } else {
// CHECK-COUNT-2: vector.store %[[PAD:.*]], %{{.*}}
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.if
// CHECK: vector.store
// CHECK: } else {
// CHECK: vector.create_mask
// CHECK: vector.maskedstore %[[X]]
tile.kernel @edges(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %i: index, %j: index) {
  %pad = arith.constant 1.0 : f32
  %view = tile.view %x[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %t = tile.load %view[%i, %j] pad(%pad) : !tile.view<?x?xf32> -> tensor<4x16xf32>
  tile.store %t, %view[%j, %i] : tensor<4x16xf32>, !tile.view<?x?xf32>
  tile.return
}

// No test where the load promises that the tile is inside; no mask where the columns are known to be.
// CHECK-LABEL: func.func private @whole(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x16xbf16>, %[[Y:[a-z0-9]+]]: memref<?x16xbf16>
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: %[[NARROW:.*]] = vector.load %[[X]]{{.*}} vector<8xbf16>
// CHECK: arith.extf %[[NARROW]] : vector<8xbf16> to vector<8xf32>
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK-COUNT-2: vector.store %{{.*}}, %[[Y]]
tile.kernel @whole(%x: memref<?x16xbf16>, %y: memref<?x16xbf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:, :] : memref<?x16xbf16> -> !tile.view<?x16xbf16>
  %to = tile.view %y[:, :] : memref<?x16xbf16> -> !tile.view<?x16xbf16>
  %t = tile.load %from[%i, %c0] : !tile.view<?x16xbf16> -> tensor<4x16xbf16>
  tile.store %t, %to[%i, %c0] : tensor<4x16xbf16>, !tile.view<?x16xbf16>
  tile.return
}

// Columns with gaps, and elements of a bit, go one by one.
// CHECK-LABEL: func.func private @scalars(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x16xf32, strided<[?, ?], offset: ?>>, %[[M:[a-z0-9]+]]: memref<?x16xi1>
// CHECK-NOT: vector.load %[[X]]
// CHECK: memref.load %[[X]]
// CHECK-NOT: vector.load %[[M]]
// CHECK: memref.load %[[M]]
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: memref.store %{{.*}}, %[[X]]
tile.kernel @scalars(%x: memref<?x16xf32, strided<[?, ?], offset: ?>>, %m: memref<?x16xi1>) {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<?x16xf32, strided<[?, ?], offset: ?>> -> !tile.view<?x16xf32>
  %mask = tile.view %m[:, :] : memref<?x16xi1> -> !tile.view<?x16xi1>
  %t = tile.load %view[%c0, %c0] : !tile.view<?x16xf32> -> tensor<4x16xf32>
  %keep = tile.load %mask[%c0, %c0] : !tile.view<?x16xi1> -> tensor<4x16xi1>
  %zeros = arith.constant dense<0.0> : tensor<4x16xf32>
  %s = arith.select %keep, %t, %zeros : tensor<4x16xi1>, tensor<4x16xf32>
  tile.store %s, %view[%c0, %c0] : tensor<4x16xf32>, !tile.view<?x16xf32>
  tile.return
}

// Pages: the entry of a row's page is read only for rows that exist, and names no row if it is negative.
// CHECK-LABEL: func.func private @pages(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x16x8xf32>, %[[TABLE:[a-z0-9]+]]: memref<?xi32>, %[[ROWS:[a-z0-9]+]]: index
// CHECK: scf.for
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[ROWS]]
// CHECK: %[[ENTRY:.*]] = scf.if %[[EXISTS]] -> (index) {
// CHECK: %[[PAGE:.*]] = arith.divui %[[ROW]], %c16
// CHECK: memref.load %[[TABLE]][%[[PAGE]]]
// CHECK: %[[NAMED:.*]] = arith.cmpi sge, %[[ENTRY]], %c0
// CHECK: scf.if %[[NAMED]] {
// CHECK: %[[WITHIN:.*]] = arith.remui %[[ROW]], %c16
// CHECK: vector.load %[[X]][%[[ENTRY]], %[[WITHIN]], %c0]
tile.kernel @pages(%x: memref<?x16x8xf32>, %table: memref<?xi32>, %rows: index, %y: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %view = tile.gather_view %x[table %table, page, :] rows(%rows) : memref<?x16x8xf32>, memref<?xi32> -> !tile.view<?x8xf32>
  %out = tile.view %y[:, :] : memref<8x8xf32> -> !tile.view<8x8xf32>
  %t = tile.load %view[%c0, %c0] pad(%zero) : !tile.view<?x8xf32> -> tensor<8x8xf32>
  tile.store %t, %out[%c0, %c0] : tensor<8x8xf32>, !tile.view<8x8xf32>
  tile.return
}

// Rows of pages that all exist: a list of where they are, and of those to be fetched, one entry of the table a page. It is made in front of the
// loop over heads. The order of the columns has no stride.
// CHECK-LABEL: func.func private @list_of_rows(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[TABLE:[a-z0-9]+]]: memref<?xi32>, %[[ROWS:[a-z0-9]+]]: index
// CHECK: %[[LIST:.*]] = memref.alloca() {{.*}} : memref<40xindex>
// CHECK: memref.extract_strided_metadata %[[X]]
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[ROWS]]
// CHECK: arith.divui
// CHECK: arith.divui
// CHECK: scf.for %[[PAGE:.*]] = %{{.*}} {
// CHECK: %[[NUMBER:.*]] = memref.load %[[TABLE]][%[[PAGE]]]
// CHECK: %[[ENTRY:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: arith.maxsi %[[ENTRY]], %c0
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[LIST]]
// CHECK: %[[AGAIN:.*]] = memref.load %[[LIST]][%c0]
// CHECK: scf.for %{{.*}} = %[[END]] to
// CHECK: vector.store %{{.*}}, %[[LIST]]
// CHECK: scf.for %[[HEAD:.*]] = %c0 to %c2
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[X]]
// CHECK: scf.for %[[STEP:.*]] = %c0 to %c16 step %c4
// CHECK: arith.andi %[[STEP]], %c4
// CHECK: arith.andi %[[STEP]], %c8
// CHECK: %[[ROW:.*]] = memref.load %[[LIST]]
// CHECK: %[[AHEAD:.*]] = memref.load %[[LIST]]
// CHECK: memref.prefetch %[[FLAT]][%[[AHEAD]]]
// CHECK: vector.load %[[FLAT]][%[[ROW]]]
tile.kernel @list_of_rows(%x: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %table: memref<?xi32>, %rows: index, %first: index,
                          %q: memref<2x16xf32>, %y: memref<2x2x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zeros = arith.constant dense<0.0> : tensor<2x16xf32>
  %qs = tile.view %q[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  scf.for %head = %c0 to %c2 step %c1 {
    %view = tile.gather_view %x[table %table, page, %head, :] rows(%rows) : memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<?xi32> -> !tile.view<?x16xf32>
    %out = tile.view %y[%head, :, :] : memref<2x2x16xf32> -> !tile.view<2x16xf32>
    %a = tile.load %qs[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
    %b = tile.load %view[%first, %c0] ahead 16 : !tile.view<?x16xf32> -> tensor<16x16xf32>
    %s = tile.dot %a, %b, %zeros {transpose_b} : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
    tile.store %s, %out[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
  }
  tile.return
}

// Elements by their indices, kept inside of each dimension.
// CHECK-LABEL: func.func private @gathered(
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: vector.gather
tile.kernel @gathered(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %row: index, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %column = tile.iota along 0 start(%row) : tensor<16xi32>
  %t = tile.gather %x[%row, %column] : memref<?x?xf32, strided<[?, ?], offset: ?>>, index, tensor<16xi32> -> tensor<16xf32>
  %to = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  tile.store %t, %to[%c0] : tensor<16xf32>, !tile.view<16xf32>
  tile.return
}
