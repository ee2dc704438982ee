// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-rows-to-lanes))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-rows-to-lanes{lanes=64}))' | FileCheck %s --check-prefix=WIDE

// An online softmax: q is transposed once, k and v are read as they are loaded, row statistics run along columns. What is stored is
// transposed back.
// CHECK-LABEL: tile.kernel @softmax
// CHECK: %[[Q:.*]] = tile.load {{.*}} -> tensor<32x8xf32>
// CHECK: %[[QT:.*]] = tile.transpose %[[Q]]
// CHECK: scf.for {{.*}} -> (tensor<8x32xf32>, tensor<32xf32>) {
// CHECK-NOT: tile.transpose
// CHECK: %[[K:.*]] = tile.load {{.*}} -> tensor<16x8xf32>
// CHECK: %[[S:.*]] = tile.dot %[[K]], %[[QT]], %{{.*}} : tensor<16x8xf32>, tensor<8x32xf32> -> tensor<16x32xf32>
// CHECK: %[[COLUMN:.*]] = tile.iota along 0 : tensor<16x32xi32>
// CHECK: %[[ROW:.*]] = tile.iota along 1 start(%{{.*}}) : tensor<16x32xi32>
// CHECK: arith.cmpi sle, %[[COLUMN]], %[[ROW]]
// CHECK: tile.reduce max %{{.*}} along 0 : tensor<16x32xf32> -> tensor<32xf32>
// CHECK: tile.broadcast %{{.*}} along 0 : tensor<32xf32> -> tensor<16x32xf32>
// CHECK: %[[W:.*]] = math.exp2 %{{.*}} : tensor<16x32xf32>
// CHECK: tile.dot %[[K]], %[[W]], %{{.*}} {transpose_a} : tensor<16x8xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
// CHECK: scf.yield
// CHECK: %[[PART:.*]] = tile.slice %{{.*}}[0, 16] : tensor<8x32xf32> -> tensor<8x16xf32>
// CHECK: %[[O:.*]] = tile.transpose %[[PART]]
// CHECK: tile.store %[[O]]
//
// Rows that do not fill vectors stay rows.
// WIDE-LABEL: tile.kernel @softmax
// WIDE-NOT: tile.transpose
tile.kernel @softmax(%q: memref<32x8xf32>, %k: memref<?x8xf32>, %o: memref<16x8xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %none = arith.constant dense<0xFF800000> : tensor<32x16xf32>
  %start = arith.constant dense<0.0> : tensor<32x8xf32>
  %lowest = arith.constant dense<-1.0e+30> : tensor<32xf32>
  %qView = tile.view %q[:, :] : memref<32x8xf32> -> !tile.view<32x8xf32>
  %kView = tile.view %k[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  %oView = tile.view %o[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  %qTile = tile.load %qView[%c0, %c0] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %r:2 = scf.for %key = %c0 to %end step %c16 iter_args(%acc = %start, %max = %lowest) -> (tensor<32x8xf32>, tensor<32xf32>) {
    %kTile = tile.load %kView[%key, %c0] : !tile.view<?x8xf32> -> tensor<16x8xf32>
    %p = tile.dot %qTile, %kTile, %zeros {transpose_b} : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
    %column = tile.iota along 1 : tensor<32x16xi32>
    %row = tile.iota along 0 start(%key) : tensor<32x16xi32>
    %visible = arith.cmpi sle, %column, %row : tensor<32x16xi32>
    %s = arith.select %visible, %p, %none : tensor<32x16xi1>, tensor<32x16xf32>
    %blockMax = tile.reduce max %s along 1 : tensor<32x16xf32> -> tensor<32xf32>
    %newMax = arith.maximumf %max, %blockMax : tensor<32xf32>
    %maxima = tile.broadcast %newMax along 1 : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %s, %maxima : tensor<32x16xf32>
    %w = math.exp2 %d : tensor<32x16xf32>
    %next = tile.dot %w, %kTile, %acc : tensor<32x16xf32>, tensor<16x8xf32> -> tensor<32x8xf32>
    scf.yield %next, %newMax : tensor<32x8xf32>, tensor<32xf32>
  }
  %part = tile.slice %r#0[16, 0] : tensor<32x8xf32> -> tensor<16x8xf32>
  tile.store %part, %oView[%c0, %c0] : tensor<16x8xf32>, !tile.view<16x8xf32>
  tile.return
}

// A product whose rows nobody reduces stays as it is, and so does a kernel with an op that is not known here.
// CHECK-LABEL: tile.kernel @product
// CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {transpose_b} : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
// CHECK-LABEL: tile.kernel @scan
// CHECK: tile.reduce add %{{.*}} along 1
tile.kernel @product(%a: memref<32x8xf32>, %b: memref<16x8xf32>, %o: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %aView = tile.view %a[:, :] : memref<32x8xf32> -> !tile.view<32x8xf32>
  %bView = tile.view %b[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  %oView = tile.view %o[:, :] : memref<32x16xf32> -> !tile.view<32x16xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<32x8xf32> -> tensor<32x8xf32>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<16x8xf32> -> tensor<16x8xf32>
  %p = tile.dot %aTile, %bTile, %zeros {transpose_b} : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
  tile.store %p, %oView[%c0, %c0] : tensor<32x16xf32>, !tile.view<32x16xf32>
  tile.return
}

tile.kernel @scan(%a: memref<32x16xf32>, %o: memref<32xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<32xf32>
  %square = arith.constant dense<0.0> : tensor<16x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %aView = tile.view %a[:, :] : memref<32x16xf32> -> !tile.view<32x16xf32>
  %oView = tile.view %o[:] : memref<32xf32> -> !tile.view<32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<32x16xf32> -> tensor<32x16xf32>
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%sum = %zero) -> (tensor<32xf32>) {
    %scanned = tile.scan add inclusive %aTile along 1 : tensor<32x16xf32>
    %p = tile.dot %scanned, %aTile, %square {transpose_a} : tensor<32x16xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
    %q = tile.dot %aTile, %p, %zeros : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s = tile.reduce add %q along 1 : tensor<32x16xf32> -> tensor<32xf32>
    scf.yield %s : tensor<32xf32>
  }
  tile.store %r, %oView[%c0] : tensor<32xf32>, !tile.view<32xf32>
  tile.return
}
