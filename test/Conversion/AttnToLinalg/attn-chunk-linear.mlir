// RUN: heddle-opt %s --attn-chunk-linear=chunk=16 --canonicalize --cse | FileCheck %s
// RUN: not heddle-opt %s --attn-chunk-linear=chunk=0 2>&1 | FileCheck %s --check-prefix=CHUNK
// CHUNK: error: expected chunk >= 1, got 0

// CHECK-LABEL: func.func @gated_delta
// CHECK-SAME: (%[[Q:.*]]: tensor<1x?x2x8xf32>, %[[G:.*]]: tensor<1x?x2xf32>, %[[BETA:.*]]: tensor<1x?x2xf32>, %[[S:.*]]: tensor<1x2x8x8xf32>)
func.func @gated_delta(%q: tensor<1x?x2x8xf32>, %g: tensor<1x?x2xf32>, %b: tensor<1x?x2xf32>, %s: tensor<1x2x8x8xf32>)
    -> (tensor<1x?x2x8xf32>, tensor<1x2x8x8xf32>) {
  // CHECK: %[[T:.*]] = tensor.dim %[[Q]], %c1
  // CHECK: %[[CHUNKS:.*]] = arith.ceildivsi %[[T]], %c16
  // CHECK: scf.for %[[I:.*]] = %c0 to %[[CHUNKS]]
  // CHECK: %[[DONE:.*]] = arith.muli %[[I]], %c16
  // CHECK: %[[REST:.*]] = arith.subi %[[T]], %[[DONE]]
  // CHECK: %[[COUNT:.*]] = arith.minsi %[[REST]], %c16
  // A chunk is padded with zeros.
  // CHECK: %[[PART:.*]] = tensor.extract_slice %[[Q]][0, %[[DONE]], 0, 0] [1, %[[COUNT]], 2, 8]
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<16x2x8xf32>
  // CHECK: tensor.insert_slice %[[PART]] into %[[ZEROS]][0, 0, 0] [%[[COUNT]], 2, 8]
  // The sums of the decay.
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
  // CHECK: arith.cmpi sle
  // What the state predicts; pairs below the diagonal, whose exponents are masked first.
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<2x16x8x1xf32>)
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<2x1x16x16xf32>)
  // CHECK: %[[BELOW:.*]] = arith.cmpi sgt
  // CHECK: %[[DIFFERENCE:.*]] = arith.subf
  // CHECK: %[[EXPONENT:.*]] = arith.select %[[BELOW]], %[[DIFFERENCE]], %
  // CHECK: %[[ROUNDED:.*]] = arith.truncf %[[EXPONENT]] : f64 to f32
  // CHECK: math.exp %[[ROUNDED]]
  // The solve, row by row.
  // CHECK: scf.for %{{.*}} = %c0 to %c16
  // CHECK: linalg.contract {{.*}} -> tensor<2x1x8xf32>
  // CHECK: arith.subf
  // CHECK: scf.yield
  // Output and state.
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<16x2x1x8xf32>)
  // CHECK: arith.cmpi sge
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<16x2x1x8xf32>)
  // CHECK: tensor.insert_slice {{.*}} [1, %[[COUNT]], 2, 8]
  // CHECK: linalg.contract {{.*}} outs(%{{.*}} : tensor<2x8x8xf32>)
  // CHECK-NOT: attn.linear_attention
  %o, %t = attn.linear_attention gated_delta %q, %q, %q decay(%g : tensor<1x?x2xf32>) beta(%b : tensor<1x?x2xf32>)
      initial_state(%s : tensor<1x2x8x8xf32>)
      : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> (tensor<1x?x2x8xf32>, tensor<1x2x8x8xf32>)
  return %o, %t : tensor<1x?x2x8xf32>, tensor<1x2x8x8xf32>
}

// A decay per channel is in the sum over channels. Without beta there is nothing to solve.
// CHECK-LABEL: func.func @per_channel
func.func @per_channel(%q: tensor<1x?x2x8xf32>, %g: tensor<1x?x2x8xf32>) -> tensor<1x?x2x8xf32> {
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  // CHECK: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
  // CHECK: arith.select
  // CHECK: math.exp
  %o, %t = attn.linear_attention gated %q, %q, %q decay(%g : tensor<1x?x2x8xf32>)
      : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> (tensor<1x?x2x8xf32>, tensor<1x2x8x8xf32>)
  return %o : tensor<1x?x2x8xf32>
}
