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

// -----

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// The heads of queries and keys, four and two, are normalised and rotated alike: they take one code for it, and differ in the norm's weight
// and in the store.
// CHECK: tile.kernel private @projection
// CHECK: %[[COLUMN:.*]] = arith.remui %{{.*}}, %c8
// CHECK: %[[IS_QUERY:.*]] = arith.cmpi slt, %[[COLUMN]], %c4
// CHECK: %[[KEY_HEAD:.*]] = arith.subi %[[COLUMN]], %c4
// CHECK: %[[IS_NOT_VALUE:.*]] = arith.cmpi slt, %[[COLUMN]], %c6
// CHECK: scf.if %[[IS_NOT_VALUE]] {
// CHECK: arith.select %[[IS_QUERY]], %{{.*}}, %{{.*}} : memref<?xf16
// CHECK: tile.reduce add
// CHECK-NOT: tile.reduce
// CHECK-COUNT-2: tile.slice
// CHECK: %[[ROTATED:.*]] = tile.concat
// CHECK-NOT: tile.slice
// CHECK: scf.if %[[IS_QUERY]] {
// CHECK:   memref.subview %{{.*}}[%{{.*}}, 0, %[[COLUMN]], 0]
// CHECK:   tile.store
// CHECK: } else {
// CHECK:   memref.subview %{{.*}}[%{{.*}}, %{{.*}}, %[[KEY_HEAD]], 0]
// CHECK:   tile.store
// CHECK: } else {
// CHECK-NOT: tile.slice
// CHECK:   tile.store
// CHECK: tile.return
func.func @rotated(%x: tensor<?x?x64xf16>, %wq: tensor<64x64xf16>, %wk: tensor<32x64xf16>, %wv: tensor<32x64xf16>, %start: tensor<?xi32>,
                   %query_norm: tensor<16xf16>, %key_norm: tensor<16xf16>, %keys: tensor<?x?x2x16xf16>, %values: tensor<?x?x2x16xf16>)
    -> (tensor<?x?x4x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x64xf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x64xf16>
  %wide = tensor.empty(%batch, %seq) : tensor<?x?x64xf32>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x32xf32>
  %wide_zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %q = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wq : tensor<?x?x64xf16>, tensor<64x64xf16>) outs(%wide_zeros : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %k = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wk : tensor<?x?x64xf16>, tensor<32x64xf16>) outs(%zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %v = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wv : tensor<?x?x64xf16>, tensor<32x64xf16>) outs(%zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %q16 = arith.truncf %q : tensor<?x?x64xf32> to tensor<?x?x64xf16>
  %k16 = arith.truncf %k : tensor<?x?x32xf32> to tensor<?x?x32xf16>
  %v16 = arith.truncf %v : tensor<?x?x32xf32> to tensor<?x?x32xf16>
  %qh = tensor.expand_shape %q16 [[0], [1], [2, 3]] output_shape [%batch, %seq, 4, 16] : tensor<?x?x64xf16> into tensor<?x?x4x16xf16>
  %kh = tensor.expand_shape %k16 [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 16] : tensor<?x?x32xf16> into tensor<?x?x2x16xf16>
  %vh = tensor.expand_shape %v16 [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 16] : tensor<?x?x32xf16> into tensor<?x?x2x16xf16>
  %no_positions = tensor.empty(%batch, %seq) : tensor<?x?xi32>
  %positions = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%start : tensor<?xi32>) outs(%no_positions : tensor<?x?xi32>) {
  ^bb0(%first: i32, %none: i32):
    %i = linalg.index 1 : index
    %row = arith.index_cast %i : index to i32
    %position = arith.addi %first, %row : i32
    linalg.yield %position : i32
  } -> tensor<?x?xi32>
  %qn = attn.rms_norm %qh, %query_norm {eps = 1.0e-6} : tensor<?x?x4x16xf16>, tensor<16xf16>
  %kn = attn.rms_norm %kh, %key_norm {eps = 1.0e-6} : tensor<?x?x2x16xf16>, tensor<16xf16>
  %qr = attn.rope %qn, %positions {theta = 1.0e4 : f64} : tensor<?x?x4x16xf16>, tensor<?x?xi32>
  %kr = attn.rope %kn, %positions {theta = 1.0e4 : f64} : tensor<?x?x2x16xf16>, tensor<?x?xi32>
  %k2, %v2 = attn.kv_append %keys, %values, %kr, %vh, %start
      : (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?xi32>) -> (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>)
  return %qr, %k2, %v2 : tensor<?x?x4x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>
}
