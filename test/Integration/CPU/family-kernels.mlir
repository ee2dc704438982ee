// Other kernels, and products alone, give what the reference in f64 gives, with extents that fill no block. heddle-run checks the
// relative error of every output. Every entry runs with data of f32 and of f16.

// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/!t = f32/!t = f16/' %s > %t/f16.mlir
// RUN: heddle-compile %s --accumulate=f64 --cpu-variants=avx2 -o %t/reference.so
// RUN: heddle-compile %t/f16.mlir --accumulate=f64 --cpu-variants=avx2 -o %t/reference16.so
// RUN: heddle-compile %s --kernels=tile-all -o %t/tiles.so
// RUN: heddle-compile %t/f16.mlir --kernels=tile-all -o %t/tiles16.so
// RUN: heddle-compile %s --emit=linalg --kernels=tile-all -o - | FileCheck %s --implicit-check-not="= linalg." --implicit-check-not="= attn."
// CHECK-COUNT-11: tile.dispatch
// CHECK-NOT: tile.dispatch

!t = f32
#one = affine_map<(b) -> (b)>
#two = affine_map<(b, i) -> (b, i)>
#rowOnly = affine_map<(b, i) -> (b)>
#columnOnly = affine_map<(b, i) -> (i)>
#swapped = affine_map<(b, i) -> (i, b)>
#rows = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Pages of 8 rows in the order 3, 2, 1, 0; then one more token.
func.func @paged(%key: tensor<1x?x2x24x!t> {heddle.dims = ["", "L", "", ""]}, %value: tensor<1x?x2x24x!t>, %token: tensor<1x1x2x24x!t>, %zeros: tensor<1xi32>, %table: tensor<1x4xi32>,
                 %keys: tensor<4x8x2x24x!t>, %values: tensor<4x8x2x24x!t>) -> (tensor<4x8x2x24x!t> {heddle.name = "keys"}, tensor<4x8x2x24x!t> {heddle.name = "values"}) {
  %e = tensor.empty() : tensor<1x4xi32>
  %pages = linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%table : tensor<1x4xi32>) outs(%e : tensor<1x4xi32>) {
  ^bb0(%z: i32, %o: i32):
    %three = arith.constant 3 : i32
    %index = linalg.index 1 : index
    %i = arith.index_cast %index : index to i32
    %page = arith.subi %three, %i : i32
    %sum = arith.addi %page, %z : i32
    linalg.yield %sum : i32
  } -> tensor<1x4xi32>
  %k1, %v1 = attn.kv_append %keys, %values, %key, %value, %zeros block_table(%pages : tensor<1x4xi32>) : (tensor<4x8x2x24x!t>, tensor<4x8x2x24x!t>, tensor<1x?x2x24x!t>, tensor<1x?x2x24x!t>, tensor<1xi32>) -> (tensor<4x8x2x24x!t>, tensor<4x8x2x24x!t>)
  %e1 = tensor.empty() : tensor<1xi32>
  %c30 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%zeros : tensor<1xi32>) outs(%e1 : tensor<1xi32>) {
  ^bb0(%z: i32, %o: i32):
    %c = arith.constant 30 : i32
    %sum = arith.addi %z, %c : i32
    linalg.yield %sum : i32
  } -> tensor<1xi32>
  %k2, %v2 = attn.kv_append %k1, %v1, %token, %token, %c30 block_table(%pages : tensor<1x4xi32>) : (tensor<4x8x2x24x!t>, tensor<4x8x2x24x!t>, tensor<1x1x2x24x!t>, tensor<1x1x2x24x!t>, tensor<1xi32>) -> (tensor<4x8x2x24x!t>, tensor<4x8x2x24x!t>)
  return %k2, %v2 : tensor<4x8x2x24x!t>, tensor<4x8x2x24x!t>
}

// Two products of one factor, a gated unit, the product back, and the residual.
func.func @gated(%x: tensor<?x50x!t> {heddle.dims = ["M", ""]}, %gate: tensor<90x50x!t>, %up: tensor<90x50x!t>, %down: tensor<50x90xf32>) -> (tensor<?x50xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x50x!t>
  %e = tensor.empty(%m) : tensor<?x90xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x90xf32>) -> tensor<?x90xf32>
  %e50 = tensor.empty(%m) : tensor<?x50xf32>
  %z50 = linalg.fill ins(%zero : f32) outs(%e50 : tensor<?x50xf32>) -> tensor<?x50xf32>
  %g = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %gate : tensor<?x50x!t>, tensor<90x50x!t>) outs(%z : tensor<?x90xf32>) -> tensor<?x90xf32>
  %u = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %up : tensor<?x50x!t>, tensor<90x50x!t>) outs(%z : tensor<?x90xf32>) -> tensor<?x90xf32>
  %p = attn.glu geglu %g, %u : tensor<?x90xf32>
  %d = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%p, %down : tensor<?x90xf32>, tensor<50x90xf32>) outs(%z50 : tensor<?x50xf32>) -> tensor<?x50xf32>
  %y = linalg.generic {indexing_maps = [#two, #two, #two], iterator_types = ["parallel", "parallel"]} ins(%d, %x : tensor<?x50xf32>, tensor<?x50x!t>) outs(%e50 : tensor<?x50xf32>) {
  ^bb0(%a: f32, %b: !t, %o: f32):
    %s = arith.mulf %a, %a : f32
    %r = arith.addf %s, %a : f32
    linalg.yield %r : f32
  } -> tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}

func.func @plain(%x: tensor<?x?x!t> {heddle.dims = ["M", "K"]}, %w: tensor<?x?x!t> {heddle.dims = ["K", "N"]}) -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?x!t>
  %n = tensor.dim %w, %c1 : tensor<?x?x!t>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?x!t>, tensor<?x?x!t>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Interleaved rotation of a part of a head, a norm of any length, and elementwise work with a transposed operand.
func.func @rows(%x: tensor<?x?x3x28x!t> {heddle.dims = ["B", "L", "", ""]}, %p: tensor<?x?xi32>, %a: tensor<?x?x!t> {heddle.dims = ["L", "N"]}, %b: tensor<?x?xf32> {heddle.dims = ["N", "L"]},
                %c: tensor<?xf32>, %w: tensor<?xf32>)
    -> (tensor<?x?x3x28x!t> {heddle.name = "y"}, tensor<?x?xf32> {heddle.name = "z"}, tensor<?x?x!t> {heddle.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x3x28x!t>
  %l = tensor.dim %a, %c0 : tensor<?x?x!t>
  %n = tensor.dim %a, %c1 : tensor<?x?x!t>
  %noPositions = tensor.empty(%batch, %l) : tensor<?x?xi32>
  %positions = linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x?xi32>) outs(%noPositions : tensor<?x?xi32>) {
  ^bb0(%s: i32, %o: i32):
    %index = linalg.index 1 : index
    %i = arith.index_cast %index : index to i32
    %far = arith.constant 100003 : i32
    %q = arith.addi %i, %far : i32
    %sum = arith.addi %q, %s : i32
    linalg.yield %sum : i32
  } -> tensor<?x?xi32>
  %y = attn.rope %x, %positions {theta = 1.0e4 : f64, interleaved, rotary_dim = 18} : tensor<?x?x3x28x!t>, tensor<?x?xi32>
  %norm = attn.layer_norm %a, %w bias(%w : tensor<?xf32>) {eps = 1.0e-5 : f64} : tensor<?x?x!t>, tensor<?xf32>
  %e = tensor.empty(%l, %n) : tensor<?x?xf32>
  %z = linalg.generic {indexing_maps = [#swapped, #rowOnly, #columnOnly, #two], iterator_types = ["parallel", "parallel"]}
      ins(%b, %c, %w : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%u: f32, %v: f32, %t: f32, %o: f32):
    %sum = arith.addf %u, %v : f32
    %exp = math.exp %t : f32
    %erf = math.erf %sum : f32
    %product = arith.mulf %exp, %erf : f32
    linalg.yield %product : f32
  } -> tensor<?x?xf32>
  return %y, %z, %norm : tensor<?x?x3x28x!t>, tensor<?x?xf32>, tensor<?x?x!t>
}
