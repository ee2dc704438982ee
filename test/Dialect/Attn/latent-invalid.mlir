// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @batch(%q: tensor<2x3x4x32xf32>, %c: tensor<3x5x64xf32>, %up: tensor<224x64xf32>) { // expected-note {{query_nope has type 'tensor<2x3x4x32xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected dimension 0 of latent (3) to equal dimension 0 of query_nope (2)}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x4x32xf32>, tensor<3x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @rank(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x48xf32>, %up: tensor<224x64xf32>) { // expected-note {{kv_up has type 'tensor<224x64xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected dimension 2 of latent (48) to equal dimension 1 of kv_up (64)}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x4x32xf32>, tensor<2x5x48xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @rows(%q: tensor<2x3x4x32xf32>, %qr: tensor<2x3x4x16xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected dimension 2 of latent (64) to be 64 channels of kv_up and 16 of query_rope, as there is no key_rope}}
  %o = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<2x3x4x16xf32>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @heads(%q: tensor<2x3x3x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected rows of kv_up (224) to be a multiple of heads (3)}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x3x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x3x24xf32>
  return
}

// -----

func.func @values(%q: tensor<2x3x4x56xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected more rows of kv_up for a head (56) than query_nope has channels (56)}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x4x56xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x1xf32>
  return
}

// -----

func.func @no_query_rope(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %kr: tensor<2x5x16xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected operand query_rope, as there is key_rope}}
  %o = attn.latent_attention %q, %c, %up key_rope(%kr : tensor<2x5x16xf32>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @rope_heads(%q: tensor<2x3x4x32xf32>, %qr: tensor<2x3x1x16xf32>, %c: tensor<2x5x80xf32>, %up: tensor<224x64xf32>) { // expected-note {{query_nope has type 'tensor<2x3x4x32xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected dimension 2 of query_rope (1) to equal dimension 2 of query_nope (4)}}
  %o = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<2x3x1x16xf32>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x80xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @rope_width(%q: tensor<2x3x4x32xf32>, %qr: tensor<2x3x4x16xf32>, %c: tensor<2x5x64xf32>, %kr: tensor<2x5x8xf32>, %up: tensor<224x64xf32>) { // expected-note {{query_rope has type 'tensor<2x3x4x16xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected dimension 2 of key_rope (8) to equal dimension 3 of query_rope (16)}}
  %o = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<2x3x4x16xf32>) key_rope(%kr : tensor<2x5x8xf32>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @elements(%q: tensor<2x3x4x32xf32>, %qr: tensor<2x3x4x16xf16>, %c: tensor<2x5x80xf32>, %up: tensor<224x64xf32>) { // expected-note {{query_nope has type 'tensor<2x3x4x32xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected the element type of query_rope ('f16') to be that of query_nope ('f32')}}
  %o = attn.latent_attention %q, %c, %up query_rope(%qr : tensor<2x3x4x16xf16>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x80xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @indices(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>, %i: tensor<2x1x8xi32>) { // expected-note {{query_nope has type 'tensor<2x3x4x32xf32>'}}
  // expected-error @below {{'attn.latent_attention' op expected dimension 1 of indices (1) to equal dimension 1 of query_nope (3)}}
  %o = attn.latent_attention %q, %c, %up indices(%i : tensor<2x1x8xi32>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @scale(%q: tensor<2x3x4x?xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected attribute scale, as dimension 3 of query_nope is dynamic}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x4x?xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @scale_value(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected a finite scale, got inf}}
  %o = attn.latent_attention %q, %c, %up {scale = 0x7FF0000000000000 : f64} : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @output(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @+2 {{'attn.latent_attention' op inferred type(s) 'tensor<2x3x4x24xf32>' are incompatible with return type(s) of operation 'tensor<2x3x4x32xf32>'}}
  // expected-error @below {{'attn.latent_attention' op failed to infer returned types}}
  %o = attn.latent_attention %q, %c, %up : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x32xf32>
  return
}

// -----

func.func @index_key(%q: tensor<2x3x8x32xf32>, %k: tensor<2x5x16xf32>, %w: tensor<2x3x8xf32>) { // expected-note {{query has type 'tensor<2x3x8x32xf32>'}}
  // expected-error @below {{'attn.lightning_indexer' op expected dimension 2 of key (16) to equal dimension 3 of query (32)}}
  %s = attn.lightning_indexer %q, %k, %w : (tensor<2x3x8x32xf32>, tensor<2x5x16xf32>, tensor<2x3x8xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @index_weights(%q: tensor<2x3x8x32xf32>, %k: tensor<2x5x32xf32>, %w: tensor<2x3x4xf32>) { // expected-note {{query has type 'tensor<2x3x8x32xf32>'}}
  // expected-error @below {{'attn.lightning_indexer' op expected dimension 2 of weights (4) to equal dimension 2 of query (8)}}
  %s = attn.lightning_indexer %q, %k, %w : (tensor<2x3x8x32xf32>, tensor<2x5x32xf32>, tensor<2x3x4xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @none(%s: tensor<2x3x5xf32>) {
  // expected-error @below {{'attn.top_k' op expected k >= 1, got 0}}
  %i = attn.top_k %s {k = 0} : tensor<2x3x5xf32> -> tensor<2x3x0xi32>
  return
}

// -----

func.func @forms(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>) {
  // expected-error @below {{'attn.latent_attention' op expected at most one of expanded and absorbed}}
  %o = attn.latent_attention %q, %c, %up {absorbed, expanded} : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @mask(%q: tensor<2x3x4x32xf32>, %c: tensor<2x5x64xf32>, %up: tensor<224x64xf32>, %m: tensor<2x1x1x3xi1>) {
  // expected-error @below {{'attn.latent_attention' op expected dimension 3 of mask (3) to be 1 or 5}}
  %o = attn.latent_attention %q, %c, %up mask(%m : tensor<2x1x1x3xi1>)
      : (tensor<2x3x4x32xf32>, tensor<2x5x64xf32>, tensor<224x64xf32>) -> tensor<2x3x4x24xf32>
  return
}

// -----

func.func @index_mask(%q: tensor<2x3x8x32xf32>, %k: tensor<2x5x32xf32>, %w: tensor<2x3x8xf32>, %m: tensor<2x1x4x5xi1>) {
  // expected-error @below {{'attn.lightning_indexer' op expected dimension 2 of mask (4) to be 1 or 3}}
  %s = attn.lightning_indexer %q, %k, %w mask(%m : tensor<2x1x4x5xi1>) : (tensor<2x3x8x32xf32>, tensor<2x5x32xf32>, tensor<2x3x8xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @index_mask_heads(%q: tensor<2x3x8x32xf32>, %k: tensor<2x5x32xf32>, %w: tensor<2x3x8xf32>, %m: tensor<2x?x3x5xi1>) {
  // expected-error @below {{'attn.lightning_indexer' op expected dimension 1 of mask to be a static 1, as heads share their scores}}
  %s = attn.lightning_indexer %q, %k, %w mask(%m : tensor<2x?x3x5xi1>) : (tensor<2x3x8x32xf32>, tensor<2x5x32xf32>, tensor<2x3x8xf32>) -> tensor<2x3x5xf32>
  return
}
