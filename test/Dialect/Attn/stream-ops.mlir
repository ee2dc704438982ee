// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s --check-prefix=REIFY

// CHECK-LABEL: func.func @sinkhorn
func.func @sinkhorn(%l: tensor<?x?x4x4xf32>, %m: tensor<8x8xbf16>) {
  // CHECK: attn.sinkhorn mhc %{{.*}} {rounds = 20 : i64} : tensor<?x?x4x4xf32>
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64} : tensor<?x?x4x4xf32>
  // CHECK: attn.sinkhorn deepseek_v4 %{{.*}} {eps = {{.*}} : f64, rounds = 3 : i64} : tensor<8x8xbf16>
  %1 = attn.sinkhorn deepseek_v4 %m {rounds = 3 : i64, eps = 1.0e-6 : f64} : tensor<8x8xbf16>
  return
}

// CHECK-LABEL: func.func @block
// REIFY-LABEL: func.func @block
// REIFY-SAME: (%[[X:.*]]: tensor<?x?x2x8xf32>, %{{.*}}: tensor<8x16xf32>
func.func @block(%x: tensor<?x?x2x8xf32>, %p: tensor<8x16xf32>, %s: tensor<3xf32>, %b: tensor<8xf32>, %w: tensor<16xf32>) -> (index, index) {
  // CHECK: %[[PRE:.*]], %[[POST:.*]], %[[MIX:.*]] = attn.stream_maps mhc %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} weight(%{{.*}} : tensor<16xf32>) {norm_eps = {{.*}} : f64, rounds = 20 : i64} : (tensor<?x?x2x8xf32>, tensor<8x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  %pre, %post, %mix = attn.stream_maps mhc %x, %p, %s, %b weight(%w : tensor<16xf32>) {rounds = 20 : i64, norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xf32>, tensor<8x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  // CHECK: %[[Y:.*]] = attn.stream_collapse %{{.*}}, %[[PRE]] : tensor<?x?x2x8xf32>, tensor<?x?x2xf32> -> tensor<?x?x8xf32>
  %y = attn.stream_collapse %x, %pre : tensor<?x?x2x8xf32>, tensor<?x?x2xf32> -> tensor<?x?x8xf32>
  // CHECK: attn.stream_update %{{.*}}, %[[Y]], %[[POST]], %[[MIX]] : tensor<?x?x2x8xf32>, tensor<?x?x8xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>
  %new = attn.stream_update %x, %y, %post, %mix : tensor<?x?x2x8xf32>, tensor<?x?x8xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>
  // REIFY: %[[L:.*]] = tensor.dim %[[X]], %c1
  // REIFY: return %[[L]], %[[L]]
  %c1 = arith.constant 1 : index
  %0 = tensor.dim %mix, %c1 : tensor<?x?x2x2xf32>
  %1 = tensor.dim %y, %c1 : tensor<?x?x8xf32>
  return %0, %1 : index, index
}

// CHECK-LABEL: func.func @head
func.func @head(%x: tensor<?x?x2x8xbf16>, %p: tensor<2x16xf32>, %s: tensor<1xf32>, %b: tensor<2xf32>) {
  // CHECK: attn.stream_head %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eps = {{.*}} : f64, norm_eps = {{.*}} : f64} : (tensor<?x?x2x8xbf16>, tensor<2x16xf32>, tensor<1xf32>, tensor<2xf32>) -> tensor<?x?x8xbf16>
  %y = attn.stream_head %x, %p, %s, %b {norm_eps = 1.0e-6 : f64, eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xbf16>, tensor<2x16xf32>, tensor<1xf32>, tensor<2xf32>) -> tensor<?x?x8xbf16>
  return
}
