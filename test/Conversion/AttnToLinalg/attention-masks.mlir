// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// Everything between score and masked score, in order, in one operation.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2)>
// CHECK-DAG: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4)>
// CHECK-DAG: #[[BATCH:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0)>

// CHECK-LABEL: func.func @order
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x4x8xf32>, %[[K:.*]]: tensor<?x?x2x8xf32>, %[[N:.*]]: tensor<?xi32>, %[[BIAS:.*]]: tensor<1x4x?x?xf16>, %[[MASK:.*]]: tensor<?x1x1x?xi1>, %[[SLOPES:.*]]: tensor<4xf32>)
func.func @order(%q: tensor<?x?x4x8xf32>, %k: tensor<?x?x2x8xf32>, %n: tensor<?xi32>, %bias: tensor<1x4x?x?xf16>,
                 %mask: tensor<?x1x1x?xi1>, %slopes: tensor<4xf32>) -> tensor<?x?x4x8xf32> {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
  // CHECK-DAG: %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
  // CHECK-DAG: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[LK:.*]] = tensor.dim %[[K]], %c1
  // CHECK: attn.require_range %[[N]] in [%[[C0]], %[[LK]]], "kv_len" : tensor<?xi32>
  // CHECK-DAG: %[[LQ:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: %[[RAW:.*]] = linalg.contract
  // CHECK: tensor.expand_shape %[[SLOPES]] {{.*}} into tensor<2x2xf32>
  // CHECK: tensor.collapse_shape %[[BIAS]] {{\[\[}}0, 1], [2], [3]]
  // CHECK: tensor.collapse_shape %[[MASK]] {{\[\[}}0, 1, 2], [3]]
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[HEADS]], #[[ROWS]], #[[KEYS]], #[[BATCH]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%[[RAW]],
  // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[SLOPE:.*]]: f32, %[[B:.*]]: f16, %[[KEEP:.*]]: i1, %[[LEN:.*]]: i32, %{{.*}}: f32):
  // CHECK-DAG: %[[I:.*]] = linalg.index 3
  // CHECK-DAG: %[[J:.*]] = linalg.index 4
  // CHECK-DAG: %[[LENGTH:.*]] = arith.index_cast %[[LEN]] : i32 to index
  // CHECK: arith.cmpi slt, %[[J]], %[[LENGTH]]
  // CHECK: %[[OFF:.*]] = arith.subi %[[LENGTH]], %[[LQ]]
  // CHECK: %[[P:.*]] = arith.addi %[[I]], %[[OFF]]
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[J]], %[[P]]
  // CHECK: arith.mulf %[[S]]
  // CHECK: arith.divf %{{.*}}, %[[CAP]]
  // CHECK: math.tanh
  // CHECK: arith.mulf %{{.*}}, %[[CAP]]
  // CHECK: math.absf
  // CHECK: arith.mulf %[[SLOPE]]
  // CHECK: arith.subf
  // CHECK: %[[B32:.*]] = arith.extf %[[B]] : f16 to f32
  // CHECK: %[[SCORE:.*]] = arith.addf %{{.*}}, %[[B32]]
  // CHECK: arith.cmpi sle, %[[DISTANCE]], %[[C0]]
  // CHECK: %[[BACK:.*]] = arith.subi %[[C0]], %[[DISTANCE]]
  // CHECK: arith.cmpi sle, %[[BACK]], %[[C3]]
  // CHECK: %[[VISIBLE:.*]] = arith.andi %{{.*}}, %[[KEEP]]
  // CHECK: %[[MASKED:.*]] = arith.select %[[VISIBLE]], %[[SCORE]], %[[NEG_INF]]
  // CHECK-NEXT: linalg.yield %[[MASKED]]
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) bias(%bias : tensor<1x4x?x?xf16>) mask(%mask : tensor<?x1x1x?xi1>)
      alibi_slopes(%slopes : tensor<4xf32>) {causal, window = array<i64: 3, 0>, softcap = 30.0 : f64}
      : (tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>) -> tensor<?x?x4x8xf32>
  return %o : tensor<?x?x4x8xf32>
}

// Rows past kv_len are made 0 before they meet a weight of 0.
// CHECK-LABEL: func.func @padding
// CHECK-SAME: %[[V:[a-z0-9]*]]: tensor<2x9x2x4xbf16>, %[[N:.*]]: tensor<2xi64>)
func.func @padding(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x9x2x8xbf16>, %v: tensor<2x9x2x4xbf16>, %n: tensor<2xi64>) -> tensor<2x3x4x4xbf16> {
  // CHECK: attn.require_range %[[N]] in [%c0, %c9], "kv_len" : tensor<2xi64>
  // CHECK: %[[VALID:.*]] = linalg.generic {{.*}} ins(%[[V]], %[[N]]
  // CHECK-NEXT: ^bb0(%[[X:.*]]: bf16, %[[LEN:.*]]: i64, %{{.*}}: bf16):
  // CHECK-DAG: %[[J:.*]] = linalg.index 1
  // CHECK-DAG: %[[LENGTH:.*]] = arith.index_cast %[[LEN]]
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[J]], %[[LENGTH]]
  // CHECK: arith.select %[[INSIDE]], %[[X]], %{{.*}} : bf16
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[VALID]]
  %o = attn.attention %q, %k, %v kv_len(%n : tensor<2xi64>) : (tensor<2x3x4x8xbf16>, tensor<2x9x2x8xbf16>, tensor<2x9x2x4xbf16>) -> tensor<2x3x4x4xbf16>
  return %o : tensor<2x3x4x4xbf16>
}

// A bias that is broadcast everywhere is a scalar.
// CHECK-LABEL: func.func @scalar_bias
// CHECK-SAME: %[[BIAS:[a-z0-9]*]]: tensor<1x1x1x1xf32>
func.func @scalar_bias(%q: tensor<2x3x4x8xf32>, %bias: tensor<1x1x1x1xf32>) -> tensor<2x3x4x8xf32> {
  // CHECK: tensor.collapse_shape %[[BIAS]] [] : tensor<1x1x1x1xf32> into tensor<f32>
  %o = attn.attention %q, %q, %q bias(%bias : tensor<1x1x1x1xf32>) : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return %o : tensor<2x3x4x8xf32>
}

// CHECK-LABEL: func.func @global_keys
func.func @global_keys(%q: tensor<1x3x2x8xf32>, %k: tensor<1x9x2x8xf32>) -> tensor<1x3x2x8xf32> {
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
  // CHECK: %[[J:.*]] = linalg.index 4 : index
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[J]], %{{.*}} : index
  // CHECK: %[[CAUSAL:.*]] = arith.cmpi sle, %[[DISTANCE]], %{{.*}} : index
  // CHECK: %[[NEAR:.*]] = arith.cmpi sle, %{{.*}}, %[[C2]] : index
  // CHECK: %[[GLOBAL:.*]] = arith.cmpi slt, %[[J]], %[[C3]] : index
  // CHECK: %[[EITHER:.*]] = arith.ori %[[NEAR]], %[[GLOBAL]] : i1
  // CHECK: arith.andi %[[CAUSAL]], %[[EITHER]] : i1
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 2, -1>, global_keys = 3 : i64} : (tensor<1x3x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>) -> tensor<1x3x2x8xf32>
  return %o : tensor<1x3x2x8xf32>
}
