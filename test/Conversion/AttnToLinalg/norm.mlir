// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x96xf16>, %[[W:.*]]: tensor<96xbf16>)
func.func @rms_norm(%x: tensor<?x?x96xf16>, %w: tensor<96xbf16>) -> tensor<?x?x96xf16> {
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG: %[[WIDTH:.*]] = arith.constant 9.600000e+01 : f32
  // CHECK-DAG: %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
  // CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]] : tensor<?x?x96xf16>) outs(%{{.*}} : tensor<?x?xf32>)
  // CHECK: %[[FACTOR:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<?x?xf32>)
  // CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[WIDTH]]
  // CHECK-NEXT: %[[SHIFTED:.*]] = arith.addf %[[MEAN]], %[[EPS]]
  // CHECK-NEXT: %[[ROOT:.*]] = math.sqrt %[[SHIFTED]]
  // CHECK-NEXT: arith.divf %[[ONE]], %[[ROOT]]
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[FACTOR]], %[[W]]
  // CHECK-NEXT: ^bb0(%[[V:.*]]: f16, %[[F:.*]]: f32, %[[B:.*]]: bf16, %{{.*}}: f16):
  // CHECK-DAG: %[[W32:.*]] = arith.extf %[[B]] : bf16 to f32
  // CHECK-DAG: %[[SCALE:.*]] = arith.addf %[[W32]], %[[ONE]]
  // CHECK: arith.mulf %{{.*}}, %[[F]]
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[SCALE]]
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
  %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64, plus_one} : tensor<?x?x96xf16>, tensor<96xbf16>
  return %y : tensor<?x?x96xf16>
}

// CHECK-LABEL: func.func @dynamic_width
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<?xf32>
func.func @dynamic_width(%x: tensor<?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: %[[D:.*]] = tensor.dim %[[X]], %c0
  // CHECK: %[[D64:.*]] = arith.index_cast %[[D]] : index to i64
  // CHECK: arith.sitofp %[[D64]] : i64 to f32
  // CHECK: iterator_types = ["reduction"]
  %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?xf32>, tensor<?xf32>
  return %y : tensor<?xf32>
}

// Two passes for the mean, one for the variance.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<4x96xf32>
func.func @layer_norm(%x: tensor<4x96xf32>, %w: tensor<96xf32>, %b: tensor<96xf32>) -> tensor<4x96xf32> {
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[X]] :
  // CHECK: %[[ROUGH:.*]] = linalg.generic {{.*}} ins(%[[SUM]] :
  // CHECK: %[[REST:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[X]], %[[ROUGH]] :
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[ROUGH]], %[[REST]] :
  // CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[X]], %[[MEAN]] :
  // CHECK: %[[FACTOR:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] :
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]], %[[FACTOR]], %{{.*}}, %{{.*}} :
  // CHECK: arith.subf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  %y = attn.layer_norm %x, %w bias(%b : tensor<96xf32>) {eps = 1.0e-5 : f64} : tensor<4x96xf32>, tensor<96xf32>
  return %y : tensor<4x96xf32>
}
