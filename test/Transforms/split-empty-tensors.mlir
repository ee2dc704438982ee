// RUN: heddle-opt %s --split-empty-tensors | FileCheck %s

// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?xf32>, %[[N:[a-z0-9]+]]: index
// CHECK-DAG: %[[E0:.*]] = tensor.empty(%[[N]])
// CHECK-DAG: %[[E1:.*]] = tensor.empty(%[[N]])
// CHECK: linalg.exp ins(%[[X]] : tensor<?xf32>) outs(%[[E0]] : tensor<?xf32>)
// CHECK: linalg.log ins(%{{.*}} : tensor<?xf32>) outs(%[[E1]] : tensor<?xf32>)
// CHECK-NOT: tensor.empty
func.func @shared(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %a = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %b = linalg.log ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %b : tensor<?xf32>
}

// Outside of the loop, where the shared one was.
// CHECK-LABEL: func.func @loop
// CHECK: tensor.empty() : tensor<4xf32>
// CHECK-NEXT: tensor.empty() : tensor<4xf32>
// CHECK-NEXT: scf.for
// CHECK-NOT: tensor.empty
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %a = linalg.exp ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %b = linalg.log ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
