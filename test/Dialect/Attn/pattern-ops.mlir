// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s --check-prefix=REIFY

// CHECK-LABEL: func.func @scores
func.func @scores(%q: tensor<?x?x6x16xbf16>, %k: tensor<?x?x2x16xbf16>, %t: tensor<?xi32>, %s: tensor<6xf32>, %n: tensor<?xi32>) {
  // CHECK: %{{.*}}:3 = attn.pattern_scores [sink, local_window, induction_token] %{{.*}}, %{{.*}} tokens(%{{.*}} : tensor<?xi32>) {causal, local = 4 : i64} : (tensor<?x?x6x16xbf16>, tensor<?x?x2x16xbf16>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
  %0:3 = attn.pattern_scores [sink, local_window, induction_token] %q, %k tokens(%t : tensor<?xi32>) {causal, local = 4 : i64}
      : (tensor<?x?x6x16xbf16>, tensor<?x?x2x16xbf16>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
  // CHECK: attn.pattern_scores [learned_sink, induction_diagonal] {{.*}} sinks(%{{.*}} : tensor<6xf32>) kv_len(%{{.*}} : tensor<?xi32>) {block = 8 : i64, first = 1 : i64, return_rows, window = array<i64: 5, 0>}
  %1:4 = attn.pattern_scores [learned_sink, induction_diagonal] %q, %k sinks(%s : tensor<6xf32>) kv_len(%n : tensor<?xi32>)
      {return_rows, block = 8 : i64, first = 1 : i64, window = array<i64: 5, 0>}
      : (tensor<?x?x6x16xbf16>, tensor<?x?x2x16xbf16>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6x?xf32>, tensor<?x6x?xf32>)
  return
}

// REIFY-LABEL: func.func @shapes
// REIFY-SAME: (%[[Q:.*]]: tensor<?x?x6x16xf32>, %[[K:.*]]: tensor<?x?x2x16xf32>)
func.func @shapes(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) -> (index, index) {
  %0:2 = attn.pattern_scores [previous_token] %q, %k {causal, return_rows}
      : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>, tensor<?x6x?xf32>)
  // REIFY-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
  // REIFY-DAG: %[[L:.*]] = tensor.dim %[[Q]], %c1
  // REIFY: return %[[B]], %[[L]]
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %0#0, %c0 : tensor<?x6xf32>
  %l = tensor.dim %0#1, %c2 : tensor<?x6x?xf32>
  return %b, %l : index, index
}
