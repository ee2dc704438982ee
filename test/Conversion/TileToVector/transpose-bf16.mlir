// RUN: heddle-opt %s --convert-tile-to-vector=bf16-pairs --canonicalize --cse | FileCheck %s

// Squares of 32 x 32: halves of rows are loaded and joined, words interleaved, and only the last shuffle crosses lanes of 128 bits.
// CHECK-LABEL: func.func private @stored(
// CHECK-DAG: %[[FROM:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x64xbf16>
// CHECK-DAG: %[[TO:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x32xbf16>
// CHECK: vector.load %[[FROM]][{{.*}}] : memref<32x64xbf16>, vector<16xbf16>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi16>, vector<16xi16>
// CHECK: vector.shuffle {{.*}} [0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41, 10, 42, 11, 43, 16, 48, 17, 49, 18, 50, 19, 51, 24, 56, 25, 57, 26, 58, 27, 59] : vector<32xi16>, vector<32xi16>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27] : vector<16xi32>, vector<16xi32>
// CHECK-COUNT-16: vector.store {{.*}}, %[[TO]][{{.*}}] : memref<64x32xbf16>, vector<32xbf16>
tile.kernel @stored(%x: memref<32x64xbf16>, %y: memref<64x32xbf16>) {
  %c0 = arith.constant 0 : index
  %xView = tile.view %x[:, :] : memref<32x64xbf16> -> !tile.view<32x64xbf16>
  %yView = tile.view %y[:, :] : memref<64x32xbf16> -> !tile.view<64x32xbf16>
  %t = tile.load %xView[%c0, %c0] : !tile.view<32x64xbf16> -> tensor<32x64xbf16>
  %u = tile.transpose %t : tensor<32x64xbf16> -> tensor<64x32xbf16>
  tile.store %u, %yView[%c0, %c0] : tensor<64x32xbf16>, !tile.view<64x32xbf16>
  tile.return
}

// Two transposed tiles side by side, which a product contracts over by pairs: each is packed from its natural rows, in 32-bit elements, to its
// columns of the pairs.
// CHECK-LABEL: func.func private @multiplied(
// CHECK-NOT: memref<64x16xbf16>
// CHECK: %[[PAIRS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xi32>
// CHECK-NOT: memref<64x16xbf16>
// CHECK: vector.load {{.*}} : memref<16x64xbf16>, vector<32xbf16>
// CHECK-COUNT-16: vector.store {{.*}}, %[[PAIRS]][%{{.*}}, %c0] : memref<32x32xi32>, vector<16xi32>
// CHECK-COUNT-16: vector.store {{.*}}, %[[PAIRS]][%{{.*}}, %c16] : memref<32x32xi32>, vector<16xi32>
// CHECK: vector.load %[[PAIRS]]
// CHECK: dpbf16ps
tile.kernel @multiplied(%a: memref<16x64xbf16>, %x: memref<16x64xbf16>, %y: memref<16x64xbf16>, %c: memref<16x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %aView = tile.view %a[:, :] : memref<16x64xbf16> -> !tile.view<16x64xbf16>
  %xView = tile.view %x[:, :] : memref<16x64xbf16> -> !tile.view<16x64xbf16>
  %yView = tile.view %y[:, :] : memref<16x64xbf16> -> !tile.view<16x64xbf16>
  %cView = tile.view %c[:, :] : memref<16x32xf32> -> !tile.view<16x32xf32>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<16x64xbf16> -> tensor<16x64xbf16>
  %xTile = tile.load %xView[%c0, %c0] : !tile.view<16x64xbf16> -> tensor<16x64xbf16>
  %xt = tile.transpose %xTile : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %yTile = tile.load %yView[%c0, %c0] : !tile.view<16x64xbf16> -> tensor<16x64xbf16>
  %yt = tile.transpose %yTile : tensor<16x64xbf16> -> tensor<64x16xbf16>
  %b = tile.concat %xt, %yt along 1 : tensor<64x16xbf16>, tensor<64x16xbf16> -> tensor<64x32xbf16>
  %p = tile.dot %aTile, %b, %zeros : tensor<16x64xbf16>, tensor<64x32xbf16> -> tensor<16x32xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}
