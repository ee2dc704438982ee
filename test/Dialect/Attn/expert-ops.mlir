// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s --check-prefix=REIFY

// CHECK-LABEL: func.func @routers
func.func @routers(%z: tensor<?x?x128xbf16>, %y: tensor<?x256xf32>, %b: tensor<256xf32>) {
  // CHECK: %indices, %weights = attn.router softmax %{{.*}} {renormalize, top_k = 8 : i64} : tensor<?x?x128xbf16> -> tensor<?x?x8xi32>, tensor<?x?x8xf32>
  %0:2 = attn.router softmax %z {top_k = 8 : i64, renormalize} : tensor<?x?x128xbf16> -> tensor<?x?x8xi32>, tensor<?x?x8xf32>
  // CHECK: attn.router sigmoid %{{.*}} correction(%{{.*}} : tensor<256xf32>) {groups = 8 : i64, renormalize, scale = 2.500000e+00 : f64, top_groups = 4 : i64, top_k = 8 : i64}
  %1:2 = attn.router sigmoid %y correction(%b : tensor<256xf32>)
      {top_k = 8 : i64, groups = 8 : i64, top_groups = 4 : i64, renormalize, scale = 2.5 : f64}
      : tensor<?x256xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
  return
}

// CHECK-LABEL: func.func @stacked
func.func @stacked(%x: tensor<?x?x40xbf16>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %g: tensor<4x24x40xbf16>,
                   %d: tensor<4x40x24xbf16>) {
  // CHECK: attn.experts swiglu %{{.*}}, %{{.*}}, %{{.*}} gate(%{{.*}} : tensor<4x24x40xbf16>) up(%{{.*}} : tensor<4x24x40xbf16>) down(%{{.*}} : tensor<4x40x24xbf16>) : (tensor<?x?x40xbf16>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  %0 = attn.experts swiglu %x, %i, %w gate(%g : tensor<4x24x40xbf16>) up(%g : tensor<4x24x40xbf16>) down(%d : tensor<4x40x24xbf16>)
      : (tensor<?x?x40xbf16>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// CHECK-LABEL: func.func @each
func.func @each(%x: tensor<?x40xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<24x40xf32>, %d: tensor<40x24xf32>) {
  // CHECK: attn.experts geglu {{.*}} gate(%{{.*}}, %{{.*}} : tensor<24x40xf32>, tensor<24x40xf32>) up(%{{.*}}, %{{.*}} : tensor<24x40xf32>, tensor<24x40xf32>) down(
  %0 = attn.experts geglu %x, %i, %w gate(%g, %g : tensor<24x40xf32>, tensor<24x40xf32>)
      up(%g, %g : tensor<24x40xf32>, tensor<24x40xf32>) down(%d, %d : tensor<40x24xf32>, tensor<40x24xf32>)
      : (tensor<?x40xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x40xf32>
  return
}

// CHECK-LABEL: func.func @gpt_oss
// REIFY-LABEL: func.func @gpt_oss
// REIFY-SAME: (%[[X:.*]]: tensor<?x?x40xf32>, %{{.*}}: tensor<?x?x2xi32>
func.func @gpt_oss(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %g: tensor<4x40x48xf32>, %gb: tensor<4x48xf32>,
                   %d: tensor<4x24x40xf32>, %db: tensor<4x40xf32>) -> index {
  // CHECK: attn.experts gpt_oss {{.*}} gate(%{{.*}} : tensor<4x40x48xf32>) gate_bias(%{{.*}} : tensor<4x48xf32>) down(%{{.*}} : tensor<4x24x40xf32>) down_bias(%{{.*}} : tensor<4x40xf32>) {interleaved, limit = 2.000000e+00 : f64, transposed}
  %0 = attn.experts gpt_oss %x, %i, %w gate(%g : tensor<4x40x48xf32>) gate_bias(%gb : tensor<4x48xf32>) down(%d : tensor<4x24x40xf32>)
      down_bias(%db : tensor<4x40xf32>) {transposed, interleaved, limit = 2.0 : f64}
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  // REIFY: %[[L:.*]] = tensor.dim %[[X]], %c1
  // REIFY: return %[[L]]
  %c1 = arith.constant 1 : index
  %l = tensor.dim %0, %c1 : tensor<?x?x40xf32>
  return %l : index
}

// REIFY-LABEL: func.func @chosen
// REIFY-SAME: (%[[Z:.*]]: tensor<?x?x16xf32>)
func.func @chosen(%z: tensor<?x?x16xf32>) -> (index, index) {
  // REIFY-DAG: %[[L:.*]] = tensor.dim %[[Z]], %c1
  // REIFY: return %[[L]], %c3
  %0:2 = attn.router softmax %z {top_k = 3 : i64} : tensor<?x?x16xf32> -> tensor<?x?x?xi32>, tensor<?x?x?xf32>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %l = tensor.dim %0#0, %c1 : tensor<?x?x?xi32>
  %k = tensor.dim %0#1, %c2 : tensor<?x?x?xf32>
  return %l, %k : index, index
}
