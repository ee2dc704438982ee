// RUN: heddle-opt %s --attn-decompose-latent --canonicalize --cse | FileCheck %s

// The cache is read where it lies: queries as wide as its rows, one key head, values that are a part of the keys.
// CHECK-LABEL: func.func @absorbed
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x1x4x32xf16>, %[[QR:[a-z0-9]*]]: tensor<?x1x4x16xf16>, %[[ROWS:[a-z0-9]*]]: tensor<?x?x80xf16>, %[[UP:[a-z0-9]*]]: tensor<224x64xf16>, %[[N:[a-z0-9]*]]: tensor<?xi32>)
func.func @absorbed(%q: tensor<?x1x4x32xf16>, %qr: tensor<?x1x4x16xf16>, %rows: tensor<?x?x80xf16>, %up: tensor<224x64xf16>, %n: tensor<?xi32>)
    -> (tensor<?x1x4x24xf16>, tensor<?x4x1xf32>) {
  // CHECK: attn.require %{{.*}}, "latent_attention: dimension 0 of latent is {0}, expected {1} like dimension 0 of query_nope"
  // CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[UP]] {{\[\[}}0, 1], [2]] output_shape [4, 56, 64]
  // CHECK: %[[UK:.*]] = tensor.extract_slice %[[HEADS]][0, 0, 0] [4, 32, 64]
  // CHECK: %[[WIDE:.*]] = linalg.contract {{.*}} ins(%[[Q]], %[[UK]] : tensor<?x1x4x32xf16>, tensor<4x32x64xf16>) outs(%{{.*}} : tensor<?x1x4x64xf32>)
  // CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[WIDE]] : tensor<?x1x4x64xf32>)
  // CHECK: arith.truncf
  // CHECK: %[[LEFT:.*]] = tensor.insert_slice %[[ROUNDED]] into %{{.*}}[0, 0, 0, 0]
  // CHECK: %[[QUERY:.*]] = tensor.insert_slice %[[QR]] into %[[LEFT]][0, 0, 0, 64]
  // CHECK: %[[KEY:.*]] = tensor.expand_shape %[[ROWS]] {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<?x?x1x80xf16>
  // CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[KEY]][0, 0, 0, 0] [%{{.*}}, %{{.*}}, 1, 64]
  // CHECK: %[[CONTEXT:.*]], %[[LSE:.*]] = attn.attention %[[QUERY]], %[[KEY]], %[[VALUE]] kv_len(%[[N]] : tensor<?xi32>) {return_lse, scale = 0.144337567297406{{[0-9]*}} : f64}
  // CHECK-SAME: -> (tensor<?x1x4x64xf16>, tensor<?x4x1xf32>)
  // CHECK: %[[UV:.*]] = tensor.extract_slice %[[HEADS]][0, 32, 0] [4, 24, 64]
  // CHECK: linalg.contract {{.*}} ins(%[[CONTEXT]], %[[UV]] : tensor<?x1x4x64xf16>, tensor<4x24x64xf16>) outs(%{{.*}} : tensor<?x1x4x24xf32>)
  // CHECK: arith.truncf
  // CHECK: return %{{.*}}, %[[LSE]]
  %o, %lse = attn.latent_attention %q, %rows, %up query_rope(%qr : tensor<?x1x4x16xf16>) kv_len(%n : tensor<?xi32>) {absorbed, causal, return_lse}
      : (tensor<?x1x4x32xf16>, tensor<?x?x80xf16>, tensor<224x64xf16>) -> (tensor<?x1x4x24xf16>, tensor<?x4x1xf32>)
  return %o, %lse : tensor<?x1x4x24xf16>, tensor<?x4x1xf32>
}

// One product for keys and values of all heads; the rope key is the same in each.
// CHECK-LABEL: func.func @expanded
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x4x32xf32>, %[[QR:[a-z0-9]*]]: tensor<?x?x4x16xf32>, %[[C:[a-z0-9]*]]: tensor<?x?x64xf32>, %[[KR:[a-z0-9]*]]: tensor<?x?x16xf32>, %[[UP:[a-z0-9]*]]: tensor<224x64xf32>)
func.func @expanded(%q: tensor<?x?x4x32xf32>, %qr: tensor<?x?x4x16xf32>, %c: tensor<?x?x64xf32>, %kr: tensor<?x?x16xf32>, %up: tensor<224x64xf32>)
    -> tensor<?x?x4x24xf32> {
  // CHECK: %[[ALL:.*]] = linalg.contract {{.*}} ins(%[[C]], %[[UP]] : tensor<?x?x64xf32>, tensor<224x64xf32>) outs(%{{.*}} : tensor<?x?x224xf32>)
  // CHECK: %[[KV:.*]] = tensor.expand_shape %[[ALL]] {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<?x?x4x56xf32>
  // CHECK: %[[NOPE:.*]] = tensor.extract_slice %[[KV]][0, 0, 0, 0] [%{{.*}}, %{{.*}}, 4, 32]
  // CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[KV]][0, 0, 0, 32] [%{{.*}}, %{{.*}}, 4, 24]
  // CHECK: %[[ROPE:.*]] = linalg.generic {{.*}} ins(%[[KR]] : tensor<?x?x16xf32>) outs(%{{.*}} : tensor<?x?x4x16xf32>)
  // CHECK: %[[QUERY:.*]] = tensor.insert_slice %[[QR]] into %{{.*}}[0, 0, 0, 32]
  // CHECK: %[[KEY:.*]] = tensor.insert_slice %[[ROPE]] into %{{.*}}[0, 0, 0, 32]
  // CHECK: attn.attention %[[QUERY]], %[[KEY]], %[[VALUE]] {scale = 2.500000e-01 : f64}
  // CHECK-NOT: linalg.contract
  %o = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<?x?x4x16xf32>) key_rope(%kr : tensor<?x?x16xf32>) {expanded, scale = 0.25 : f64}
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// Without rope nothing is copied.
// CHECK-LABEL: func.func @no_rope
// CHECK-NOT: tensor.insert_slice
// CHECK: attn.attention
// CHECK-NOT: tensor.insert_slice
func.func @no_rope(%q: tensor<?x?x4x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<224x64xf32>) -> tensor<?x?x4x24xf32> {
  %o = attn.latent_attention %q, %c, %up : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// One query of many heads: they become queries of the one key head, each of which sees what the query sees.
// CHECK-LABEL: func.func @many_heads
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x1x64x32xf32>, %[[C:[a-z0-9]*]]: tensor<?x?x64xf32>
func.func @many_heads(%q: tensor<?x1x64x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<3584x64xf32>, %n: tensor<?xi32>) -> (tensor<?x1x64x24xf32>, tensor<?x64x1xf32>) {
  // CHECK: %[[WIDE:.*]] = linalg.contract {{.*}} outs(%{{.*}} : tensor<?x1x64x64xf32>)
  // CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[WIDE]] {{\[\[}}0], [1, 2], [3]]
  // CHECK: %[[QUERIES:.*]] = tensor.expand_shape %[[ROWS]] {{\[\[}}0], [1, 2], [3]] {{.*}} into tensor<?x64x1x64xf32>
  // CHECK: attn.attention %[[QUERIES]], %{{.*}}, %{{.*}} kv_len(%{{.*}} : tensor<?xi32>) {return_lse, scale
  // CHECK-SAME: -> (tensor<?x64x1x64xf32>, tensor<?x1x64xf32>)
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x1x64x64xf32>, tensor<64x24x64xf32>)
  %o, %lse = attn.latent_attention %q, %c, %up kv_len(%n : tensor<?xi32>) {absorbed, causal, return_lse}
      : (tensor<?x1x64x32xf32>, tensor<?x?x64xf32>, tensor<3584x64xf32>) -> (tensor<?x1x64x24xf32>, tensor<?x64x1xf32>)
  return %o, %lse : tensor<?x1x64x24xf32>, tensor<?x64x1xf32>
}

// Chosen keys, query by query: what of them is seen, then copies of their rows, zeros for the others.
// CHECK-LABEL: func.func @lists
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x4x32xf32>, %[[C:[a-z0-9]*]]: tensor<?x?x64xf32>, %[[UP:[a-z0-9]*]]: tensor<224x64xf32>, %[[I:[a-z0-9]*]]: tensor<?x?x8xi32>)
func.func @lists(%q: tensor<?x?x4x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<224x64xf32>, %i: tensor<?x?x8xi32>) -> tensor<?x?x4x24xf32> {
  // CHECK: %[[KEYS:.*]] = tensor.dim %[[C]], %c1
  // CHECK: attn.require_range %[[I]] in [%c-1, %{{.*}}], "indices"
  // Without keys nothing is read.
  // CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[KEYS]], %c0
  // CHECK: %[[ENTRIES:.*]] = arith.select %[[NONE]], %c0, %c8
  // CHECK: scf.for %[[AT:.*]] = %c0 to
  // CHECK: %[[LIST:.*]] = tensor.extract_slice %[[I]][0, %[[AT]], 0] [%{{.*}}, 1, %[[ENTRIES]]]
  // CHECK: %[[MASK:.*]] = linalg.generic {{.*}} ins(%[[LIST]] : tensor<?x?xi32>) outs(%{{.*}} : tensor<?x1x1x?xi1>)
  // CHECK: arith.cmpi sge
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpi sle
  // CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x?x64xf32>)
  // CHECK: tensor.extract %[[C]][
  // CHECK: %[[KEY:.*]] = tensor.expand_shape %[[ROWS]] {{.*}} into tensor<?x?x1x64xf32>
  // CHECK: attn.attention %{{.*}}, %[[KEY]], %[[KEY]] mask(%[[MASK]] : tensor<?x1x1x?xi1>) {scale
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[AT]], 0, 0]
  %o = attn.latent_attention %q, %c, %up indices(%i : tensor<?x?x8xi32>) {absorbed, causal}
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// A mask is that of the attention; where heads are queries, it is exchanged with them.
// CHECK-LABEL: func.func @masks
// CHECK-SAME: %[[M:[a-z0-9]*]]: tensor<?x1x1x?xi1>, %[[MH:[a-z0-9]*]]: tensor<?x64x1x?xi1>)
func.func @masks(%q: tensor<?x1x64x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<3584x64xf32>, %m: tensor<?x1x1x?xi1>, %mh: tensor<?x64x1x?xi1>)
    -> (tensor<?x1x64x24xf32>, tensor<?x1x64x24xf32>, tensor<?x1x64x24xf32>) {
  // CHECK: attn.require %{{.*}}, "latent_attention: dimension 3 of mask is {0}, expected {1} like dimension 1 of latent"
  // CHECK: attn.attention %{{.*}} mask(%[[M]] : tensor<?x1x1x?xi1>) {scale
  // CHECK-SAME: (tensor<?x1x64x32xf32>
  %0 = attn.latent_attention %q, %c, %up mask(%m : tensor<?x1x1x?xi1>) {expanded, causal}
      : (tensor<?x1x64x32xf32>, tensor<?x?x64xf32>, tensor<3584x64xf32>) -> tensor<?x1x64x24xf32>
  // CHECK: attn.attention %{{.*}} mask(%[[M]] : tensor<?x1x1x?xi1>) {scale
  // CHECK-SAME: (tensor<?x64x1x64xf32>
  %1 = attn.latent_attention %q, %c, %up mask(%m : tensor<?x1x1x?xi1>) {absorbed, causal}
      : (tensor<?x1x64x32xf32>, tensor<?x?x64xf32>, tensor<3584x64xf32>) -> tensor<?x1x64x24xf32>
  // CHECK: %[[JOINED:.*]] = tensor.collapse_shape %[[MH]] {{\[\[}}0], [1, 2], [3]]
  // CHECK: %[[SWAPPED:.*]] = tensor.expand_shape %[[JOINED]] {{\[\[}}0], [1, 2], [3]] {{.*}} into tensor<?x1x64x?xi1>
  // CHECK: attn.attention %{{.*}} mask(%[[SWAPPED]] : tensor<?x1x64x?xi1>) {scale
  %2 = attn.latent_attention %q, %c, %up mask(%mh : tensor<?x64x1x?xi1>) {absorbed, causal}
      : (tensor<?x1x64x32xf32>, tensor<?x?x64xf32>, tensor<3584x64xf32>) -> tensor<?x1x64x24xf32>
  return %0, %1, %2 : tensor<?x1x64x24xf32>, tensor<?x1x64x24xf32>, tensor<?x1x64x24xf32>
}

// The mask of listed keys is looked up at the entries that lengths and positions leave; the other rows are read all the same.
// CHECK-LABEL: func.func @masked_lists
// CHECK-SAME: %[[M:[a-z0-9]*]]: tensor<?x4x?x?xi1>)
func.func @masked_lists(%q: tensor<?x?x4x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<224x64xf32>, %i: tensor<?x?x8xi32>, %m: tensor<?x4x?x?xi1>) -> tensor<?x?x4x24xf32> {
  // CHECK: scf.for %[[AT:.*]] = %c0 to
  // CHECK: %[[VISIBLE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x1x1x?xi1>)
  // CHECK: %[[MASK:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x4x1x?xi1>)
  // CHECK: tensor.extract %[[M]][%{{.*}}, %{{.*}}, %[[AT]], %{{.*}}]
  // CHECK: attn.attention %{{.*}} mask(%[[MASK]] : tensor<?x4x1x?xi1>) {scale
  %o = attn.latent_attention %q, %c, %up mask(%m : tensor<?x4x?x?xi1>) indices(%i : tensor<?x?x8xi32>) {absorbed, causal}
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}
