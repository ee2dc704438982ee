// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @kv_append
// CHECK-SAME: (%[[KC:.*]]: tensor<2x?x2x8xbf16>, %[[VC:.*]]: tensor<2x?x2x8xbf16>, %[[K:.*]]: tensor<2x3x2x8xf32>, %[[V:.*]]: tensor<2x3x2x8xbf16>, %[[START:.*]]: tensor<2xi32>)
func.func @kv_append(%kc: tensor<2x?x2x8xbf16>, %vc: tensor<2x?x2x8xbf16>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xbf16>,
                     %start: tensor<2xi32>) -> (tensor<2x?x2x8xbf16>, tensor<2x?x2x8xbf16>) {
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
  // CHECK-DAG: %[[CV:.*]] = tensor.dim %[[VC]], %c1
  // CHECK-DAG: %[[CK:.*]] = tensor.dim %[[KC]], %c1
  // CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[CV]], %[[CK]]
  // CHECK: attn.require %[[SAME]], "kv_append: dimension 1 of value_cache is {0}, expected {1} like dimension 1 of key_cache"(%[[CV]], %[[CK]] : index, index)
  // CHECK: %[[LAST:.*]] = arith.subi %[[CK]], %[[C3]]
  // CHECK: attn.require_range %[[START]] in [%c0, %[[LAST]]], "start" : tensor<2xi32>
  // CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[K]]
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: scf.for %[[B:.*]] = %c0 to %c2 step %c1 iter_args(%[[KA:.*]] = %[[KC]], %[[VA:.*]] = %[[VC]])
  // CHECK: %[[S32:.*]] = tensor.extract %[[START]][%[[B]]]
  // CHECK: %[[S:.*]] = arith.index_cast %[[S32]] : i32 to index
  // CHECK: %[[KR:.*]] = tensor.extract_slice %[[ROWS]][%[[B]], 0, 0, 0] [1, 3, 2, 8]
  // CHECK: %[[KN:.*]] = tensor.insert_slice %[[KR]] into %[[KA]][%[[B]], %[[S]], 0, 0] [1, 3, 2, 8]
  // CHECK: %[[VR:.*]] = tensor.extract_slice %[[V]][%[[B]], 0, 0, 0] [1, 3, 2, 8]
  // CHECK: %[[VN:.*]] = tensor.insert_slice %[[VR]] into %[[VA]][%[[B]], %[[S]], 0, 0] [1, 3, 2, 8]
  // CHECK: scf.yield %[[KN]], %[[VN]]
  %k2, %v2 = attn.kv_append %kc, %vc, %k, %v, %start
      : (tensor<2x?x2x8xbf16>, tensor<2x?x2x8xbf16>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xbf16>, tensor<2xi32>)
      -> (tensor<2x?x2x8xbf16>, tensor<2x?x2x8xbf16>)
  return %k2, %v2 : tensor<2x?x2x8xbf16>, tensor<2x?x2x8xbf16>
}

// One cache alone: nothing of its partner is copied.
// CHECK-LABEL: func.func @one_cache
// CHECK: scf.for
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}} : tensor<1x3x1x80xf16> into tensor<2x?x1x80xf16>
// CHECK-NOT: tensor.insert_slice
// CHECK: return
func.func @one_cache(%c: tensor<2x?x1x80xf16>, %nc: tensor<2x?x1x0xf16>, %r: tensor<2x3x1x80xf16>, %nr: tensor<2x3x1x0xf16>,
                     %start: tensor<2xi32>) -> tensor<2x?x1x80xf16> {
  %a, %b = attn.kv_append %c, %nc, %r, %nr, %start
      : (tensor<2x?x1x80xf16>, tensor<2x?x1x0xf16>, tensor<2x3x1x80xf16>, tensor<2x3x1x0xf16>, tensor<2xi32>)
      -> (tensor<2x?x1x80xf16>, tensor<2x?x1x0xf16>)
  return %a : tensor<2x?x1x80xf16>
}

// Checks of the program stay as they are.
// CHECK-LABEL: func.func @checks
func.func @checks(%ok: i1, %t: tensor<?xi32>, %n: index) {
  // CHECK: attn.require %
  attn.require %ok, "text"
  // CHECK: attn.require_range %
  attn.require_range %t in [%n, %n], "t" : tensor<?xi32>
  return
}
