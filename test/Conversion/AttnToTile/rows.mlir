// RUN: heddle-opt %s --attn-form-kernels --attn-to-tile=chip=sm_80 --canonicalize --cse --split-input-file | FileCheck %s

#row = affine_map<(b, i) -> (b, i)>
#all = affine_map<(b, i, c) -> (b, i, c)>
#token = affine_map<(b, i, c) -> (b, i)>

// Rows of a table by a gathered view.
// CHECK: tile.dispatch @rows grid({{.*}}) ins(%arg1, %arg0 : tensor<211x96xbf16>, tensor<?x?xi64>)
// CHECK: tile.kernel private @rows({{.*}}) config <block = [32, 96], warps = 4>
// CHECK: %[[TOKENS:.*]] = tile.view %{{.*}}[:] : {{.*}} -> !tile.view<?xi64>
// CHECK: %[[ROWS:.*]] = tile.gather_view %{{.*}}[table %[[TOKENS]], :] : memref<211x96xbf16, {{.*}}, !tile.view<?xi64> -> !tile.view<?x96xbf16>
// CHECK: %[[TILE:.*]] = tile.load %[[ROWS]][%{{.*}}, %c0] pad(%{{.*}}) : !tile.view<?x96xbf16> -> tensor<32x96xbf16>
// CHECK: arith.extf %[[TILE]]
// CHECK: tile.store
func.func @embedding(%tokens: tensor<?x?xi64>, %table: tensor<211x96xbf16>) -> tensor<?x?x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %tokens, %c0 : tensor<?x?xi64>
  %seq = tensor.dim %tokens, %c1 : tensor<?x?xi64>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x96xf32>
  %y = linalg.generic {indexing_maps = [#token, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%tokens : tensor<?x?xi64>) outs(%empty : tensor<?x?x96xf32>) {
  ^bb0(%t: i64, %o: f32):
    %r = arith.index_cast %t : i64 to index
    %c = linalg.index 2 : index
    %e = tensor.extract %table[%r, %c] : tensor<211x96xbf16>
    %wide = arith.extf %e : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<?x?x96xf32>
  return %y : tensor<?x?x96xf32>
}

// -----

#column = affine_map<(b, i) -> (i)>
#row = affine_map<(b, i) -> (b, i)>

// Elementwise work goes together; two outputs of one kernel. What depends on columns only is computed once for them.
// CHECK: %{{.*}}:2 = tile.dispatch @rows grid({{.*}}) ins(%arg0, %arg1 : tensor<?x?xf16>, tensor<?xf32>) outs(%{{.*}}, %{{.*}} : tensor<?x?xf16>, tensor<?x?xf32>)
// CHECK: tile.kernel private @rows({{.*}}) config <block = [16, 256], warps = 4>
// CHECK: tile.store %{{.*}} : tensor<16x256xf16>
// CHECK: arith.index_cast %{{.*}} : tensor<256xindex> to tensor<256xi32>
// CHECK: %[[SCALE:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<256xf32>
// CHECK: tile.broadcast %[[SCALE]] along 0 : tensor<256xf32> -> tensor<16x256xf32>
// CHECK: tile.store %{{.*}} : tensor<16x256xf32>
func.func @elementwise(%x: tensor<?x?xf16>, %s: tensor<?xf32>) -> (tensor<?x?xf16>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf16>
  %n = tensor.dim %x, %c1 : tensor<?x?xf16>
  %a = attn.activation silu %x : tensor<?x?xf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<?x?xf16>, tensor<?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%e: f16, %scale: f32, %o: f32):
    %i = linalg.index 1 : index
    %narrow = arith.index_cast %i : index to i32
    %position = arith.sitofp %narrow : i32 to f32
    %factor = arith.mulf %scale, %position : f32
    %wide = arith.extf %e : f16 to f32
    %product = arith.mulf %wide, %factor : f32
    linalg.yield %product : f32
  } -> tensor<?x?xf32>
  return %a, %y : tensor<?x?xf16>, tensor<?x?xf32>
}

// -----

// Pairs of neighbouring columns: two views of every second one. A part of the head is not turned.
// CHECK: tile.kernel private @rope
// CHECK: memref.subview %{{.*}}[0, 0, 0, 0] [%{{.*}}, %{{.*}}, %{{.*}}, 10] [1, 1, 1, 2] : {{.*}} to memref<?x?x?x10xf32, strided<[?, ?, ?, 2], offset: ?>>
// CHECK: memref.subview %{{.*}}[0, 0, 0, 1] [%{{.*}}, %{{.*}}, %{{.*}}, 10] [1, 1, 1, 2]
// CHECK: memref.subview %{{.*}}[0, 0, 0, 20] [%{{.*}}, %{{.*}}, %{{.*}}, 12] [1, 1, 1, 1]
func.func @interleaved(%x: tensor<?x?x4x32xf32>, %p: tensor<?xi64>) -> tensor<?x?x4x32xf32> {
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, interleaved, rotary_dim = 20} : tensor<?x?x4x32xf32>, tensor<?xi64>
  return %y : tensor<?x?x4x32xf32>
}

// -----

// Norms alone walk over the columns of their rows; here one extent is known, there none. A vector is a matrix of one row.
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, 40]
// CHECK: tile.kernel private @rms_norm({{.*}}) config <block = [1, 48], warps = 4>
// CHECK: tile.load %{{.*}} pad(%{{.*}}) : !tile.view<1x40xf32> -> tensor<1x48xf32>
// CHECK: tile.kernel private @layer_norm({{.*}}) config <block = [4, 512], warps = 4>
// CHECK-COUNT-4: scf.for
func.func @norms(%v: tensor<40xf32>, %vw: tensor<40xbf16>, %x: tensor<?x?x?xf16>, %w: tensor<?xf32>, %b: tensor<?xf16>)
    -> (tensor<40xf32>, tensor<?x?x?xf16>) {
  %y = attn.rms_norm %v, %vw {eps = 1.0e-5 : f64, plus_one} : tensor<40xf32>, tensor<40xbf16>
  %z = attn.layer_norm %x, %w bias(%b : tensor<?xf16>) {eps = 1.0e-5 : f64} : tensor<?x?x?xf16>, tensor<?xf32>
  return %y, %z : tensor<40xf32>, tensor<?x?x?xf16>
}
