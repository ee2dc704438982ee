// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// Blocks of up to 16 queries: scores are never there for all of them.
// CHECK-LABEL: func.func @scores
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x6x16xf32>, %[[K:.*]]: tensor<?x?x2x16xf32>, %[[T:.*]]: tensor<?xi32>)
func.func @scores(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>, %t: tensor<?xi32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6x?xf32>, tensor<?x6x?xf32>) {
  // CHECK: attn.require %{{.*}}, "pattern_scores: dimension 0 of tokens is {0}, expected {1} like dimension 1 of key"
  // CHECK: %[[ROWS:.*]] = arith.minsi %{{.*}}, %c16
  // CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %[[ROWS]]
  // CHECK: %[[MASSES:.*]]:2 = scf.for
  // CHECK: %[[START:.*]] = arith.minsi %{{.*}}, %[[LAST]]
  // CHECK: tensor.extract_slice %[[Q]][0, %[[START]], 0, 0] [%{{.*}}, %[[ROWS]], 6, 16]
  // CHECK: linalg.contract {{.*}} -> tensor<?x2x3x?x?xf32>
  // CHECK: arith.cmpi sle
  // CHECK: arith.select
  // CHECK: math.exp
  // The token before a key.
  // CHECK: tensor.extract %[[T]]
  // CHECK: tensor.extract %[[T]]
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0, %[[START]]]
  // CHECK: arith.divf
  // CHECK-NOT: attn.pattern_scores
  %0:4 = attn.pattern_scores [sink, induction_token] %q, %k tokens(%t : tensor<?xi32>) {causal, return_rows}
      : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6x?xf32>, tensor<?x6x?xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6x?xf32>, tensor<?x6x?xf32>
}
