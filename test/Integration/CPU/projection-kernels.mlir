// Projections into caches as kernels give what the reference in f64 gives, with extents that fill no block. heddle-run checks the
// relative error of every output. Every entry runs with data of f32 and of f16.

// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/!t = f32/!t = f16/' %s > %t/f16.mlir
// RUN: heddle-compile %s --accumulate=f64 --cpu-variants=avx2 -o %t/reference.so
// RUN: heddle-compile %t/f16.mlir --accumulate=f64 --cpu-variants=avx2 -o %t/reference16.so
// RUN: heddle-compile %s --kernels=tile-all -o %t/tiles.so
// RUN: heddle-compile %t/f16.mlir --kernels=tile-all -o %t/tiles16.so
// RUN: heddle-compile %s --emit=linalg --kernels=tile-all -o - | FileCheck %s --implicit-check-not="= linalg." --implicit-check-not="= attn."
// CHECK-COUNT-4: tile.dispatch
// CHECK-NOT: tile.dispatch

// RUN: heddle-run %t/reference.so --entry project --random 1 --dim B=2 --dim L=37 --dim C=60 --output q=%t/q.npy --output keys=%t/k.npy --output values=%t/v.npy
// RUN: heddle-run %t/tiles.so --entry project --random 1 --dim B=2 --dim L=37 --dim C=60 --verify q=%t/q.npy --verify keys=%t/k.npy --verify values=%t/v.npy
// RUN: heddle-run %t/reference16.so --entry project --random 2 --dim B=3 --dim L=130 --dim C=140 --output q=%t/q.npy --output keys=%t/k.npy --output values=%t/v.npy
// RUN: heddle-run %t/tiles16.so --entry project --random 2 --dim B=3 --dim L=130 --dim C=140 --verify q=%t/q.npy --verify keys=%t/k.npy --verify values=%t/v.npy --rtol 6e-4

// More sequences than a block has rows.
// RUN: heddle-run %t/reference.so --entry token --random 3 --dim B=19 --dim C=60 --output keys=%t/k.npy --output values=%t/v.npy
// RUN: heddle-run %t/tiles.so --entry token --random 3 --dim B=19 --dim C=60 --verify keys=%t/k.npy --verify values=%t/v.npy
// RUN: heddle-run %t/reference16.so --entry token --random 4 --dim B=1 --dim C=3 --output keys=%t/k.npy --output values=%t/v.npy
// RUN: heddle-run %t/tiles16.so --entry token --random 4 --dim B=1 --dim C=3 --verify keys=%t/k.npy --verify values=%t/v.npy --rtol 6e-4

!t = f32
#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>
#one = affine_map<(b) -> (b)>
#two = affine_map<(b, i) -> (b, i)>
#first = affine_map<(b, i) -> (b)>
#three = affine_map<(b, i, n) -> (b, i, n)>
#column = affine_map<(b, i, n) -> (n)>

// start[b] = 2 b, as a kernel of its own, since checks read it.
func.func private @starts(%zeros: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %zeros, %c0 : tensor<?xi32>
  %empty = tensor.empty(%batch) : tensor<?xi32>
  %starts = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%zeros : tensor<?xi32>) outs(%empty : tensor<?xi32>) {
  ^bb0(%z: i32, %o: i32):
    %b = linalg.index 0 : index
    %i = arith.index_cast %b : index to i32
    %twice = arith.addi %i, %i : i32
    %start = arith.addi %twice, %z : i32
    linalg.yield %start : i32
  } -> tensor<?xi32>
  return %starts : tensor<?xi32>
}

// Norm, three products, bias, norms and rotations of heads of 20 columns, 12 of which turn, append.
func.func @project(%x: tensor<?x?x72x!t> {heddle.dims = ["B", "L", ""]}, %norm: tensor<72x!t>, %wq: tensor<60x72x!t>, %wk: tensor<40x72x!t>, %wv: tensor<40x72x!t>,
                   %bias: tensor<60x!t>, %headNorm: tensor<20xf32>, %zeros: tensor<?xi32>, %keys: tensor<?x?x2x20x!t> {heddle.dims = ["B", "C", "", ""]}, %values: tensor<?x?x2x20x!t>)
    -> (tensor<?x?x3x20xf32> {heddle.name = "q"}, tensor<?x?x2x20x!t> {heddle.name = "keys"}, tensor<?x?x2x20x!t> {heddle.name = "values"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x72x!t>
  %l = tensor.dim %x, %c1 : tensor<?x?x72x!t>
  %start = func.call @starts(%zeros) : (tensor<?xi32>) -> tensor<?xi32>
  %noPositions = tensor.empty(%b, %l) : tensor<?x?xi32>
  %positions = linalg.generic {indexing_maps = [#first, #two], iterator_types = ["parallel", "parallel"]} ins(%start : tensor<?xi32>) outs(%noPositions : tensor<?x?xi32>) {
  ^bb0(%s: i32, %o: i32):
    %index = linalg.index 1 : index
    %i = arith.index_cast %index : index to i32
    %p = arith.addi %s, %i : i32
    linalg.yield %p : i32
  } -> tensor<?x?xi32>
  %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x72x!t>, tensor<72x!t>
  %e60 = tensor.empty(%b, %l) : tensor<?x?x60xf32>
  %z60 = linalg.fill ins(%zero : f32) outs(%e60 : tensor<?x?x60xf32>) -> tensor<?x?x60xf32>
  %e40 = tensor.empty(%b, %l) : tensor<?x?x40xf32>
  %z40 = linalg.fill ins(%zero : f32) outs(%e40 : tensor<?x?x40xf32>) -> tensor<?x?x40xf32>
  %q0 = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %wq : tensor<?x?x72x!t>, tensor<60x72x!t>) outs(%z60 : tensor<?x?x60xf32>) -> tensor<?x?x60xf32>
  %k0 = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %wk : tensor<?x?x72x!t>, tensor<40x72x!t>) outs(%z40 : tensor<?x?x40xf32>) -> tensor<?x?x40xf32>
  %v0 = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %wv : tensor<?x?x72x!t>, tensor<40x72x!t>) outs(%z40 : tensor<?x?x40xf32>) -> tensor<?x?x40xf32>
  %q1 = linalg.generic {indexing_maps = [#three, #column, #three], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q0, %bias : tensor<?x?x60xf32>, tensor<60x!t>) outs(%e60 : tensor<?x?x60xf32>) {
  ^bb0(%a: f32, %c: !t, %o: f32):
    %half = arith.constant 0.5 : f32
    %sum = arith.addf %a, %half : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x60xf32>
  %q2 = tensor.expand_shape %q1 [[0], [1], [2, 3]] output_shape [%b, %l, 3, 20] : tensor<?x?x60xf32> into tensor<?x?x3x20xf32>
  %k2 = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [%b, %l, 2, 20] : tensor<?x?x40xf32> into tensor<?x?x2x20xf32>
  %v2 = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [%b, %l, 2, 20] : tensor<?x?x40xf32> into tensor<?x?x2x20xf32>
  %q3 = attn.rms_norm %q2, %headNorm {eps = 1.0e-6 : f64} : tensor<?x?x3x20xf32>, tensor<20xf32>
  %k3 = attn.rms_norm %k2, %headNorm {eps = 1.0e-6 : f64, plus_one} : tensor<?x?x2x20xf32>, tensor<20xf32>
  %q = attn.rope %q3, %positions {theta = 1.0e4 : f64, rotary_dim = 12} : tensor<?x?x3x20xf32>, tensor<?x?xi32>
  %k = attn.rope %k3, %positions {theta = 1.0e4 : f64, rotary_dim = 12} : tensor<?x?x2x20xf32>, tensor<?x?xi32>
  %keys2, %values2 = attn.kv_append %keys, %values, %k, %v2, %start : (tensor<?x?x2x20x!t>, tensor<?x?x2x20x!t>, tensor<?x?x2x20xf32>, tensor<?x?x2x20xf32>, tensor<?xi32>) -> (tensor<?x?x2x20x!t>, tensor<?x?x2x20x!t>)
  return %q, %keys2, %values2 : tensor<?x?x3x20xf32>, tensor<?x?x2x20x!t>, tensor<?x?x2x20x!t>
}

// One token of each sequence.
func.func @token(%x: tensor<?x1x72x!t> {heddle.dims = ["B", "", ""]}, %wk: tensor<32x72x!t>, %wv: tensor<32x72x!t>, %zeros: tensor<?xi32>,
                 %keys: tensor<?x?x2x16x!t> {heddle.dims = ["B", "C", "", ""]}, %values: tensor<?x?x2x16x!t>)
    -> (tensor<?x?x2x16x!t> {heddle.name = "keys"}, tensor<?x?x2x16x!t> {heddle.name = "values"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x1x72x!t>
  %start = func.call @starts(%zeros) : (tensor<?xi32>) -> tensor<?xi32>
  %positions = tensor.expand_shape %start [[0, 1]] output_shape [%b, 1] : tensor<?xi32> into tensor<?x1xi32>
  %e = tensor.empty(%b) : tensor<?x1x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %k0 = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wk : tensor<?x1x72x!t>, tensor<32x72x!t>) outs(%z : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %v0 = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %wv : tensor<?x1x72x!t>, tensor<32x72x!t>) outs(%z : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %k1 = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [%b, 1, 2, 16] : tensor<?x1x32xf32> into tensor<?x1x2x16xf32>
  %v1 = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [%b, 1, 2, 16] : tensor<?x1x32xf32> into tensor<?x1x2x16xf32>
  %k = attn.rope %k1, %positions {theta = 1.0e4 : f64} : tensor<?x1x2x16xf32>, tensor<?x1xi32>
  %keys2, %values2 = attn.kv_append %keys, %values, %k, %v1, %start : (tensor<?x?x2x16x!t>, tensor<?x?x2x16x!t>, tensor<?x1x2x16xf32>, tensor<?x1x2x16xf32>, tensor<?xi32>) -> (tensor<?x?x2x16x!t>, tensor<?x?x2x16x!t>)
  return %keys2, %values2 : tensor<?x?x2x16x!t>, tensor<?x?x2x16x!t>
}
