// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// The reference has keys and values of all heads, unrounded, whatever form is asked for.
// CHECK-LABEL: func.func @formula
// CHECK-SAME: (%{{.*}}: tensor<?x?x4x32xf16>, %{{.*}}: tensor<?x?x4x16xf16>, %[[ROWS:[a-z0-9]*]]: tensor<?x?x80xf16>, %[[UP:[a-z0-9]*]]: tensor<224x64xf16>)
func.func @formula(%q: tensor<?x?x4x32xf16>, %qr: tensor<?x?x4x16xf16>, %rows: tensor<?x?x80xf16>, %up: tensor<224x64xf16>) -> tensor<?x?x4x24xf16> {
  // CHECK: %[[LATENT:.*]] = tensor.extract_slice %[[ROWS]][0, 0, 0] [%{{.*}}, %{{.*}}, 64]
  // CHECK: %[[KV:.*]] = linalg.contract {{.*}} ins(%[[LATENT]], %[[UP]] : tensor<?x?x64xf16>, tensor<224x64xf16>) outs(%{{.*}} : tensor<?x?x224xf32>)
  // CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[KV]] {{.*}} into tensor<?x?x4x56xf32>
  // CHECK: %[[VALUE:.*]] = tensor.extract_slice %[[HEADS]][0, 0, 0, 32] [%{{.*}}, %{{.*}}, 4, 24]
  // CHECK: %[[ROPE:.*]] = tensor.extract_slice %[[ROWS]][0, 0, 64] [%{{.*}}, %{{.*}}, 16]
  // Scores and weighted sum.
  // CHECK: linalg.contract
  // CHECK: math.exp
  // CHECK: linalg.contract
  // CHECK-NOT: linalg.contract
  // CHECK-NOT: attn.latent_attention
  %o = attn.latent_attention %q, %rows, %up query_rope(%qr : tensor<?x?x4x16xf16>) {absorbed, causal}
      : (tensor<?x?x4x32xf16>, tensor<?x?x80xf16>, tensor<224x64xf16>) -> tensor<?x?x4x24xf16>
  return %o : tensor<?x?x4x24xf16>
}
