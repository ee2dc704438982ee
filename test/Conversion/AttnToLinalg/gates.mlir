// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @decay_gate
func.func @decay_gate(%x: tensor<?x?x6x24xbf16>, %a: tensor<6xf32>, %b: tensor<6x24xf32>) -> tensor<?x?x6x24xf32> {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?x6x24xbf16>, tensor<6xf32>, tensor<6x24xf32>)
  // CHECK: arith.extf
  // CHECK: arith.addf
  // CHECK: math.exp
  // ln(1 + exp(-|x|)), also where 1 + exp(-|x|) is 1.
  // CHECK: math.absf
  // CHECK: math.log
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  // CHECK: arith.negf
  // CHECK-NOT: attn.
  %0 = attn.decay_gate %x, %a, %b : tensor<?x?x6x24xbf16>, tensor<6xf32>, tensor<6x24xf32> -> tensor<?x?x6x24xf32>
  return %0 : tensor<?x?x6x24xf32>
}

// CHECK-LABEL: func.func @lower_bound
func.func @lower_bound(%x: tensor<?x6xf32>, %a: tensor<6xf32>) -> tensor<?x6xf32> {
  // CHECK-DAG: %[[BOUND:.*]] = arith.constant -5.0
  // CHECK: arith.divf
  // CHECK: arith.mulf %{{.*}}, %[[BOUND]]
  // CHECK-NOT: attn.
  %0 = attn.decay_gate %x, %a, %a {lower_bound = -5.0 : f64} : tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32> -> tensor<?x6xf32>
  return %0 : tensor<?x6xf32>
}

// CHECK-LABEL: func.func @gated_norm
func.func @gated_norm(%x: tensor<?x6x24xf16>, %w: tensor<24xf32>) -> tensor<?x6x24xf16> {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
  // CHECK: math.sqrt
  // CHECK: math.exp
  // CHECK: arith.truncf
  // CHECK-NOT: arith.truncf
  %0 = attn.gated_rms_norm sigmoid %x, %x, %w {eps = 1.0e-5 : f64} : tensor<?x6x24xf16>, tensor<24xf32>
  return %0 : tensor<?x6x24xf16>
}

// The sum, not the mean.
// CHECK-LABEL: func.func @l2_norm
func.func @l2_norm(%x: tensor<?x6x24xf32>) -> tensor<?x6x24xf32> {
  // CHECK-NOT: 2.400000e+01
  // CHECK: math.sqrt
  // CHECK-NOT: attn.
  %0 = attn.l2_norm %x {eps = 1.0e-6 : f64} : tensor<?x6x24xf32>
  return %0 : tensor<?x6x24xf32>
}

// CHECK-LABEL: func.func @features
func.func @features(%x: tensor<?x3x20xf32>) -> tensor<?x3x40xf32> {
  // CHECK: arith.maximumf
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x3x2x20xf32>)
  // CHECK: tensor.collapse_shape {{.*}} : tensor<?x3x2x20xf32> into tensor<?x3x40xf32>
  %0 = attn.softmax_features %x : tensor<?x3x20xf32> -> tensor<?x3x40xf32>
  return %0 : tensor<?x3x40xf32>
}

// CHECK-LABEL: func.func @maps
func.func @maps(%x: tensor<?x20xf32>) -> tensor<?x20xf32> {
  // CHECK: arith.minimumf
  // CHECK: math.exp
  %0 = attn.activation elu_plus_one %x : tensor<?x20xf32>
  // CHECK: arith.maximumf
  %1 = attn.activation relu %0 : tensor<?x20xf32>
  // CHECK: arith.maximumf
  // CHECK: arith.mulf
  %2 = attn.activation squared_relu %1 : tensor<?x20xf32>
  // CHECK: arith.divf
  // CHECK: arith.mulf
  %3 = attn.glu sigmoid %2, %x : tensor<?x20xf32>
  return %3 : tensor<?x20xf32>
}
