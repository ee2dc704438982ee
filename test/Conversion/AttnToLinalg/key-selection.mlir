// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// One product of all heads; what is negative counts as 0 before it is weighed.
// CHECK-LABEL: func.func @indexer
// CHECK-SAME: (%[[Q:[a-z0-9]*]]: tensor<?x?x8x32xbf16>, %[[K:[a-z0-9]*]]: tensor<?x?x32xbf16>, %[[W:[a-z0-9]*]]: tensor<?x?x8xf32>, %[[N:[a-z0-9]*]]: tensor<?xi32>)
func.func @indexer(%q: tensor<?x?x8x32xbf16>, %k: tensor<?x?x32xbf16>, %w: tensor<?x?x8xf32>, %n: tensor<?xi32>) -> tensor<?x?x?xf32> {
  // CHECK: attn.require_range %[[N]] in [%c0, %{{.*}}], "kv_len"
  // CHECK: %[[PRODUCTS:.*]] = linalg.contract {{.*}} ins(%[[Q]], %[[K]] : tensor<?x?x8x32xbf16>, tensor<?x?x32xbf16>) outs(%{{.*}} : tensor<?x?x8x?xf32>)
  // CHECK: %[[SUMS:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[PRODUCTS]], %[[W]] : tensor<?x?x8x?xf32>, tensor<?x?x8xf32>)
  // CHECK: %[[POSITIVE:.*]] = arith.maximumf
  // CHECK: arith.mulf %{{.*}}, %[[POSITIVE]]
  // CHECK: arith.addf
  // CHECK: linalg.generic {{.*}} ins(%[[SUMS]], %[[N]] : tensor<?x?x?xf32>, tensor<?xi32>)
  // CHECK: arith.mulf %{{.*}}, %cst
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpi sle
  // CHECK: arith.select
  %s = attn.lightning_indexer %q, %k, %w kv_len(%n : tensor<?xi32>) {causal, scale = 0.0625 : f64}
      : (tensor<?x?x8x32xbf16>, tensor<?x?x32xbf16>, tensor<?x?x8xf32>) -> tensor<?x?x?xf32>
  return %s : tensor<?x?x?xf32>
}

// The place of each element in the order, then the element of each place.
// CHECK-LABEL: func.func @top_k
// CHECK-SAME: (%[[S:[a-z0-9]*]]: tensor<?x5xf32>)
func.func @top_k(%s: tensor<?x5xf32>) -> tensor<?x3xi32> {
  // CHECK: %[[RANKS:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[S]], %[[S]] : tensor<?x5xf32>, tensor<?x5xf32>) outs(%{{.*}} : tensor<?x5xi32>)
  // CHECK: arith.cmpf ogt
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpi slt
  // CHECK: %[[NONE:.*]] = linalg.fill ins(%c-1_i32 : i32) outs(%{{.*}} : tensor<?x3xi32>)
  // CHECK: linalg.generic {{.*}} ins(%[[RANKS]], %[[S]] : tensor<?x5xi32>, tensor<?x5xf32>) outs(%[[NONE]] : tensor<?x3xi32>)
  // CHECK: arith.cmpi eq
  // CHECK: arith.cmpf ogt
  // CHECK: arith.select
  %i = attn.top_k %s {k = 3} : tensor<?x5xf32> -> tensor<?x3xi32>
  return %i : tensor<?x3xi32>
}
