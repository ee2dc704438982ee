// RUN: heddle-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x4x8xf32>, %[[K:.*]]: tensor<?x?x2x8xf32>)
func.func @attention(%q: tensor<?x?x4x8xf32>, %k: tensor<?x?x2x8xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %o, %lse = attn.attention %q, %k, %k {return_lse} : (tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>) -> (tensor<?x?x4x8xf32>, tensor<?x4x?xf32>)
  // CHECK-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[L:.*]] = tensor.dim %[[Q]], %c1
  // CHECK-NOT: attn.attention
  // CHECK: return %[[B]], %[[L]], %[[L]]
  %0 = tensor.dim %o, %c0 : tensor<?x?x4x8xf32>
  %1 = tensor.dim %o, %c1 : tensor<?x?x4x8xf32>
  %2 = tensor.dim %lse, %c2 : tensor<?x4x?xf32>
  return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: func.func @statistics
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x4x8xf32>
func.func @statistics(%q: tensor<?x?x4x8xf32>, %k: tensor<?x?x2x8xf32>, %sinks: tensor<4xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %o, %max, %mass = attn.attention %q, %k, %k sinks(%sinks : tensor<4xf32>) {return_max, return_sink_mass}
      : (tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>) -> (tensor<?x?x4x8xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>)
  // CHECK-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[L:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: return %[[B]], %[[L]]
  %0 = tensor.dim %max, %c0 : tensor<?x4x?xf32>
  %1 = tensor.dim %mass, %c2 : tensor<?x4x?xf32>
  return %0, %1 : index, index
}

// CHECK-LABEL: func.func @kv_append
// CHECK-SAME: (%[[CACHE:[a-z0-9]*]]: tensor<?x?x2x8xf32>
func.func @kv_append(%c: tensor<?x?x2x8xf32>, %k: tensor<?x?x2x8xf32>, %start: tensor<?xi32>) -> index {
  %c1 = arith.constant 1 : index
  %a, %b = attn.kv_append %c, %c, %k, %k, %start : (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?xi32>) -> (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>)
  // CHECK: tensor.dim %[[CACHE]], %c1
  %0 = tensor.dim %a, %c1 : tensor<?x?x2x8xf32>
  return %0 : index
}

// CHECK-LABEL: func.func @kv_append_paged
// CHECK-SAME: (%[[PAGES:[a-z0-9]*]]: tensor<?x?x2x8xf32>
func.func @kv_append_paged(%c: tensor<?x?x2x8xf32>, %k: tensor<?x?x2x8xf32>, %start: tensor<?xi32>, %t: tensor<?x?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %b = attn.kv_append %c, %c, %k, %k, %start block_table(%t : tensor<?x?xi32>) : (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?xi32>) -> (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>)
  // CHECK-DAG: tensor.dim %[[PAGES]], %c0
  // CHECK-DAG: tensor.dim %[[PAGES]], %c1
  // CHECK-NOT: attn.kv_append
  %0 = tensor.dim %a, %c0 : tensor<?x?x2x8xf32>
  %1 = tensor.dim %b, %c1 : tensor<?x?x2x8xf32>
  return %0, %1 : index, index
}

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x2x8xf32>, %[[P:.*]]: tensor<?xi32>
func.func @elementwise(%x: tensor<?x?x2x8xf32>, %p: tensor<?xi32>, %w: tensor<8xf32>) -> index {
  %c1 = arith.constant 1 : index
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64} : tensor<?x?x2x8xf32>, tensor<?xi32>
  %1 = attn.rms_norm %0, %w {eps = 0.0 : f64} : tensor<?x?x2x8xf32>, tensor<8xf32>
  %2 = attn.layer_norm %1, %w {eps = 0.0 : f64} : tensor<?x?x2x8xf32>, tensor<8xf32>
  %3 = attn.activation silu %2 : tensor<?x?x2x8xf32>
  %4 = attn.glu swiglu %3, %x : tensor<?x?x2x8xf32>
  // CHECK: tensor.dim %[[X]], %c1
  %5 = tensor.dim %4, %c1 : tensor<?x?x2x8xf32>
  return %5 : index
}

// CHECK-LABEL: func.func @linear
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x2x8xf32>, %[[V:[a-z0-9]*]]: tensor<?x?x4x?xf32>, %[[X:[a-z0-9]*]]: tensor<?x?x24xf32>, %[[S:[a-z0-9]*]]: tensor<?x24x3xf32>
func.func @linear(%q: tensor<?x?x2x8xf32>, %v: tensor<?x?x4x?xf32>, %x: tensor<?x?x24xf32>,
                  %past: tensor<?x24x3xf32>, %w: tensor<24x4xf32>) -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[Q]], %c1
  // CHECK-DAG: %[[DV:.*]] = tensor.dim %[[V]], %c3
  // CHECK-DAG: %[[XT:.*]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[N:.*]] = tensor.dim %[[S]], %c0
  %o, %s = attn.linear_attention linear %q, %q, %v
      : (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x4x?xf32>) -> (tensor<?x?x4x?xf32>, tensor<?x4x8x?xf32>)
  %y, %p = attn.short_conv %x, %w initial_state(%past : tensor<?x24x3xf32>)
      : (tensor<?x?x24xf32>, tensor<24x4xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x3xf32>)
  %0 = tensor.dim %o, %c1 : tensor<?x?x4x?xf32>
  %1 = tensor.dim %s, %c0 : tensor<?x4x8x?xf32>
  %2 = tensor.dim %s, %c3 : tensor<?x4x8x?xf32>
  %3 = tensor.dim %y, %c1 : tensor<?x?x24xf32>
  %4 = tensor.dim %p, %c0 : tensor<?x24x3xf32>
  // CHECK: return %[[T]], %[[B]], %[[DV]], %[[XT]], %[[N]]
  return %0, %1, %2, %3, %4 : index, index, index, index, index
}

// Packed sequences are one fewer than offsets.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[CU:[a-z0-9]*]]: tensor<?xi32>
func.func @packed(%q: tensor<1x?x2x8xf32>, %cu: tensor<?xi32>) -> index {
  %c0 = arith.constant 0 : index
  // CHECK: %[[E:.*]] = tensor.dim %[[CU]], %c0
  // CHECK: %[[N:.*]] = arith.subi %[[E]], %c1
  %o, %s = attn.linear_attention linear %q, %q, %q cu_seqlens(%cu : tensor<?xi32>)
      : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> (tensor<1x?x2x8xf32>, tensor<?x2x8x8xf32>)
  %0 = tensor.dim %s, %c0 : tensor<?x2x8x8xf32>
  // CHECK: return %[[N]]
  return %0 : index
}
