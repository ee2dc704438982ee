// RUN: heddle-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @extent
// CHECK-SAME: (%[[VIEW:.*]]: !tile.view<?x128xf16>, %{{.*}}: memref<?x16x128xf16>, %{{.*}}: memref<?xi32>, %[[N:.*]]: index)
func.func @extent(%view: !tile.view<?x128xf16>, %pages: memref<?x16x128xf16>, %t: memref<?xi32>, %n: index) -> (index, index, index) {
  // CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
  // CHECK-DAG: %[[E:.*]] = tile.extent %[[VIEW]], 0
  %0 = tile.extent %view, 0 : !tile.view<?x128xf16>
  %1 = tile.extent %view, 1 : !tile.view<?x128xf16>
  %rows = tile.gather_view %pages[table %t, page, :] rows(%n) : memref<?x16x128xf16>, memref<?xi32> -> !tile.view<?x128xf16>
  %2 = tile.extent %rows, 0 : !tile.view<?x128xf16>
  // CHECK: return %[[E]], %[[C128]], %[[N]]
  return %0, %1, %2 : index, index, index
}

// -----

// CHECK-LABEL: func.func @padding
func.func @padding(%m: memref<70x128xf16>, %t: memref<70xi32>, %pad: f16, %i: index)
    -> (tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %minus = arith.constant -1 : index
  %view = tile.view %m[:, :] : memref<70x128xf16> -> !tile.view<70x128xf16>
  // CHECK: tile.load %{{.*}}[%c6, %c0] : !tile.view
  %0 = tile.load %view[%c6, %c0] pad(%pad) : !tile.view<70x128xf16> -> tensor<64x128xf16>
  // CHECK: tile.load %{{.*}}[%c7, %c0] pad(%{{.*}}) :
  %1 = tile.load %view[%c7, %c0] pad(%pad) : !tile.view<70x128xf16> -> tensor<64x128xf16>
  // CHECK: tile.load %{{.*}}[%c-1, %c0] pad(%{{.*}}) :
  %2 = tile.load %view[%minus, %c0] pad(%pad) : !tile.view<70x128xf16> -> tensor<64x128xf16>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %c0] pad(%{{.*}}) :
  %3 = tile.load %view[%i, %c0] pad(%pad) : !tile.view<70x128xf16> -> tensor<64x128xf16>
  // Some of the table's rows may be absent.
  %gathered = tile.gather_view %m[table %t, :] : memref<70x128xf16>, memref<70xi32> -> !tile.view<70x128xf16>
  // CHECK: tile.load %{{.*}}[%c0, %c0] pad(%{{.*}}) :
  %4 = tile.load %gathered[%c0, %c0] pad(%pad) : !tile.view<70x128xf16> -> tensor<64x128xf16>
  return %0, %1, %2, %3, %4 : tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>
}

// -----

// CHECK-LABEL: func.func @splats
func.func @splats() -> (tensor<16x8xf32>, tensor<8x16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c = arith.constant dense<2.0> : tensor<16xf32>
  // CHECK-DAG: %[[A:.*]] = arith.constant dense<2.000000e+00> : tensor<16x8xf32>
  // CHECK-DAG: %[[B:.*]] = arith.constant dense<2.000000e+00> : tensor<8x16xf32>
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<2xf32>
  // CHECK-DAG: %[[D:.*]] = arith.constant dense<2.000000e+00> : tensor<16xf32>
  %0 = tile.broadcast %c along 1 : tensor<16xf32> -> tensor<16x8xf32>
  %1 = tile.transpose %0 : tensor<16x8xf32> -> tensor<8x16xf32>
  %2 = tile.slice %c[3] : tensor<16xf32> -> tensor<2xf32>
  %3 = tile.reduce min %0 along 1 : tensor<16x8xf32> -> tensor<16xf32>
  // A sum is not the element.
  // CHECK: %[[SUM:.*]] = tile.reduce add %[[A]] along 1
  %4 = tile.reduce add %0 along 1 : tensor<16x8xf32> -> tensor<16xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]], %[[SUM]]
  return %0, %1, %2, %3, %4 : tensor<16x8xf32>, tensor<8x16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<64x96xf32>, %[[R:.*]]: tensor<64xf32>)
func.func @identities(%x: tensor<64x96xf32>, %r: tensor<64xf32>)
    -> (tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x1xf32>) {
  %0 = tile.transpose %x : tensor<64x96xf32> -> tensor<96x64xf32>
  %1 = tile.transpose %0 : tensor<96x64xf32> -> tensor<64x96xf32>
  %2 = tile.slice %x[0, 0] : tensor<64x96xf32> -> tensor<64x96xf32>
  %3 = tile.concat %x along 1 : tensor<64x96xf32> -> tensor<64x96xf32>
  // CHECK: %[[ONE:.*]] = tile.broadcast %[[R]] along 1
  %4 = tile.broadcast %r along 1 : tensor<64xf32> -> tensor<64x1xf32>
  %5 = tile.reduce add %4 along 1 : tensor<64x1xf32> -> tensor<64xf32>
  %6 = tile.broadcast %r along 0 : tensor<64xf32> -> tensor<8x64xf32>
  %7 = tile.reduce max %6 along 0 : tensor<8x64xf32> -> tensor<64xf32>
  %8 = tile.scan add inclusive %4 along 1 : tensor<64x1xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[R]], %[[R]], %[[ONE]]
  return %1, %2, %3, %5, %7, %8 : tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x1xf32>
}

// -----

// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:.*]]: tensor<64x96xf32>, %[[Y:.*]]: tensor<64x32xf32>)
func.func @slices(%x: tensor<64x96xf32>, %y: tensor<64x32xf32>) -> (tensor<16x8xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>) {
  // CHECK-DAG: %[[A:.*]] = tile.slice %[[X]][20, 40] : tensor<64x96xf32> -> tensor<16x8xf32>
  %0 = tile.slice %x[16, 32] : tensor<64x96xf32> -> tensor<32x64xf32>
  %1 = tile.slice %0[4, 8] : tensor<32x64xf32> -> tensor<16x8xf32>
  %2 = tile.concat %x, %y along 1 : tensor<64x96xf32>, tensor<64x32xf32> -> tensor<64x128xf32>
  // CHECK-DAG: %[[B:.*]] = tile.slice %[[Y]][0, 16] : tensor<64x32xf32> -> tensor<64x16xf32>
  %3 = tile.slice %2[0, 112] : tensor<64x128xf32> -> tensor<64x16xf32>
  // Across the seam.
  // CHECK-DAG: %[[C:.*]] = tile.slice %{{.*}}[0, 88] : tensor<64x128xf32> -> tensor<64x16xf32>
  %4 = tile.slice %2[0, 88] : tensor<64x128xf32> -> tensor<64x16xf32>
  %5 = tile.slice %2[0, 96] : tensor<64x128xf32> -> tensor<64x32xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[Y]]
  return %1, %3, %4, %5 : tensor<16x8xf32>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x32xf32>
}

// -----

#a = #tile.layout<16, lane = [(1), (2), (4), (8), (0)]>
#b = #tile.layout<16, lane = [(0), (1), (2), (4), (8)]>

// CHECK-LABEL: func.func @conversions
// CHECK-SAME: (%[[X:.*]]: tensor<16xf32, #[[A:.*]]>)
func.func @conversions(%x: tensor<16xf32, #a>) -> (tensor<16xf32, #a>, tensor<16xf32, #b>) {
  %0 = tile.convert_layout %x : tensor<16xf32, #a> -> tensor<16xf32>
  %1 = tile.convert_layout %0 : tensor<16xf32> -> tensor<16xf32, #a>
  // CHECK: %[[B:.*]] = tile.convert_layout %[[X]]
  %2 = tile.convert_layout %0 : tensor<16xf32> -> tensor<16xf32, #b>
  // CHECK: return %[[X]], %[[B]]
  return %1, %2 : tensor<16xf32, #a>, tensor<16xf32, #b>
}

// -----

tile.kernel @nothing() {
  tile.return
}

// CHECK-LABEL: func.func @iota_and_launch
func.func @iota_and_launch(%n: index) -> tensor<8xi32> {
  %c0 = arith.constant 0 : index
  // CHECK: tile.iota along 0 : tensor<8xi32>
  %0 = tile.iota along 0 start(%c0) : tensor<8xi32>
  // CHECK-NOT: tile.launch
  tile.launch @nothing grid(%n, %c0, %n) ()
  return %0 : tensor<8xi32>
}
