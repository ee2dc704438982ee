// RUN: heddle-opt %s --attn-form-kernels --attn-to-tile="chip=sm_80 f32-products=tf32x3" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: heddle-opt %s --attn-form-kernels --attn-to-tile=chip=sm_80 --split-input-file | FileCheck %s --check-prefix=IEEE --implicit-check-not=tf32x3
// IEEE: tile.dot

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// f16 cannot hold what is not scaled yet, so the factors of the rows are known before the products. Two products of one factor, and the
// unit that joins them: two accumulators side by side.
// CHECK: tile.dispatch @projection grid({{.*}}) ins(%arg0, %arg1, %arg2, %arg3 : {{.*}}) outs(%{{.*}} : tensor<?x?x160xf16>)
// CHECK: tile.kernel private @projection({{.*}}) config <block = [128, 64, 32], stages = 4, warps = 4>
// CHECK: %[[SQUARES:.*]] = scf.for %{{.*}} = %c0 to %c96 step %c32 iter_args(%{{.*}}) -> (tensor<128xf32>)
// CHECK-NOT: tile.dot
// CHECK: %[[FACTOR:.*]] = arith.divf
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] along 1 : tensor<128xf32> -> tensor<128x32xf32>
// CHECK: %[[SUMS:.*]]:2 = scf.for %{{.*}} = %c0 to %c96 step %c32 iter_args(%[[G:.*]] = %{{.*}}, %[[U:.*]] = %{{.*}}) -> (tensor<128x64xf32>, tensor<128x64xf32>)
// CHECK:   arith.mulf %{{.*}}, %[[FACTORS]] : tensor<128x32xf32>
// CHECK:   %[[A:.*]] = arith.truncf %{{.*}} : tensor<128x32xf32> to tensor<128x32xf16>
// CHECK:   tile.dot %[[A]], %{{.*}}, %[[G]] {transpose_b}
// CHECK:   tile.dot %[[A]], %{{.*}}, %[[U]] {transpose_b}
// CHECK: arith.truncf %[[SUMS]]#0
// CHECK: arith.truncf %[[SUMS]]#1
// CHECK: math.exp2
// CHECK: tile.store %{{.*}} : tensor<128x64xf16>, !tile.view<?x160xf16>
func.func @gated(%x: tensor<?x?x96xf16>, %norm: tensor<96xf16>, %gate: tensor<160x96xf16>, %up: tensor<160x96xf16>) -> tensor<?x?x160xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x96xf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x96xf16>
  %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x96xf16>, tensor<96xf16>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x160xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %g = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %gate : tensor<?x?x96xf16>, tensor<160x96xf16>) outs(%zeros : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %g16 = arith.truncf %g : tensor<?x?x160xf32> to tensor<?x?x160xf16>
  %u = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %up : tensor<?x?x96xf16>, tensor<160x96xf16>) outs(%zeros : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %u16 = arith.truncf %u : tensor<?x?x160xf32> to tensor<?x?x160xf16>
  %y = attn.glu swiglu %g16, %u16 : tensor<?x?x160xf16>
  return %y : tensor<?x?x160xf16>
}

// -----

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// One token of each sequence: sequences are the rows. The residual is added behind the product; f32 in three products.
// CHECK: tile.kernel private @projection({{.*}}) config <block = [16, 64, 64], stages = 3, warps = 4>
// CHECK: memref.subview %{{.*}}[0, 0, 0] [%{{.*}}, 1, 96] [1, 1, 1] : {{.*}} to memref<?x96xf32, strided<[?, 1], offset: ?>>
// CHECK: tile.load {{.*}} -> tensor<16x64xf32>
// CHECK: %[[W:.*]] = tile.load {{.*}} -> tensor<64x64xbf16>
// CHECK: arith.extf %[[W]]
// CHECK: tile.dot {{.*}} precision tf32x3 {transpose_b} : tensor<16x64xf32>, tensor<64x64xf32> -> tensor<16x64xf32>
// CHECK: %[[RESIDUAL:.*]] = tile.load {{.*}} -> tensor<16x64xf32>
// CHECK: arith.addf %[[RESIDUAL]], %{{.*}} : tensor<16x64xf32>
func.func @token(%x: tensor<?x1x96xf32>, %w: tensor<96x96xbf16>, %residual: tensor<?x1x96xf32>) -> tensor<?x1x96xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x1x96xf32>
  %empty = tensor.empty(%batch) : tensor<?x1x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x1x96xf32>) -> tensor<?x1x96xf32>
  %p = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %w : tensor<?x1x96xf32>, tensor<96x96xbf16>) outs(%zeros : tensor<?x1x96xf32>) -> tensor<?x1x96xf32>
  %y = arith.addf %residual, %p : tensor<?x1x96xf32>
  return %y : tensor<?x1x96xf32>
}

// -----

// A weight with its columns along rows, and no extent known: blocks of 128 x 128, padded everywhere. Factors of different 16-bit types
// are exact in tf32.
// CHECK: tile.kernel private @projection({{.*}}) config <block = [64, 64, 32], stages = 3, warps = 4>
// CHECK: scf.for %[[K:.*]] = %c0 to %{{.*}} step %c32
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[K]]] pad(%{{.*}}) : !tile.view<?x?xf16> -> tensor<64x32xf16>
// CHECK: tile.load %{{.*}}[%[[K]], %{{.*}}] pad(%{{.*}}) : !tile.view<?x?xbf16> -> tensor<32x64xbf16>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision tf32 : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
func.func @plain(%x: tensor<?x?xf16>, %w: tensor<?x?xbf16>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf16>
  %n = tensor.dim %w, %c1 : tensor<?x?xbf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xf16>, tensor<?x?xbf16>) outs(%zeros : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
