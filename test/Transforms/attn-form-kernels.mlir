// RUN: heddle-opt %s --attn-form-kernels --split-input-file | FileCheck %s
// RUN: not heddle-opt %s --attn-form-kernels=chip=sm_10 --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown chip 'sm_10'; known are sm_80, sm_86, sm_89, sm_90

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// Products of one factor, its norm, and what joins their results: one kernel. The next product reads its result. A view at the end stays
// outside.
// CHECK-LABEL: func.func @feed_forward
// CHECK: %[[PRODUCT:.*]] = scf.execute_region -> tensor<?x?x160xf16> no_inline {
// CHECK-NEXT: attn.rms_norm
// CHECK-NEXT: linalg.contract
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: linalg.contract
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: %[[GLU:.*]] = attn.glu
// CHECK-NEXT: scf.yield %[[GLU]]
// CHECK-NEXT: } {heddle.kernel = "projection"}
// CHECK: %[[SUM:.*]] = scf.execute_region -> tensor<?x?x96xf16> no_inline {
// CHECK-NEXT: linalg.contract {{.*}} ins(%[[PRODUCT]], %arg4
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {heddle.kernel = "projection"}
// CHECK: tensor.expand_shape %[[SUM]]
func.func @feed_forward(%x: tensor<?x?x96xf16>, %norm: tensor<96xf16>, %gate: tensor<160x96xf16>, %up: tensor<160x96xf16>,
                        %down: tensor<96x160xf16>) -> tensor<?x?x6x16xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x96xf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x96xf16>
  %wide = tensor.empty(%batch, %seq) : tensor<?x?x160xf32>
  %wideZeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %narrow = tensor.empty(%batch, %seq) : tensor<?x?x96xf32>
  %narrowZeros = linalg.fill ins(%zero : f32) outs(%narrow : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x96xf16>, tensor<96xf16>
  %g = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %gate : tensor<?x?x96xf16>, tensor<160x96xf16>) outs(%wideZeros : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %g16 = arith.truncf %g : tensor<?x?x160xf32> to tensor<?x?x160xf16>
  %u = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %up : tensor<?x?x96xf16>, tensor<160x96xf16>) outs(%wideZeros : tensor<?x?x160xf32>) -> tensor<?x?x160xf32>
  %u16 = arith.truncf %u : tensor<?x?x160xf32> to tensor<?x?x160xf16>
  %y = attn.glu swiglu %g16, %u16 : tensor<?x?x160xf16>
  %d = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%y, %down : tensor<?x?x160xf16>, tensor<96x160xf16>) outs(%narrowZeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %d16 = arith.truncf %d : tensor<?x?x96xf32> to tensor<?x?x96xf16>
  %sum = arith.addf %x, %d16 : tensor<?x?x96xf16>
  %heads = tensor.expand_shape %sum [[0], [1], [2, 3]] output_shape [%batch, %seq, 6, 16] : tensor<?x?x96xf16> into tensor<?x?x6x16xf16>
  return %heads : tensor<?x?x6x16xf16>
}

// -----

#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>

// An activation before a product would be computed 64 times for 8192 columns, which takes longer than to write and read it. A norm that
// somebody else needs is computed once.
// CHECK-LABEL: func.func @separate
// CHECK: attn.activation gelu
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {heddle.kernel = "rows"}
// CHECK: linalg.contract
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {heddle.kernel = "projection"}
// CHECK: attn.rms_norm
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {heddle.kernel = "norm"}
// CHECK: linalg.contract
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {heddle.kernel = "projection"}
func.func @separate(%x: tensor<?x?x2048xf16>, %norm: tensor<2048xf16>, %w: tensor<8192x2048xf16>)
    -> (tensor<?x?x8192xf32>, tensor<?x?x8192xf32>, tensor<?x?x2048xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x2048xf16>
  %seq = tensor.dim %x, %c1 : tensor<?x?x2048xf16>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?x8192xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x8192xf32>) -> tensor<?x?x8192xf32>
  %a = attn.activation gelu %x : tensor<?x?x2048xf16>
  %p = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%a, %w : tensor<?x?x2048xf16>, tensor<8192x2048xf16>) outs(%zeros : tensor<?x?x8192xf32>) -> tensor<?x?x8192xf32>
  %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x2048xf16>, tensor<2048xf16>
  %q = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%n, %w : tensor<?x?x2048xf16>, tensor<8192x2048xf16>) outs(%zeros : tensor<?x?x8192xf32>) -> tensor<?x?x8192xf32>
  return %p, %q, %n : tensor<?x?x8192xf32>, tensor<?x?x8192xf32>, tensor<?x?x2048xf16>
}

// -----

#map = affine_map<(b, i) -> (b, i)>
#first = affine_map<(b, i) -> (b)>

// %y leaves the group of %x and comes back through attention: two groups. What both need of %start is cheap, and copied. f64 has no kernel.
// CHECK-LABEL: func.func @there_and_back
// CHECK: scf.execute_region -> tensor<?x?x4x16xf32> no_inline {
// CHECK: linalg.generic
// CHECK: attn.rope
// CHECK: } {heddle.kernel = "rows"}
// CHECK: attn.attention
// CHECK: scf.execute_region -> tensor<?x?x4x16xf32> no_inline {
// CHECK: linalg.generic
// CHECK: attn.rope
// CHECK: arith.addf
// CHECK: } {heddle.kernel = "rows"}
// CHECK: return
// CHECK-LABEL: func.func @wide
// CHECK-NOT: scf.execute_region
func.func @there_and_back(%x: tensor<?x?x4x16xf32>, %start: tensor<?xi32>) -> tensor<?x?x4x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x4x16xf32>
  %seq = tensor.dim %x, %c1 : tensor<?x?x4x16xf32>
  %empty = tensor.empty(%batch, %seq) : tensor<?x?xi32>
  %positions = linalg.generic {indexing_maps = [#first, #map], iterator_types = ["parallel", "parallel"]}
      ins(%start : tensor<?xi32>) outs(%empty : tensor<?x?xi32>) {
  ^bb0(%s: i32, %o: i32):
    %i = linalg.index 1 : index
    %i32 = arith.index_cast %i : index to i32
    %p = arith.addi %s, %i32 : i32
    linalg.yield %p : i32
  } -> tensor<?x?xi32>
  %y = attn.rope %x, %positions {theta = 1.0e4 : f64} : tensor<?x?x4x16xf32>, tensor<?x?xi32>
  %o = attn.attention %y, %y, %y {causal} : (tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>) -> tensor<?x?x4x16xf32>
  %z = attn.rope %o, %positions {theta = 1.0e4 : f64} : tensor<?x?x4x16xf32>, tensor<?x?xi32>
  %sum = arith.addf %y, %z : tensor<?x?x4x16xf32>
  return %sum : tensor<?x?x4x16xf32>
}
func.func @wide(%x: tensor<?x16xf64>) -> tensor<?x16xf64> {
  %y = arith.addf %x, %x : tensor<?x16xf64>
  return %y : tensor<?x16xf64>
}
