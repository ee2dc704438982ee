// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --attn-to-linalg=accumulate=f64 --canonicalize --cse | FileCheck %s --check-prefix=F64

// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d5)>
// CHECK-DAG: #[[KEY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
// CHECK-DAG: #[[SCORES:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
// CHECK-DAG: #[[WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[VALUE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4)>
// CHECK-DAG: #[[OUTPUT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d4)>

// CHECK-LABEL: func.func @structure
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x4x8xbf16>, %[[K:.*]]: tensor<?x?x2x8xbf16>, %[[V:.*]]: tensor<?x?x2x16xbf16>)
// F64-LABEL: func.func @structure
func.func @structure(%q: tensor<?x?x4x8xbf16>, %k: tensor<?x?x2x8xbf16>, %v: tensor<?x?x2x16xbf16>) -> tensor<?x?x4x16xbf16> {
  // CHECK-DAG: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG: %[[SCALE:.*]] = arith.constant 0.353553385 : f32
  // The query is viewed by groups, never copied.
  // CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[Q]] {{\[\[}}0], [1], [2, 3], [4]] {{.*}} into tensor<?x?x2x2x8xbf16>
  // CHECK: linalg.contract indexing_maps = [#[[QUERY]], #[[KEY]], #[[SCORES]]] ins(%[[GROUPS]], %[[K]] : {{.*}}) outs(%{{.*}} : tensor<?x2x2x?x?xf32>)
  // F64: linalg.contract {{.*}} outs(%{{.*}} : tensor<?x2x2x?x?xf64>)
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: arith.mulf %[[S]], %[[SCALE]]
  // CHECK-NEXT: linalg.yield
  // CHECK: linalg.fill ins(%[[NEG_INF]]
  // CHECK: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
  // CHECK: arith.maximumf
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[M:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[EMPTY:.*]] = arith.cmpf oeq, %[[M]], %[[NEG_INF]]
  // CHECK-NEXT: %[[SAFE:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[M]]
  // CHECK-NEXT: %[[SHIFTED:.*]] = arith.subf %[[S]], %[[SAFE]]
  // CHECK-NEXT: math.exp %[[SHIFTED]]
  // CHECK: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
  // CHECK: arith.addf
  // Without kv_len the value is read as it is.
  // CHECK: linalg.contract indexing_maps = [#[[WEIGHTS]], #[[VALUE]], #[[OUTPUT]]] ins(%{{.*}}, %[[V]] : {{.*}}) outs(%{{.*}} : tensor<?x?x2x2x16xf32>)
  // CHECK: linalg.generic
  // CHECK-NEXT: ^bb0(%[[L:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[NONE:.*]] = arith.cmpf oeq, %[[L]], %[[ZERO]]
  // CHECK-NEXT: %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[L]]
  // CHECK-NEXT: arith.select %[[NONE]], %[[ZERO]], %[[INVERSE]]
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
  // F64: arith.truncf %{{.*}} : f64 to bf16
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3], [4]]
  // CHECK-NOT: linalg.generic
  %o = attn.attention %q, %k, %v : (tensor<?x?x4x8xbf16>, tensor<?x?x2x8xbf16>, tensor<?x?x2x16xbf16>) -> tensor<?x?x4x16xbf16>
  return %o : tensor<?x?x4x16xbf16>
}

// CHECK-LABEL: func.func @lse
// CHECK-SAME: (%[[Q:.*]]: tensor<1x3x2x8xf32>, %[[K:.*]]: tensor<1x5x2x8xf32>
func.func @lse(%q: tensor<1x3x2x8xf32>, %k: tensor<1x5x2x8xf32>, %sinks: tensor<2xf32>) -> (tensor<1x3x2x8xf32>, tensor<1x2x3xf32>) {
  // CHECK-DAG: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[INF:.*]] = arith.constant 0x7F800000 : f32
  // The sink joins the denominator only, relative to the larger of m and sink.
  // CHECK: ^bb0(%[[L:.*]]: f32, %[[M:.*]]: f32, %[[SINK:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[LARGER:.*]] = arith.maximumf %[[M]], %[[SINK]]
  // CHECK-NEXT: %[[DM:.*]] = arith.subf %[[M]], %[[LARGER]]
  // CHECK-NEXT: %[[A:.*]] = math.exp %[[DM]]
  // CHECK-NEXT: %[[KEYS:.*]] = arith.mulf %[[L]], %[[A]]
  // CHECK-NEXT: %[[DS:.*]] = arith.subf %[[SINK]], %[[LARGER]]
  // CHECK-NEXT: %[[ES:.*]] = math.exp %[[DS]]
  // CHECK-NEXT: %[[DEN:.*]] = arith.addf %[[KEYS]], %[[ES]]
  // CHECK-NEXT: arith.divf %[[A]], %[[DEN]]
  // CHECK-NEXT: arith.cmpf oeq, %[[M]], %[[NEG_INF]]
  // CHECK-NEXT: arith.cmpf oeq, %[[SINK]], %[[INF]]
  // CHECK: tensor.collapse_shape {{.*}} into tensor<1x3x2x8xf32>
  // The lse knows nothing of the sink.
  // CHECK: ^bb0(%[[M:.*]]: f32, %[[L:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[EMPTY:.*]] = arith.cmpf oeq, %[[M]], %[[NEG_INF]]
  // CHECK-NEXT: %[[LOG:.*]] = math.log %[[L]]
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[M]], %[[LOG]]
  // CHECK-NEXT: arith.select %[[EMPTY]], %[[M]], %[[SUM]]
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3]] : tensor<1x2x1x3xf32> into tensor<1x2x3xf32>
  %o, %lse = attn.attention %q, %k, %k sinks(%sinks : tensor<2xf32>) {return_lse} : (tensor<1x3x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x3x2x8xf32>, tensor<1x2x3xf32>)
  return %o, %lse : tensor<1x3x2x8xf32>, tensor<1x2x3xf32>
}

// All statistics are computed from the maximum and the sum of the weights.
// CHECK-LABEL: func.func @statistics
func.func @statistics(%q: tensor<1x3x2x8xf32>, %k: tensor<1x5x2x8xf32>, %sinks: tensor<2xf32>)
    -> (tensor<1x3x2x8xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  // CHECK-DAG: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[INF:.*]] = arith.constant 0x7F800000 : f32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[MAXIMUM:.*]] = linalg.generic {{.*}} "reduction"]}
  // CHECK: arith.maximumf
  // CHECK: %[[MAX:.*]] = tensor.collapse_shape %[[MAXIMUM]] {{\[\[}}0], [1, 2], [3]] : tensor<1x2x1x3xf32> into tensor<1x2x3xf32>
  // CHECK: ^bb0(%[[L:.*]]: f32, %[[M:.*]]: f32, %[[SINK:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[LARGER:.*]] = arith.maximumf %[[M]], %[[SINK]]
  // CHECK-NEXT: %[[DS:.*]] = arith.subf %[[SINK]], %[[LARGER]]
  // CHECK-NEXT: %[[W:.*]] = math.exp %[[DS]]
  // CHECK-NEXT: %[[DM:.*]] = arith.subf %[[M]], %[[LARGER]]
  // CHECK-NEXT: %[[A:.*]] = math.exp %[[DM]]
  // CHECK-NEXT: %[[KEYS:.*]] = arith.mulf %[[L]], %[[A]]
  // CHECK-NEXT: %[[DEN:.*]] = arith.addf %[[KEYS]], %[[W]]
  // CHECK-NEXT: %[[SHARE:.*]] = arith.divf %[[W]], %[[DEN]]
  // CHECK-NEXT: %[[TAKES_ALL:.*]] = arith.cmpf oeq, %[[SINK]], %[[INF]]
  // CHECK-NEXT: %[[MASS:.*]] = arith.select %[[TAKES_ALL]], %[[ONE]], %[[SHARE]]
  // CHECK-NEXT: %[[TAKES_NONE:.*]] = arith.cmpf oeq, %[[SINK]], %[[NEG_INF]]
  // CHECK-NEXT: arith.select %[[TAKES_NONE]], %[[ZERO]], %[[MASS]]
  // CHECK: %[[OF_SINK:.*]] = tensor.collapse_shape %{{.*}} into tensor<1x2x3xf32>
  // CHECK: return %{{.*}}, %[[MAX]], %[[OF_SINK]]
  %o, %max, %mass = attn.attention %q, %k, %k sinks(%sinks : tensor<2xf32>) {return_max, return_sink_mass} : (tensor<1x3x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x3x2x8xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
  return %o, %max, %mass : tensor<1x3x2x8xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// Query heads may be dynamic: whether key heads divide them is checked when the module runs.
// CHECK-LABEL: func.func @dynamic_query_heads
func.func @dynamic_query_heads(%q: tensor<1x3x?x8xf32>, %k: tensor<1x5x2x8xf32>) -> tensor<1x3x?x8xf32> {
  // CHECK: attn.require %{{.*}}, "attention: query heads ({0}) are not a multiple of key heads ({1})"
  // CHECK: tensor.expand_shape {{.*}} into tensor<1x3x2x?x8xf32>
  %o = attn.attention %q, %k, %k : (tensor<1x3x?x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x3x?x8xf32>
  return %o : tensor<1x3x?x8xf32>
}

// CHECK-LABEL: func.func @wide_data
func.func @wide_data(%q: tensor<1x3x2x8xf64>, %k: tensor<1x5x2x8xf32>) -> tensor<1x3x2x8xf64> {
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<1x2x1x3x5xf64>)
  %o = attn.attention %q, %k, %k : (tensor<1x3x2x8xf64>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x3x2x8xf64>
  return %o : tensor<1x3x2x8xf64>
}
