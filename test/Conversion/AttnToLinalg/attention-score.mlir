// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --attn-to-linalg=accumulate=f64 --canonicalize --cse | FileCheck %s --check-prefix=F64

// The region stands behind the softcap and before the bias; its f32 is what scores are computed in.
// CHECK-LABEL: func.func @score
// F64-LABEL: func.func @score
func.func @score(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>, %bias: tensor<1x1x1x5xf32>) -> tensor<2x3x4x8xf32> {
  // CHECK: linalg.contract
  // CHECK: linalg.generic
  // CHECK: ^bb0(%[[RAW:.*]]: f32, %[[BIAS:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[BATCH:.*]] = linalg.index 0 : index
  // CHECK: %[[I:.*]] = linalg.index 3 : index
  // CHECK: %[[KEY:.*]] = linalg.index 4 : index
  // CHECK: %[[QUERY:.*]] = arith.addi %[[I]], %c2
  // CHECK: %[[CAPPED:.*]] = math.tanh
  // CHECK: %[[S:.*]] = arith.mulf %[[CAPPED]]
  // CHECK: %[[KEY_HEAD:.*]] = linalg.index 1 : index
  // CHECK: %[[FIRST:.*]] = arith.muli %[[KEY_HEAD]], %c2
  // CHECK: %[[IN_GROUP:.*]] = linalg.index 2 : index
  // CHECK: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[IN_GROUP]]
  // CHECK: %[[D:.*]] = arith.subi %[[QUERY]], %[[KEY]] : index
  // CHECK: %[[A:.*]] = arith.muli %[[D]], %[[HEAD]] : index
  // CHECK: %[[N:.*]] = arith.addi %[[A]], %[[BATCH]] : index
  // CHECK: %[[I32:.*]] = arith.index_cast %[[N]] : index to i32
  // CHECK: %[[X:.*]] = arith.sitofp %[[I32]] : i32 to f32
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %cst{{.*}} : f32
  // CHECK: %[[CHANGED:.*]] = arith.addf %[[S]], %[[SCALED]] : f32
  // CHECK: %[[SUM:.*]] = arith.addf %[[CHANGED]], %[[BIAS]] : f32
  // CHECK: linalg.yield %[[SUM]]
  // CHECK-NOT: attn.
  // F64: arith.sitofp %{{.*}} : i32 to f64
  // F64: arith.mulf %{{.*}} : f64
  // F64: arith.addf %{{.*}} : f64
  // F64-NOT: attn.
  %o = attn.attention %q, %k, %k bias(%bias : tensor<1x1x1x5xf32>) {softcap = 2.0}
      : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> tensor<2x3x4x8xf32>
      score(%s, %b, %h, %p, %j) {
    %step = arith.constant 0.125 : f32
    %d = arith.subi %p, %j : index
    %a = arith.muli %d, %h : index
    %n = arith.addi %a, %b : index
    %i = arith.index_cast %n : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.mulf %x, %step : f32
    %t = arith.addf %s, %y : f32
    attn.yield %t : f32
  }
  return %o : tensor<2x3x4x8xf32>
}
