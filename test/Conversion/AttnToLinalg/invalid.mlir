// RUN: heddle-opt %s --attn-to-linalg --split-input-file --verify-diagnostics

func.func @dynamic_key_heads(%q: tensor<1x3x?x8xf32>, %k: tensor<1x5x?x8xf32>) -> tensor<1x3x?x8xf32> {
  // expected-error @below {{'attn.attention' op expected a static number of key heads to lower to linalg, key has type 'tensor<1x5x?x8xf32>'}}
  %o = attn.attention %q, %k, %k : (tensor<1x3x?x8xf32>, tensor<1x5x?x8xf32>, tensor<1x5x?x8xf32>) -> tensor<1x3x?x8xf32>
  return %o : tensor<1x3x?x8xf32>
}

// -----

func.func @dynamic_value_heads(%q: tensor<1x3x2x8xf32>, %v: tensor<1x3x?x8xf32>) -> tensor<1x3x?x8xf32> {
  // expected-error @below {{'attn.linear_attention' op expected a static number of value heads to lower to linalg, value has type 'tensor<1x3x?x8xf32>'}}
  %o, %s = attn.linear_attention linear %q, %q, %v
      : (tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x?x8xf32>) -> (tensor<1x3x?x8xf32>, tensor<1x?x8x8xf32>)
  return %o : tensor<1x3x?x8xf32>
}

// -----

func.func @latent_channels(%q: tensor<?x?x4x32xf32>, %c: tensor<?x?x?xf32>, %up: tensor<?x64xf32>) -> tensor<?x?x4x?xf32> {
  // expected-error @below {{'attn.latent_attention' op expected a static number of channels of output to lower to linalg, query_nope has type 'tensor<?x?x4x32xf32>' and kv_up 'tensor<?x64xf32>'}}
  %o = attn.latent_attention %q, %c, %up : (tensor<?x?x4x32xf32>, tensor<?x?x?xf32>, tensor<?x64xf32>) -> tensor<?x?x4x?xf32>
  return %o : tensor<?x?x4x?xf32>
}
