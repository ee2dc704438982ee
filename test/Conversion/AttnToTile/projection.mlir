// RUN: heddle-opt %s --attn-form-kernels --attn-to-tile=chip=sm_80 --canonicalize --cse | FileCheck %s

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>
#row = affine_map<(b, i, n) -> (b, i, n)>
#column = affine_map<(b, i, n) -> (n)>

// Norm, projection with a bias, rotation: one kernel, a program for 128 rows and one head.
// CHECK-LABEL: func.func @query
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c128
// CHECK: %[[OF_HEADS:.*]] = arith.muli %[[BLOCKS]], %c4
// CHECK: tile.dispatch @projection grid(%{{.*}}, %c1, %c1) ins(%arg0, %arg1, %arg2, %arg4, %arg3 : {{.*}}) outs(%{{.*}} : tensor<?x?x4x16xbf16>)
// CHECK-SAME: {heddle.loops = [array<i64: 0, 1, 2>, array<i64: 2>, array<i64: 3, 2>, array<i64: 0, 1>, array<i64: -1>, array<i64: 0, 1, -1, -1>]}
func.func @query(%x: tensor<?x?x96xbf16>, %norm: tensor<96xbf16>, %w: tensor<64x96xbf16>, %bias: tensor<64xbf16>,
                 %positions: tensor<?x?xi32>) -> tensor<?x?x4x16xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x96xbf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x96xbf16>
  %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x96xbf16>, tensor<96xbf16>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %p = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %w : tensor<?x?x96xbf16>, tensor<64x96xbf16>)
      outs(%zeros : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %sum = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %bias : tensor<?x?x64xf32>, tensor<64xbf16>) outs(%empty : tensor<?x?x64xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %wide = arith.extf %b : bf16 to f32
    %s = arith.addf %a, %wide : f32
    linalg.yield %s : f32
  } -> tensor<?x?x64xf32>
  %rounded = arith.truncf %sum : tensor<?x?x64xf32> to tensor<?x?x64xbf16>
  %heads = tensor.expand_shape %rounded [[0], [1], [2, 3]] output_shape [%batch, %seq, 4, 16] : tensor<?x?x64xbf16> into tensor<?x?x4x16xbf16>
  %q = attn.rope %heads, %positions {theta = 1.0e4 : f64} : tensor<?x?x4x16xbf16>, tensor<?x?xi32>
  return %q : tensor<?x?x4x16xbf16>
}

// Neighbouring rows first. The norm's weight goes into the factor, its factors of the rows into the sum.
// CHECK: tile.kernel private @projection({{.*}}) config <block = [128, 16, 32], stages = 4, warps = 4>
// CHECK-SAME: heddle.ops = ["attn.rms_norm", "linalg.contract", "linalg.generic", "arith.truncf", "attn.rope"]
// CHECK-SAME: needed_flops = [#tile.products<flops = 2, extents = [0, 0, 0, 1, 2, 0, 2, 1]>]
// CHECK: %[[FREQUENCIES:.*]] = arith.constant dense<[1.000000e+00, 0.316227764,
// CHECK: %[[PROGRAM:.*]] = tile.program_id x
// CHECK: %[[BLOCK:.*]] = arith.remui %[[PROGRAM]], %{{.*}}
// CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK: %[[HEAD_WEIGHT:.*]] = memref.subview %{{.*}}[%{{.*}}, 0] [16, 96] [1, 1]
// CHECK: %[[WALK:.*]]:2 = scf.for %[[K:.*]] = %c0 to %c96 step %c32 iter_args(%[[ACC:.*]] = %{{.*}}, %[[SQUARES:.*]] = %{{.*}}) -> (tensor<128x16xf32>, tensor<128xf32>)
// CHECK:   %[[X:.*]] = tile.load %{{.*}}[%[[ROW]], %[[K]]] pad(%{{.*}}) : !tile.view<?x96xbf16> -> tensor<128x32xbf16>
// CHECK:   %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[WIDE]], %{{.*}} : tensor<128x32xf32>
// CHECK:   %[[A:.*]] = arith.truncf %[[SCALED]] : tensor<128x32xf32> to tensor<128x32xbf16>
// CHECK:   %[[B:.*]] = tile.load %{{.*}}[%c0, %[[K]]] : !tile.view<16x96xbf16> -> tensor<16x32xbf16>
// CHECK:   tile.dot %[[A]], %[[B]], %[[ACC]] {transpose_b}
// CHECK:   %[[SQUARE:.*]] = arith.mulf %[[WIDE]], %[[WIDE]]
// CHECK:   tile.reduce add %[[SQUARE]] along 1
// CHECK: }
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK: %[[FACTOR:.*]] = arith.divf %{{.*}}, %[[ROOT]]
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] along 1
// CHECK: arith.mulf %[[WALK]]#0, %[[FACTORS]]

// What follows is computed as the operations say; the halves of a head are turned.
// CHECK: tile.load %{{.*}}[%[[ROW]]] pad(%{{.*}}) : !tile.view<?xi32> -> tensor<128xi32>
// CHECK: tile.broadcast %[[FREQUENCIES]] along 0 : tensor<8xf32> -> tensor<128x8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<128x16xf32>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]]
// CHECK: %[[HEAD:.*]] = arith.extf %[[ROUNDED]]
// CHECK: tile.slice %[[HEAD]][0, 0] : tensor<128x16xf32> -> tensor<128x8xf32>
// CHECK: tile.slice %[[HEAD]][0, 8]
// CHECK: %[[TURNED:.*]] = tile.concat
// CHECK: %[[OUTPUT:.*]] = arith.truncf %[[TURNED]]
// CHECK: tile.store %[[OUTPUT]], %{{.*}}[%[[ROW]], %c0] : tensor<128x16xbf16>, !tile.view<?x16xbf16>
