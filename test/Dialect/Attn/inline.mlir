// RUN: heddle-opt %s --inline | FileCheck %s

// Functions of attn ops can be called, those with a score region too.
// CHECK-LABEL: func.func @caller
// CHECK-NOT: call
// CHECK: attn.rms_norm
// CHECK: attn.attention {{.*}} score(
// CHECK-NOT: call
// CHECK: return
func.func @caller(%x: tensor<1x5x2x8xf32>, %w: tensor<8xf32>) -> tensor<1x5x2x8xf32> {
  %0 = func.call @normed(%x, %w) : (tensor<1x5x2x8xf32>, tensor<8xf32>) -> tensor<1x5x2x8xf32>
  return %0 : tensor<1x5x2x8xf32>
}
func.func private @normed(%x: tensor<1x5x2x8xf32>, %w: tensor<8xf32>) -> tensor<1x5x2x8xf32> {
  %0 = attn.rms_norm %x, %w {eps = 1.0e-5} : tensor<1x5x2x8xf32>, tensor<8xf32>
  %1 = attn.attention %0, %0, %0 : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32> score(%s, %b, %h, %p, %j) {
    %t = arith.negf %s : f32
    attn.yield %t : f32
  }
  return %1 : tensor<1x5x2x8xf32>
}
