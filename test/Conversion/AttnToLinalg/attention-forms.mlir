// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// Pages are copied to rows, as far as lengths go; the rest is 0. Then all is as for rows of a tensor.
// CHECK-LABEL: func.func @pages
// CHECK-SAME: (%[[Q:.*]]: tensor<2x1x4x8xf32>, %[[K:.*]]: tensor<?x5x2x8xf32>, %[[V:.*]]: tensor<?x5x2x8xf32>, %[[N:.*]]: tensor<2xi32>, %[[TABLE:.*]]: tensor<2x4xi32>)
// CHECK: attn.require_range %[[N]] in [%c0, %c20], "kv_len" : tensor<2xi32>
// CHECK: attn.require %{{.*}}, "block_table[{0}][{1}] is {2}, expected a page from 0 to {3}"
// CHECK: %[[ROWS:.*]] = linalg.fill {{.*}} -> tensor<2x20x2x8xf32>
// CHECK: %[[KEYS:.*]] = scf.for %[[B:.*]] = %c0 to %c2 step %c1 iter_args(%{{.*}} = %[[ROWS]])
// CHECK:   %[[N32:.*]] = tensor.extract %[[N]][%[[B]]]
// CHECK:   scf.for
// CHECK:     tensor.extract %[[TABLE]][%[[B]], %{{.*}}]
// CHECK:     %[[PART:.*]] = tensor.extract_slice %[[K]]
// CHECK:     tensor.insert_slice %[[PART]] into
// CHECK: %[[VALUES:.*]] = scf.for
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[KEYS]] :
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[VALUES]] :
func.func @pages(%q: tensor<2x1x4x8xf32>, %k: tensor<?x5x2x8xf32>, %v: tensor<?x5x2x8xf32>, %n: tensor<2xi32>, %table: tensor<2x4xi32>) -> tensor<2x1x4x8xf32> {
  %o = attn.attention %q, %k, %v kv_len(%n : tensor<2xi32>) block_table(%table : tensor<2x4xi32>)
    : (tensor<2x1x4x8xf32>, tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>) -> tensor<2x1x4x8xf32>
  return %o : tensor<2x1x4x8xf32>
}

// A score for each entry of a list; keys are read where the entry says, and no value whose weight is 0.
// CHECK-LABEL: func.func @lists
// CHECK-SAME: (%[[Q:.*]]: tensor<1x3x4x8xf32>, %[[K:.*]]: tensor<1x20x2x8xf32>, %[[LISTS:.*]]: tensor<1x3x6xi32>)
// CHECK: attn.require_range %[[LISTS]] in [%c-1, %c19], "indices" : tensor<1x3x6xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK:   tensor.extract %[[LISTS]]
// CHECK:   tensor.extract %[[K]]
// CHECK: } -> tensor<1x2x2x3x6xf32>
// CHECK: %[[POSITION:.*]] = arith.cmpi ult, %{{.*}}, %c20 : index
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sle
// CHECK: arith.andi %[[POSITION]], %[[CAUSAL]] : i1
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK: ^bb0(%[[W:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK:   tensor.extract %[[K]]
// CHECK:   %[[NONE:.*]] = arith.cmpf oeq, %[[W]], %{{.*}} : f32
// CHECK:   arith.select %[[NONE]], %[[ACC]], %{{.*}} : f32
func.func @lists(%q: tensor<1x3x4x8xf32>, %k: tensor<1x20x2x8xf32>, %lists: tensor<1x3x6xi32>) -> tensor<1x3x4x8xf32> {
  %o = attn.attention %q, %k, %k indices(%lists : tensor<1x3x6xi32>) {causal}
    : (tensor<1x3x4x8xf32>, tensor<1x20x2x8xf32>, tensor<1x20x2x8xf32>) -> tensor<1x3x4x8xf32>
  return %o : tensor<1x3x4x8xf32>
}

// The sequence of each query is counted once; offsets are checked.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[Q:.*]]: tensor<1x7x4x8xf32>, %[[K:.*]]: tensor<1x9x2x8xf32>, %[[CU:.*]]: tensor<4xi32>)
// CHECK: attn.require %{{.*}}, "attention: cu_seqlens_q[0] is {0}, expected 0"
// CHECK: attn.require %{{.*}}, "attention: cu_seqlens_q[{0}] is {1}, expected at least {2}, the value before it"
// CHECK: attn.require %{{.*}}, "attention: the last value of cu_seqlens_q is {0}, expected {1}, the number of tokens"
// CHECK: attn.require %{{.*}}, "attention: the last value of cu_seqlens_k is {0}, expected {1}, the number of tokens"
// CHECK: %[[SEQUENCES:.*]] = linalg.generic {{.*}} ins(%[[CU]] : tensor<4xi32>)
// CHECK: } -> tensor<7xi64>
// CHECK: tensor.extract %[[SEQUENCES]]
func.func @packed(%q: tensor<1x7x4x8xf32>, %k: tensor<1x9x2x8xf32>, %cu: tensor<4xi32>) -> tensor<1x7x4x8xf32> {
  %o = attn.attention %q, %k, %k cu_seqlens_q(%cu : tensor<4xi32>) cu_seqlens_k(%cu : tensor<4xi32>)
    : (tensor<1x7x4x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>) -> tensor<1x7x4x8xf32>
  return %o : tensor<1x7x4x8xf32>
}

// CHECK-LABEL: func.func @chunks
// CHECK: %[[KEY:.*]] = arith.divui %{{.*}}, %c64 : index
// CHECK: %[[QUERY:.*]] = arith.divui %{{.*}}, %c64 : index
// CHECK: arith.cmpi eq, %[[KEY]], %[[QUERY]] : index
func.func @chunks(%q: tensor<1x300x4x8xf32>, %k: tensor<1x300x2x8xf32>) -> tensor<1x300x4x8xf32> {
  %o = attn.attention %q, %k, %k {causal, attention_chunk = 64}
    : (tensor<1x300x4x8xf32>, tensor<1x300x2x8xf32>, tensor<1x300x2x8xf32>) -> tensor<1x300x4x8xf32>
  return %o : tensor<1x300x4x8xf32>
}

// CHECK-LABEL: func.func @merge
// CHECK: arith.maximumf
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
// CHECK: linalg.fill ins(%{{.*}} : f32) {{.*}} -> tensor<2x5x4x8xf32>
// CHECK: arith.divf
// CHECK: } -> tensor<2x5x4x8xbf16>
// CHECK: math.log
func.func @merge(%p: tensor<3x2x5x4x8xf32>, %l: tensor<3x2x4x5xf32>) -> (tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>) {
  %o, %lse = attn.merge_partials %p, %l : (tensor<3x2x5x4x8xf32>, tensor<3x2x4x5xf32>) -> (tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>)
  return %o, %lse : tensor<2x5x4x8xbf16>, tensor<2x4x5xf32>
}

// CHECK-LABEL: func.func @slots
// CHECK: attn.require_range %[[SLOTS:.*]] in [%c-1, %{{.*}}], "slots" : tensor<1x7xi32>
// CHECK: %[[S:.*]] = tensor.extract %[[SLOTS]]
// CHECK: arith.cmpi sge
// CHECK: arith.divui %{{.*}}, %c5 : index
// CHECK: arith.remui %{{.*}}, %c5 : index
// CHECK: tensor.insert_slice
func.func @slots(%c: tensor<?x5x2x8xf32>, %k: tensor<1x7x2x8xf32>, %slots: tensor<1x7xi32>) -> (tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>) {
  %a, %b = attn.kv_append %c, %c, %k, %k slots(%slots : tensor<1x7xi32>)
    : (tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>, tensor<1x7x2x8xf32>, tensor<1x7x2x8xf32>) -> (tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>)
  return %a, %b : tensor<?x5x2x8xf32>, tensor<?x5x2x8xf32>
}
