// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse --split-input-file | FileCheck %s

// Logarithms are carried by a loop over rounds: columns, then rows; the exponential comes last.
// CHECK-LABEL: func.func @sinkhorn
// CHECK-SAME: (%[[LOGITS:.*]]: tensor<?x4x4xf32>)
func.func @sinkhorn(%l: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  // CHECK: %[[END:.*]] = scf.for %{{.*}} = %c0 to %c20 step %c1 iter_args(%[[NOW:.*]] = %{{.*}})
  // CHECK: %[[MAX:.*]] = linalg.generic {indexing_maps = [#[[COLUMNS:.*]], #{{.*}}], {{.*}} ins(%[[NOW]]
  // CHECK: arith.maximumf
  // CHECK: linalg.generic {{.*}} ins(%[[NOW]], %[[MAX]]
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} outs(%[[NOW]]
  // CHECK: math.log
  // CHECK: scf.yield
  // CHECK: linalg.generic {{.*}} ins(%[[END]]
  // CHECK: math.exp
  // CHECK-NOT: attn.sinkhorn
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64} : tensor<?x4x4xf32>
  return %0 : tensor<?x4x4xf32>
}

// -----

// One norm and one product for all three maps.
// CHECK-LABEL: func.func @maps
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x2x8xbf16>, %[[P:.*]]: tensor<8x16xf32>, %[[S:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<8xf32>)
func.func @maps(%x: tensor<?x?x2x8xbf16>, %p: tensor<8x16xf32>, %s: tensor<3xf32>, %b: tensor<8xf32>)
    -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>) {
  // CHECK: math.sqrt
  // CHECK: %[[Z:.*]] = linalg.contract {{.*}} ins(%{{.*}}, %[[P]] : tensor<?x?x16xf32>, tensor<8x16xf32>)
  // CHECK-NOT: linalg.contract
  // CHECK: tensor.extract_slice %[[Z]][0, 0, 0] [%{{.*}}, %{{.*}}, 2]
  // CHECK: tensor.extract_slice %[[S]][0] [1] [1] : tensor<3xf32> to tensor<f32>
  // CHECK: tensor.extract_slice %[[Z]][0, 0, 2] [%{{.*}}, %{{.*}}, 2]
  // CHECK: tensor.extract_slice %[[Z]][0, 0, 4] [%{{.*}}, %{{.*}}, 4]
  // CHECK: scf.for %{{.*}} = %c0 to %c19
  // CHECK-NOT: attn.
  %0:3 = attn.stream_maps deepseek_v4 %x, %p, %s, %b {rounds = 20 : i64, norm_eps = 1.0e-6 : f64, eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xbf16>, tensor<8x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  return %0#0, %0#1, %0#2 : tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x2x8xbf16>, %[[Y:.*]]: tensor<?x?x8xf32>, %[[POST:.*]]: tensor<?x?x2xf32>, %[[MIX:.*]]: tensor<?x?x2x2xf32>)
func.func @update(%x: tensor<?x?x2x8xbf16>, %y: tensor<?x?x8xf32>, %p: tensor<?x?x2xf32>, %m: tensor<?x?x2x2xf32>) -> tensor<?x?x2x8xbf16> {
  // CHECK: %[[MIXED:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[MIX]], %[[X]]
  // CHECK: linalg.generic {{.*}} ins(%[[MIXED]], %[[POST]], %[[Y]]
  // CHECK: arith.truncf
  %0 = attn.stream_update %x, %y, %p, %m : tensor<?x?x2x8xbf16>, tensor<?x?x8xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>
  return %0 : tensor<?x?x2x8xbf16>
}
