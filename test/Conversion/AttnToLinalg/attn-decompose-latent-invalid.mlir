// RUN: heddle-opt %s --split-input-file --attn-decompose-latent=require-kernels --verify-diagnostics

func.func @lists(%q: tensor<?x?x4x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<224x64xf32>, %i: tensor<?x?x8xi32>) -> tensor<?x?x4x24xf32> {
  // expected-error @below {{'attn.latent_attention' op with indices has no GPU kernel; expected attention to all keys that kv_len and causal leave}}
  %o = attn.latent_attention %q, %c, %up indices(%i : tensor<?x?x8xi32>)
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x4x24xf32>
  return %o : tensor<?x?x4x24xf32>
}

// -----

func.func @heads(%q: tensor<?x?x?x32xf32>, %c: tensor<?x?x64xf32>, %up: tensor<224x64xf32>) -> tensor<?x?x?x?xf32> {
  // expected-error @below {{'attn.latent_attention' op expected a static number of heads to lower to linalg, query_nope has type 'tensor<?x?x?x32xf32>' and kv_up 'tensor<224x64xf32>'}}
  %o = attn.latent_attention %q, %c, %up : (tensor<?x?x?x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x?x?x?xf32>
  return %o : tensor<?x?x?x?xf32>
}
