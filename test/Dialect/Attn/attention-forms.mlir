// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func @pages
// CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} kv_len(%{{.*}} : tensor<?xi32>) block_table(%{{.*}} : tensor<?x?xi64>) {causal}
func.func @pages(%q: tensor<?x?x4x16xf32>, %k: tensor<?x16x2x16xf32>, %n: tensor<?xi32>, %table: tensor<?x?xi64>) -> tensor<?x?x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) block_table(%table : tensor<?x?xi64>) {causal}
    : (tensor<?x?x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// A window of as many keys as a page has is none of as many as a sequence has.
// CANON-LABEL: func @window_of_pages
// CANON: window = array<i64: 20, -1>
// CANON-LABEL: func @window_of_all_pages
// CANON-NOT: window
// CANON-LABEL: func @packed
func.func @window_of_pages(%q: tensor<2x3x4x16xf32>, %k: tensor<?x16x2x16xf32>, %n: tensor<2xi32>, %table: tensor<2x3xi32>) -> tensor<2x3x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<2xi32>) block_table(%table : tensor<2x3xi32>) {causal, window = array<i64: 20, 0>}
    : (tensor<2x3x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) -> tensor<2x3x4x16xf32>
  return %o : tensor<2x3x4x16xf32>
}
func.func @window_of_all_pages(%q: tensor<2x3x4x16xf32>, %k: tensor<?x16x2x16xf32>, %n: tensor<2xi32>, %table: tensor<2x3xi32>) -> tensor<2x3x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<2xi32>) block_table(%table : tensor<2x3xi32>) {causal, window = array<i64: 47, 0>}
    : (tensor<2x3x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) -> tensor<2x3x4x16xf32>
  return %o : tensor<2x3x4x16xf32>
}

// CHECK-LABEL: func @packed
// CHECK: alibi_slopes(%{{.*}} : tensor<3x4xf32>) cu_seqlens_q(%{{.*}} : tensor<4xi32>) cu_seqlens_k(%{{.*}} : tensor<4xi32>)
// CHECK-SAME: -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>)
func.func @packed(%q: tensor<1x?x4x16xf32>, %k: tensor<1x?x2x16xf32>, %slopes: tensor<3x4xf32>, %cu: tensor<4xi32>) -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>) {
  %o, %lse = attn.attention %q, %k, %k alibi_slopes(%slopes : tensor<3x4xf32>) cu_seqlens_q(%cu : tensor<4xi32>) cu_seqlens_k(%cu : tensor<4xi32>) {return_lse}
    : (tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>)
  return %o, %lse : tensor<1x?x4x16xf32>, tensor<1x4x?xf32>
}

// CHECK-LABEL: func @packed_pages
// CHECK: block_table(%{{.*}} : tensor<?x?xi32>) cu_seqlens_q(%{{.*}} : tensor<?xi32>)
func.func @packed_pages(%q: tensor<1x?x4x16xf32>, %k: tensor<?x16x2x16xf32>, %n: tensor<?xi32>, %table: tensor<?x?xi32>, %cu: tensor<?xi32>) -> tensor<1x?x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) block_table(%table : tensor<?x?xi32>) cu_seqlens_q(%cu : tensor<?xi32>)
    : (tensor<1x?x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) -> tensor<1x?x4x16xf32>
  return %o : tensor<1x?x4x16xf32>
}

// CHECK-LABEL: func @lists
// CHECK: indices(%{{.*}} : tensor<?x?x8xi32>) {attention_chunk = 64 : i64, causal}
// CHECK: block_indices(%{{.*}} : tensor<?x2x?x4xi64>) {block_size = array<i64: 1, 64>, causal}
func.func @lists(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %lists: tensor<?x?x8xi32>, %blocks: tensor<?x2x?x4xi64>) -> (tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>) {
  %o = attn.attention %q, %k, %k indices(%lists : tensor<?x?x8xi32>) {causal, attention_chunk = 64}
    : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  %o2 = attn.attention %q, %k, %k block_indices(%blocks : tensor<?x2x?x4xi64>) {causal, block_size = array<i64: 1, 64>}
    : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o, %o2 : tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>
}

// A limit of 0 on the right is no causal mask where keys beyond it can be global; without a window there is nothing to be outside of.
// CANON-LABEL: func @global_ids
// CANON: global_ids(%{{.*}} : tensor<?xi32>) {window = array<i64: 4, 0>}
// CANON: attn.attention %{{.*}}, %{{.*}}, %{{.*}} {causal} :
func.func @global_ids(%q: tensor<1x9x4x16xf32>, %k: tensor<1x9x2x16xf32>, %ids: tensor<?xi32>) -> (tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>) {
  %o = attn.attention %q, %k, %k global_ids(%ids : tensor<?xi32>) {window = array<i64: 4, 0>}
    : (tensor<1x9x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32>) -> tensor<1x9x4x16xf32>
  %o2 = attn.attention %q, %k, %k global_ids(%ids : tensor<?xi32>) {causal, window = array<i64: 8, 0>}
    : (tensor<1x9x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32>) -> tensor<1x9x4x16xf32>
  return %o, %o2 : tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>
}

// CHECK-LABEL: func @merge
// CHECK: attn.merge_partials %{{.*}}, %{{.*}} sinks(%{{.*}} : tensor<4xf32>) : (tensor<3x?x?x4x16xf32>, tensor<3x?x4x?xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>)
func.func @merge(%p: tensor<3x?x?x4x16xf32>, %l: tensor<3x?x4x?xf32>, %s: tensor<4xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>) {
  %o, %lse = attn.merge_partials %p, %l sinks(%s : tensor<4xf32>) : (tensor<3x?x?x4x16xf32>, tensor<3x?x4x?xf32>) -> (tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x?x4x16xbf16>, tensor<?x4x?xf32>
}

// CHECK-LABEL: func @append
// CHECK: attn.kv_append %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} slots(%{{.*}} : tensor<?x?xi64>) : (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>)
// CHECK: attn.kv_append %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} new_len(%{{.*}} : tensor<?xi32>) : (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>)
func.func @append(%c: tensor<?x16x2x16xf32>, %k: tensor<?x?x2x16xf32>, %slots: tensor<?x?xi64>, %n: tensor<?xi32>) -> (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) {
  %a, %b = attn.kv_append %c, %c, %k, %k slots(%slots : tensor<?x?xi64>)
    : (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>)
  %d, %e = attn.kv_append %a, %b, %k, %k, %n new_len(%n : tensor<?xi32>)
    : (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>) -> (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>)
  return %d, %e : tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>
}
