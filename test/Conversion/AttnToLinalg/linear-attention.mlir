// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// One token: decay in place, prediction, correction, update in place, read.
// CHECK-LABEL: func.func @gated_delta
// CHECK-SAME: (%[[Q:.*]]: tensor<2x?x2x8xf32>, %[[K:.*]]: tensor<2x?x2x8xf32>, %[[V:.*]]: tensor<2x?x4x8xf32>, %[[G:.*]]: tensor<2x?x4xf32>, %[[BETA:.*]]: tensor<2x?x4xf32>, %[[S:.*]]: tensor<2x4x8x8xf32>)
func.func @gated_delta(%q: tensor<2x?x2x8xf32>, %k: tensor<2x?x2x8xf32>, %v: tensor<2x?x4x8xf32>, %g: tensor<2x?x4xf32>,
                       %b: tensor<2x?x4xf32>, %s: tensor<2x4x8x8xf32>) -> (tensor<2x?x4x8xf32>, tensor<2x4x8x8xf32>) {
  // CHECK: %[[TK:.*]] = tensor.dim %[[K]], %c1
  // CHECK: %[[TQ:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[TK]], %[[TQ]]
  // CHECK: attn.require %[[SAME]], "linear_attention: dimension 1 of key is {0}, expected {1} like dimension 1 of query"
  // CHECK: scf.for %[[N:.*]] = %c0 to %c2 step %c1 iter_args(%[[STATES:.*]] = %[[S]], %[[OUT:.*]] = %{{.*}})
  // CHECK: %[[OWN:.*]] = tensor.extract_slice %[[STATES]][%[[N]], 0, 0, 0] [1, 4, 8, 8]
  // CHECK: scf.for %[[TOKEN:.*]] = %c0 to %[[TQ]] step %c1 iter_args(%[[STATE:.*]] = %[[OWN]], %{{.*}} = %[[OUT]])
  // Each key head is that of two value heads.
  // CHECK: %[[KEY:.*]] = tensor.extract_slice %[[K]][%[[N]], %[[TOKEN]], 0, 0] [1, 1, 2, 8]
  // CHECK: linalg.generic {{.*}} ins(%[[KEY]] : tensor<2x8xf32>) outs(%{{.*}} : tensor<2x2x8xf32>)
  // CHECK: math.exp
  // CHECK: %[[DECAYED:.*]] = linalg.generic {{.*}} outs(%[[STATE]] : tensor<4x8x8xf32>)
  // CHECK: arith.mulf
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[DECAYED]] : tensor<4x1x8xf32>, tensor<4x8x8xf32>)
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: %[[NEW:.*]] = linalg.generic {{.*}} outs(%[[DECAYED]] : tensor<4x8x8xf32>)
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[NEW]] : tensor<4x1x8xf32>, tensor<4x8x8xf32>)
  // CHECK: %[[ROW:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[%[[N]], %[[TOKEN]], 0, 0] [1, 1, 4, 8]
  // CHECK: scf.yield %[[NEW]], %[[ROW]]
  // CHECK: tensor.insert_slice %{{.*}} into %[[STATES]][%[[N]], 0, 0, 0] [1, 4, 8, 8]
  // CHECK-NOT: attn.linear_attention
  %o, %t = attn.linear_attention gated_delta %q, %k, %v decay(%g : tensor<2x?x4xf32>) beta(%b : tensor<2x?x4xf32>)
      initial_state(%s : tensor<2x4x8x8xf32>)
      : (tensor<2x?x2x8xf32>, tensor<2x?x2x8xf32>, tensor<2x?x4x8xf32>) -> (tensor<2x?x4x8xf32>, tensor<2x4x8x8xf32>)
  return %o, %t : tensor<2x?x4x8xf32>, tensor<2x4x8x8xf32>
}

// Offsets and slots are checked; what is skipped gives 0, and a loop runs no time for it.
// CHECK-LABEL: func.func @slots
// CHECK-SAME: %[[CU:[a-z0-9]*]]: tensor<?xi32>, %[[SLOTS:[a-z0-9]*]]: tensor<?xi32>)
func.func @slots(%q: tensor<1x?x2x8xf16>, %pool: tensor<?x2x8x8xf32>, %cu: tensor<?xi32>, %slots: tensor<?xi32>)
    -> (tensor<1x?x2x8xf16>, tensor<?x2x8x8xf32>) {
  // CHECK: attn.require %{{.*}}, "linear_attention: cu_seqlens has no elements"
  // CHECK: scf.for {{.*}} -> (index, index, i1, index, index, index)
  // CHECK: attn.require %{{.*}}, "linear_attention: cu_seqlens[0] is {0}, expected 0"
  // CHECK: attn.require %{{.*}}, "linear_attention: cu_seqlens[{0}] is {1}, expected at least {2}, the value before it"
  // CHECK: attn.require %{{.*}}, "linear_attention: the last value of cu_seqlens is {0}, expected {1}, the number of tokens"
  // CHECK: attn.require %{{.*}}, "linear_attention: dimension 0 of slots is {0}, expected {1}, one less than cu_seqlens has"
  // CHECK: attn.require_range %[[SLOTS]] in [%c-1, %{{.*}}], "slots"
  // CHECK: linalg.fill {{.*}} -> tensor<1x?x2x8xf16>
  // CHECK: %[[SLOT32:.*]] = tensor.extract %[[SLOTS]][
  // CHECK: %[[SLOT:.*]] = arith.index_cast %[[SLOT32]]
  // CHECK: %[[USED:.*]] = arith.cmpi sge, %[[SLOT]], %c0
  // CHECK: %[[TRIPS:.*]] = arith.index_castui %[[USED]] : i1 to index
  // CHECK: scf.for %{{.*}} = %c0 to %[[TRIPS]]
  // CHECK: tensor.extract_slice %{{.*}}[%[[SLOT]], 0, 0, 0] [1, 2, 8, 8]
  // Rows of f16 become f32.
  // CHECK: arith.extf
  // CHECK: arith.truncf
  %o, %t = attn.linear_attention linear %q, %q, %q initial_state(%pool : tensor<?x2x8x8xf32>)
      cu_seqlens(%cu : tensor<?xi32>) slots(%slots : tensor<?xi32>)
      : (tensor<1x?x2x8xf16>, tensor<1x?x2x8xf16>, tensor<1x?x2x8xf16>) -> (tensor<1x?x2x8xf16>, tensor<?x2x8x8xf32>)
  return %o, %t : tensor<1x?x2x8xf16>, tensor<?x2x8x8xf32>
}

// Without causality a second loop reads what the first one left.
// CHECK-LABEL: func.func @non_causal
func.func @non_causal(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // CHECK: linalg.fill {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK: linalg.fill {{.*}} -> tensor<1x2x8xf32>
  // CHECK: %[[SUMS:.*]]:2 = scf.for
  // CHECK-NOT: linalg.contract
  // CHECK: scf.for
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[SUMS]]#0 :
  // CHECK: arith.divf
  %o, %s, %z = attn.linear_attention linear %q, %q, %q {normalize, non_causal, eps = 1.0e-6 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8xf32>)
  return %o : tensor<1x4x2x8xf32>
}
