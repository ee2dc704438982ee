// RUN: heddle-opt %s --attn-select-top-k --canonicalize --cse | FileCheck %s

// A row is a task. Its list is a heap of the best elements so far, with the worst at 0; an element that is above it sinks into it.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[S:[a-z0-9]*]]: tensor<?x?xf32>)
func.func @rows(%s: tensor<?x?xf32>) -> tensor<?x8xi32> {
  // CHECK: %[[ROWS:.*]] = tensor.dim %[[S]], %c0
  // CHECK: %[[N:.*]] = tensor.dim %[[S]], %c1
  // CHECK: %[[NONE:.*]] = linalg.fill ins(%c-1_i32 : i32) outs(%{{.*}} : tensor<?x8xi32>)
  // CHECK: scf.forall (%[[ROW:.*]]) in (%[[ROWS]]) shared_outs(%[[LISTS:.*]] = %[[NONE]])
  // CHECK: %[[LIST:.*]] = tensor.extract_slice %[[LISTS]][%[[ROW]], 0] [1, 8] [1, 1]
  // CHECK: %[[BEST:.*]]:2 = scf.for %[[J:.*]] = %c0 to %[[N]] step %c1 iter_args(%[[HEAP:.*]] = %[[LIST]], %[[BAR:.*]] = %{{.*}}) -> (tensor<8xi32>, f32)
  // CHECK: %[[SCORE:.*]] = tensor.extract %[[S]][%[[ROW]], %[[J]]]
  // CHECK: %[[PASSES:.*]] = arith.cmpf ogt, %[[SCORE]], %[[BAR]] : f32
  // CHECK: scf.if %[[PASSES]]
  // CHECK: scf.while
  // Without elements nothing is sorted.
  // CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[N]], %c0
  // CHECK: %[[PLACES:.*]] = arith.select %[[EMPTY]], %c0, %c8
  // CHECK: %[[SORTED:.*]] = scf.for %{{.*}} = %c1 to %[[PLACES]] step %c1 iter_args(%{{.*}} = %[[BEST]]#0)
  // CHECK: scf.while
  // CHECK: tensor.parallel_insert_slice %[[SORTED]] into %[[LISTS]][%[[ROW]], 0] [1, 8] [1, 1]
  // CHECK-NOT: attn.top_k
  %i = attn.top_k %s {k = 8} : tensor<?x?xf32> -> tensor<?x8xi32>
  return %i : tensor<?x8xi32>
}

// One row is no loop; scores of 16 bits are compared in f32.
// CHECK-LABEL: func.func @one
func.func @one(%s: tensor<100xbf16>) -> tensor<3xi32> {
  // CHECK-NOT: scf.forall
  // CHECK: scf.for
  // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.cmpf ogt, %[[WIDE]]
  %i = attn.top_k %s {k = 3} : tensor<100xbf16> -> tensor<3xi32>
  return %i : tensor<3xi32>
}
