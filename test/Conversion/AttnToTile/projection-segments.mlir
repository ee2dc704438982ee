// Segments whose outputs are computed alike share their code up to the stores; those that differ in more than tensors do not.
// DEFINE: %{opt} = heddle-opt --attn-form-kernels --attn-to-tile=chip=sm_80 --canonicalize --cse
// RUN: %{opt} %s | FileCheck %s
// RUN: sed 's/key_norm {eps = 1.0e-6}/key_norm {eps = 1.0e-5}/' %s | %{opt} | FileCheck %s --check-prefix=APART
// RUN: sed 's/\(kn, .positions {theta = \)1.0e4/\12.0e4/' %s | %{opt} | FileCheck %s --check-prefix=APART

// One tensor of the queries can't stand for two of the keys: both norms of queries have the same weight.
// RUN: sed 's/\(kn0, .\)key_norm/\1query_norm/' %s | %{opt} | FileCheck %s --check-prefix=APART

// Rotations of queries and of keys.
// APART-COUNT-2: tile.concat
// APART-NOT: tile.concat

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// The heads of queries and keys, four and two, are normalised (twice) and rotated alike: they take one code for it, and differ in the norms'
// weight and in the store.
// CHECK: tile.kernel private @projection
// CHECK: %[[COLUMN:.*]] = arith.remui %{{.*}}, %c8
// CHECK: %[[IS_QUERY:.*]] = arith.cmpi slt, %[[COLUMN]], %c4
// CHECK: %[[IS_NOT_VALUE:.*]] = arith.cmpi slt, %[[COLUMN]], %c6
// CHECK: %[[KEY_HEAD:.*]] = arith.subi %[[COLUMN]], %c4
// CHECK: scf.if %[[IS_NOT_VALUE]] {
// CHECK: arith.select %[[IS_QUERY]], %{{.*}}, %{{.*}} : memref<?xf16
// CHECK-COUNT-2: tile.reduce add
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
  %qn0 = attn.rms_norm %qh, %query_norm {eps = 1.0e-6} : tensor<?x?x4x16xf16>, tensor<16xf16>
  %kn0 = attn.rms_norm %kh, %key_norm {eps = 1.0e-6} : tensor<?x?x2x16xf16>, tensor<16xf16>
  %qn = attn.rms_norm %qn0, %query_norm {eps = 1.0e-6} : tensor<?x?x4x16xf16>, tensor<16xf16>
  %kn = attn.rms_norm %kn0, %key_norm {eps = 1.0e-6} : tensor<?x?x2x16xf16>, tensor<16xf16>
  %qr = attn.rope %qn, %positions {theta = 1.0e4 : f64} : tensor<?x?x4x16xf16>, tensor<?x?xi32>
  %kr = attn.rope %kn, %positions {theta = 1.0e4 : f64} : tensor<?x?x2x16xf16>, tensor<?x?xi32>
  %k2, %v2 = attn.kv_append %keys, %values, %kr, %vh, %start
      : (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>, tensor<?xi32>) -> (tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>)
  return %qr, %k2, %v2 : tensor<?x?x4x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>
}
