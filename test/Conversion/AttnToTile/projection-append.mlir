// Keys and values go from the products into the caches: two segments of one grid, whose products are one loop over the weights of either,
// and a store that ends with the last new row.
// RUN: heddle-opt %s --attn-form-kernels --attn-to-tile=chip=sm_80 --canonicalize --cse --split-input-file | FileCheck %s

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// The checks of the append stay, about what comes from outside.
// CHECK-LABEL: func.func @prompt
// CHECK: attn.require %{{.*}}, "kv_append: {0} new rows are more than the cache's capacity of {1}"
// CHECK: attn.require_range %arg3 in [%c0, %{{.*}}], "start"
// CHECK: %[[RESULTS:.*]]:2 = tile.dispatch @projection grid({{.*}}) ins(%arg0, %arg1, %arg2, %arg3 : {{.*}}) outs(%arg4, %arg5 : {{.*}})
// CHECK: return %[[RESULTS]]#0, %[[RESULTS]]#1

// CHECK: tile.kernel private @projection(%{{[a-z0-9]*}}: {{[^%]*}}%[[KEY_WEIGHTS:[a-z0-9]*]]: {{[^%]*}}%[[VALUE_WEIGHTS:[a-z0-9]*]]: memref<?x?xf16
// CHECK-SAME: %[[KEYS:[a-z0-9]*]]: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %[[VALUES:[a-z0-9]*]]: memref<?x?x?x?xf16
// CHECK: %[[COLUMN:.*]] = arith.remui %{{.*}}, %c4
// CHECK: %[[IS_KEY:.*]] = arith.cmpi slt, %[[COLUMN]], %c2
// CHECK: %[[WEIGHTS:.*]] = arith.select %[[IS_KEY]], %[[KEY_WEIGHTS]], %[[VALUE_WEIGHTS]] : memref
// CHECK: %[[VALUE_COLUMN:.*]] = arith.subi %[[COLUMN]], %c2
// CHECK: %[[HEAD:.*]] = arith.select %[[IS_KEY]], %[[COLUMN]], %[[VALUE_COLUMN]] : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[HEAD]], %c16
// CHECK: memref.subview %[[WEIGHTS]][%[[OFFSET]], 0] [16, 64]
// CHECK: scf.for
// CHECK:   tile.dot
// CHECK-NOT: tile.dot
// CHECK: scf.if %[[IS_KEY]] {
// CHECK:   %[[START:.*]] = memref.load %{{.*}}[%[[SEQUENCE:.*]]] : memref<?xi32
// CHECK:   %[[AT:.*]] = arith.index_cast %[[START]]
// CHECK:   %[[FIRST:.*]] = arith.maxsi %[[AT]], %c0
// CHECK:   %[[END:.*]] = arith.addi %[[AT]], %{{.*}}
// CHECK:   %[[CAPACITY:.*]] = memref.dim %[[KEYS]], %c1
// CHECK:   %[[LAST:.*]] = arith.minsi %[[END]], %[[CAPACITY]]
// CHECK:   %[[ROOM:.*]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK:   %[[ROWS:.*]] = arith.maxsi %[[ROOM]], %c0
// CHECK:   memref.subview %[[KEYS]][%[[SEQUENCE]], %[[FIRST]], %[[COLUMN]], 0] [1, %[[ROWS]], 1, 16]
// CHECK:   tile.store %{{.*}}, %{{.*}}[%{{.*}}, %c0] : tensor<128x16xf16>, !tile.view<?x16xf16>
// CHECK: } else {
// CHECK-NOT: tile.dot
// CHECK:   memref.subview %[[VALUES]][%{{.*}}, %{{.*}}, %[[VALUE_COLUMN]], 0]
// CHECK:   tile.store
func.func @prompt(%x: tensor<?x?x64xf16>, %wk: tensor<32x64xf16>, %wv: tensor<32x64xf16>, %start: tensor<?xi32>,
                  %keys: tensor<?x?x2x16xf16>, %values: tensor<?x?x2x16xf16>) -> (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x64xf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x64xf16>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %k = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wk : tensor<?x?x64xf16>, tensor<32x64xf16>) outs(%zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %v = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wv : tensor<?x?x64xf16>, tensor<32x64xf16>) outs(%zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 16] : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 16] : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %k2, %v2 = attn.kv_append %keys, %values, %kh, %vh, %start
      : (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>) -> (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>)
  return %k2, %v2 : tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>
}

// -----

// An append alone, one token of each sequence into pages: row r of the block to the slot of sequence r, if its page exists.
// CHECK: tile.kernel private @append({{.*}}) config <block = [16], warps = 4>
// CHECK: %[[TILE:.*]] = tile.load {{.*}} pad(%{{.*}}) : !tile.view<?x24xf16> -> tensor<16x32xf16>
// CHECK: scf.for %[[R:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK:   %[[SEQUENCE:.*]] = arith.addi %{{.*}}, %[[R]]
// CHECK:   %[[ROW:.*]] = arith.subi %c0, %[[R]]
// CHECK:   memref.load %{{.*}}[%[[SEQUENCE]], %{{.*}}] : memref<?x?xi32
// CHECK:   memref.subview %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, %{{.*}}, 1, 24]
// CHECK:   tile.store %[[TILE]], %{{.*}}[%[[ROW]], %c0] : tensor<16x32xf16>, !tile.view<?x24xf16>
func.func @token(%key: tensor<?x1x2x24xf16>, %value: tensor<?x1x2x24xf16>, %start: tensor<?xi32>, %table: tensor<?x?xi32>,
                 %keys: tensor<?x16x2x24xf16>, %values: tensor<?x16x2x24xf16>) -> (tensor<?x16x2x24xf16>, tensor<?x16x2x24xf16>) {
  %k2, %v2 = attn.kv_append %keys, %values, %key, %value, %start block_table(%table : tensor<?x?xi32>)
      : (tensor<?x16x2x24xf16>, tensor<?x16x2x24xf16>, tensor<?x1x2x24xf16>, tensor<?x1x2x24xf16>, tensor<?xi32>) -> (tensor<?x16x2x24xf16>, tensor<?x16x2x24xf16>)
  return %k2, %v2 : tensor<?x16x2x24xf16>, tensor<?x16x2x24xf16>
}
