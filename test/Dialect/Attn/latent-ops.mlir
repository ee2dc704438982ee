// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s --check-prefix=SHAPES

// CHECK-LABEL: func.func @forms
func.func @forms(%q: tensor<?x?x4x32xf16>, %qr: tensor<?x?x4x16xf16>, %rows: tensor<?x?x80xf16>, %c: tensor<?x?x64xf16>,
                 %kr: tensor<?x?x16xf16>, %up: tensor<224x64xf16>, %n: tensor<?xi64>, %i: tensor<?x?x8xi32>, %m: tensor<?x1x1x?xi1>) {
  // Rope keys in the rows of the latent.
  // CHECK: %{{.*}} = attn.latent_attention %{{.*}}, %{{.*}}, %{{.*}} query_rope(%{{.*}} : tensor<?x?x4x16xf16>) {causal, scale = 2.500000e-01 : f64} : (tensor<?x?x4x32xf16>, tensor<?x?x80xf16>, tensor<224x64xf16>) -> tensor<?x?x4x24xf16>
  %0 = attn.latent_attention %q, %rows, %up query_rope(%qr : tensor<?x?x4x16xf16>) {causal, scale = 0.25 : f64}
      : (tensor<?x?x4x32xf16>, tensor<?x?x80xf16>, tensor<224x64xf16>) -> tensor<?x?x4x24xf16>
  // Apart, with all that there is.
  // CHECK: %{{.*}}, %{{.*}} = attn.latent_attention %{{.*}} query_rope(%{{.*}} : tensor<?x?x4x16xf16>) key_rope(%{{.*}} : tensor<?x?x16xf16>) mask(%{{.*}} : tensor<?x1x1x?xi1>) kv_len(%{{.*}} : tensor<?xi64>) indices(%{{.*}} : tensor<?x?x8xi32>) {absorbed, causal, return_lse} : {{.*}} -> (tensor<?x?x4x24xf16>, tensor<?x4x?xf32>)
  %1:2 = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<?x?x4x16xf16>) key_rope(%kr : tensor<?x?x16xf16>)
      mask(%m : tensor<?x1x1x?xi1>) kv_len(%n : tensor<?xi64>) indices(%i : tensor<?x?x8xi32>) {absorbed, causal, return_lse}
      : (tensor<?x?x4x32xf16>, tensor<?x?x64xf16>, tensor<224x64xf16>) -> (tensor<?x?x4x24xf16>, tensor<?x4x?xf32>)
  // Without rope.
  // CHECK: attn.latent_attention %{{.*}}, %{{.*}}, %{{.*}} {expanded} : (
  %2 = attn.latent_attention %q, %c, %up {expanded}
      : (tensor<?x?x4x32xf16>, tensor<?x?x64xf16>, tensor<224x64xf16>) -> tensor<?x?x4x24xf16>
  return
}

// CHECK-LABEL: func.func @selection
func.func @selection(%q: tensor<?x?x8x32xbf16>, %k: tensor<?x?x32xbf16>, %w: tensor<?x?x8xf32>, %n: tensor<?xi32>, %m: tensor<?x1x1x?xi1>) {
  // CHECK: %[[S:.*]] = attn.lightning_indexer %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<?x1x1x?xi1>) kv_len(%{{.*}} : tensor<?xi32>) {causal, scale = 6.250000e-02 : f64} : (tensor<?x?x8x32xbf16>, tensor<?x?x32xbf16>, tensor<?x?x8xf32>) -> tensor<?x?x?xf32>
  %s = attn.lightning_indexer %q, %k, %w mask(%m : tensor<?x1x1x?xi1>) kv_len(%n : tensor<?xi32>) {causal, scale = 0.0625 : f64}
      : (tensor<?x?x8x32xbf16>, tensor<?x?x32xbf16>, tensor<?x?x8xf32>) -> tensor<?x?x?xf32>
  // CHECK: attn.top_k %[[S]] {k = 4 : i64} : tensor<?x?x?xf32> -> tensor<?x?x4xi32>
  %i = attn.top_k %s {k = 4} : tensor<?x?x?xf32> -> tensor<?x?x4xi32>
  return
}

// SHAPES-LABEL: func.func @shapes
// SHAPES-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x4x32xf16>, %[[C:[a-z0-9]*]]: tensor<?x?x64xf16>
func.func @shapes(%q: tensor<?x?x4x32xf16>, %c: tensor<?x?x64xf16>, %up: tensor<224x64xf16>, %qi: tensor<?x?x8x32xf16>,
                  %ki: tensor<?x?x32xf16>, %w: tensor<?x?x8xf16>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %o, %lse = attn.latent_attention %q, %c, %up {return_lse}
      : (tensor<?x?x4x32xf16>, tensor<?x?x64xf16>, tensor<224x64xf16>) -> (tensor<?x?x4x?xf16>, tensor<?x4x?xf32>)
  %s = attn.lightning_indexer %qi, %ki, %w : (tensor<?x?x8x32xf16>, tensor<?x?x32xf16>, tensor<?x?x8xf16>) -> tensor<?x?x?xf32>
  %i = attn.top_k %s {k = 4} : tensor<?x?x?xf32> -> tensor<?x?x4xi32>
  // SHAPES-DAG: %[[L:.*]] = tensor.dim %[[Q]], %c1
  // SHAPES-DAG: %[[B:.*]] = tensor.dim %{{.*}}, %c0 : tensor<?x?x8x32xf16>
  // SHAPES-DAG: %[[K:.*]] = tensor.dim %{{.*}}, %c1 : tensor<?x?x32xf16>
  // SHAPES: return %c24, %[[L]], %[[K]], %[[B]]
  %0 = tensor.dim %o, %c3 : tensor<?x?x4x?xf16>
  %1 = tensor.dim %lse, %c2 : tensor<?x4x?xf32>
  %2 = tensor.dim %s, %c2 : tensor<?x?x?xf32>
  %3 = tensor.dim %i, %c0 : tensor<?x?x4xi32>
  return %0, %1, %2, %3 : index, index, index, index
}
