// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<?xbf16>) -> tensor<?xbf16> {
  // CHECK: linalg.generic
  // CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
  // CHECK-NEXT: %[[NEG:.*]] = arith.negf %[[X]]
  // CHECK-NEXT: %[[EXP:.*]] = math.exp %[[NEG]]
  // CHECK-NEXT: %[[DEN:.*]] = arith.addf %[[EXP]], %cst
  // CHECK-NEXT: arith.divf %[[X]], %[[DEN]]
  // CHECK-NEXT: arith.truncf
  %y = attn.activation silu %x : tensor<?xbf16>
  return %y : tensor<?xbf16>
}

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-DAG: arith.constant 0.707106769 : f32
  // CHECK: math.erf
  %y = attn.activation gelu %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func.func @gelu_tanh
func.func @gelu_tanh(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-DAG: arith.constant 0.797884583 : f32
  // CHECK-DAG: arith.constant 4.471500e-02 : f32
  // CHECK: math.tanh
  %y = attn.activation gelu_tanh %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func.func @sigmoid
func.func @sigmoid(%x: tensor<2x?xf64>) -> tensor<2x?xf64> {
  // CHECK: math.exp %{{.*}} : f64
  %y = attn.activation sigmoid %x : tensor<2x?xf64>
  return %y : tensor<2x?xf64>
}

// One rounding, after the product.
// CHECK-LABEL: func.func @swiglu
func.func @swiglu(%g: tensor<?xf16>, %u: tensor<?xf16>) -> tensor<?xf16> {
  // CHECK: arith.extf
  // CHECK: arith.extf
  // CHECK: arith.divf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
  // CHECK-NEXT: linalg.yield
  %y = attn.glu swiglu %g, %u : tensor<?xf16>
  return %y : tensor<?xf16>
}

// CHECK-LABEL: func.func @gpt_oss
func.func @gpt_oss(%g: tensor<?xf32>, %u: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-DAG: %[[LIMIT:.*]] = arith.constant 7.000000e+00 : f32
  // CHECK-DAG: %[[LOW:.*]] = arith.constant -7.000000e+00 : f32
  // CHECK-DAG: %[[SLOPE:.*]] = arith.constant -1.702000e+00 : f32
  // CHECK: ^bb0(%[[GATE:.*]]: f32, %[[UP:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[G:.*]] = arith.minimumf %[[GATE]], %[[LIMIT]]
  // CHECK-NEXT: %[[U1:.*]] = arith.minimumf %[[UP]], %[[LIMIT]]
  // CHECK-NEXT: %[[U:.*]] = arith.maximumf %[[U1]], %[[LOW]]
  // CHECK-NEXT: arith.mulf %[[G]], %[[SLOPE]]
  // CHECK-NEXT: math.exp
  %y = attn.glu gpt_oss %g, %u : tensor<?xf32>
  return %y : tensor<?xf32>
}
