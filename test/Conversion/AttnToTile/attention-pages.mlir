// RUN: heddle-opt %s --attn-to-tile --canonicalize --cse | FileCheck %s

// Keys and values are views of the pages that a sequence's row of the table names.
// CHECK-LABEL: func.func @prefill
// CHECK: %[[CAPACITY:.*]] = arith.muli
// CHECK: attn.require_range %[[N:.*]] in [%c0, %[[CAPACITY]]], "kv_len"
// CHECK: attn.require %{{.*}}, "block_table[{0}][{1}] is {2}, expected a page from 0 to {3}"
// CHECK: tile.dispatch @attention grid({{.*}}) ins(%{{.*}}, %{{.*}}, %{{.*}}, %[[N]], %[[TABLE:.*]] :
func.func @prefill(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x?x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) block_table(%table : tensor<?x?xi32>) {causal}
    : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// CHECK-LABEL: func.func @decode
// CHECK: tile.dispatch @decode_attention
// CHECK: tile.dispatch @merge_attention
func.func @decode(%q: tensor<?x1x4x16xf32>, %k: tensor<?x16x2x16xf32>, %n: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x1x4x16xf32> {
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) block_table(%table : tensor<?x?xi32>)
    : (tensor<?x1x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) -> tensor<?x1x4x16xf32>
  return %o : tensor<?x1x4x16xf32>
}

// A bias has a column for each slot that the table names.
// CHECK-LABEL: func.func @bias
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<1x4x1x?xf32>
// CHECK: %[[SLOTS:.*]] = arith.muli
// CHECK: %[[COLUMNS:.*]] = tensor.dim %[[BIAS]], %c3
// CHECK: arith.cmpi eq, %[[COLUMNS]], %[[SLOTS]]
// CHECK: attn.require %{{.*}}, "attention: dimension 3 of bias is {0}, expected {1}, the rows of all pages of a sequence"(%[[COLUMNS]], %[[SLOTS]]
// CHECK: tile.dispatch @attention
func.func @bias(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?xi32>, %table: tensor<?x?xi32>, %bias: tensor<1x4x1x?xf32>) -> tensor<?x?x4x16xf32> {
  %o = attn.attention %q, %k, %k bias(%bias : tensor<1x4x1x?xf32>) kv_len(%n : tensor<?xi32>) block_table(%table : tensor<?x?xi32>)
    : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// CHECK-LABEL: tile.kernel private @attention(
// CHECK: %[[ROW:.*]] = tile.view %{{.*}}[%{{.*}}, :] : {{.*}} -> !tile.view<?xi32>
// CHECK: %[[KEYS:.*]] = tile.gather_view %{{.*}}[table %[[ROW]], page, %{{.*}}, :] rows(%[[LENGTH:.*]]) : {{.*}} -> !tile.view<?x16xf32>
// CHECK: tile.gather_view %{{.*}}[table %{{.*}}, page, %{{.*}}, :] rows(%[[LENGTH]])
// CHECK: tile.load %[[KEYS]]

// CHECK-LABEL: tile.kernel private @decode_attention(
// CHECK: tile.gather_view %{{.*}}[table %{{.*}}, page, %{{.*}}, :] rows(
