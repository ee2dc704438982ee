// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @short_conv
// CHECK-SAME: (%[[X:.*]]: tensor<2x?x24xbf16>, %[[W:.*]]: tensor<24x3xf32>, %[[BIAS:.*]]: tensor<24xf32>, %[[S:.*]]: tensor<2x24x2xbf16>)
func.func @short_conv(%x: tensor<2x?x24xbf16>, %w: tensor<24x3xf32>, %b: tensor<24xf32>, %s: tensor<2x24x2xbf16>)
    -> (tensor<2x?x24xbf16>, tensor<2x24x2xbf16>) {
  // CHECK: scf.for %[[N:.*]] = %c0 to %c2 step %c1 iter_args(%[[STATES:.*]] = %[[S]],
  // CHECK: %[[OWN:.*]] = tensor.extract_slice %[[STATES]][%[[N]], 0, 0] [1, 24, 2]
  // CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STATE:.*]] = %[[OWN]])
  // CHECK: %[[ROW:.*]] = tensor.extract_slice %[[X]][%[[N]], %[[T]], 0] [1, 1, 24] {{.*}} to tensor<24xbf16>
  // CHECK: tensor.extract_slice %[[W]][0, 2] [24, 1]
  // CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[W]][0, 0] [24, 2]
  // CHECK: linalg.generic {{.*}} ins(%[[STATE]], %[[FIRST]] : tensor<24x2xbf16>, tensor<24x2xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[ROW]], {{.*}}, %[[BIAS]]
  // CHECK: math.exp
  // CHECK: arith.truncf
  // The state moves by one.
  // CHECK: %[[SECOND:.*]] = tensor.extract_slice %[[STATE]][0, 1] [24, 1]
  // CHECK: %[[MOVED:.*]] = tensor.insert_slice %{{.*}} into %[[STATE]][0, 0] [24, 1]
  // CHECK: %[[NEW:.*]] = tensor.insert_slice %[[ROW]] into %[[MOVED]][0, 1] [24, 1]
  // CHECK: scf.yield %{{.*}}, %[[NEW]]
  %y, %t = attn.short_conv %x, %w bias(%b : tensor<24xf32>) initial_state(%s : tensor<2x24x2xbf16>) {silu}
      : (tensor<2x?x24xbf16>, tensor<24x3xf32>) -> (tensor<2x?x24xbf16>, tensor<2x24x2xbf16>)
  return %y, %t : tensor<2x?x24xbf16>, tensor<2x24x2xbf16>
}

// A width of 1 has no state.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<1x?x24xf32>, %w: tensor<24x1xf32>) -> tensor<1x?x24xf32> {
  // CHECK-NOT: reduction
  // CHECK: linalg.generic
  // CHECK-NOT: attn.short_conv
  %y, %t = attn.short_conv %x, %w
      : (tensor<1x?x24xf32>, tensor<24x1xf32>) -> (tensor<1x?x24xf32>, tensor<1x24x0xf32>)
  return %y : tensor<1x?x24xf32>
}

// Tokens of a call are not rounded to the type of its states before the last one.
// CHECK-LABEL: func.func @narrow_state
func.func @narrow_state(%x: tensor<1x?x24xf32>, %w: tensor<24x2xf32>, %s: tensor<1x24x1xf16>) -> tensor<1x24x1xf16> {
  // CHECK: %[[OWN:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<24x1xf16>) outs(%{{.*}} : tensor<24x1xf32>)
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[OWN]])
  // CHECK: scf.yield
  // CHECK: linalg.generic {{.*}} : tensor<24x1xf32>) outs(%{{.*}} : tensor<24x1xf16>)
  %y, %t = attn.short_conv %x, %w initial_state(%s : tensor<1x24x1xf16>)
      : (tensor<1x?x24xf32>, tensor<24x2xf32>) -> (tensor<1x?x24xf32>, tensor<1x24x1xf16>)
  return %t : tensor<1x24x1xf16>
}
