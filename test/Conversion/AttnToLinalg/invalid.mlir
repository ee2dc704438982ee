// RUN: heddle-opt %s --attn-to-linalg --verify-diagnostics

func.func @dynamic_key_heads(%q: tensor<1x3x?x8xf32>, %k: tensor<1x5x?x8xf32>) -> tensor<1x3x?x8xf32> {
  // expected-error @below {{'attn.attention' op expected a static number of key heads to lower to linalg, key has type 'tensor<1x5x?x8xf32>'}}
  %o = attn.attention %q, %k, %k : (tensor<1x3x?x8xf32>, tensor<1x5x?x8xf32>, tensor<1x5x?x8xf32>) -> tensor<1x3x?x8xf32>
  return %o : tensor<1x3x?x8xf32>
}
