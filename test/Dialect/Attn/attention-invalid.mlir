// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @heads(%q: tensor<?x?x10x64xf32>, %k: tensor<?x?x4x64xf32>) { // expected-note {{key has type 'tensor<?x?x4x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected query heads (10) to be a multiple of key heads (4)}}
  %o = attn.attention %q, %k, %k : (tensor<?x?x10x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x10x64xf32>
  return
}

// -----

func.func @no_key_head(%q: tensor<?x?x10x64xf32>, %k: tensor<?x?x0x64xf32>) {
  // expected-error @below {{'attn.attention' op expected at least one key head, got 0}}
  %o = attn.attention %q, %k, %k : (tensor<?x?x10x64xf32>, tensor<?x?x0x64xf32>, tensor<?x?x0x64xf32>) -> tensor<?x?x10x64xf32>
  return
}

// -----

func.func @key_dim(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x4x32xf32>) { // expected-note {{query has type 'tensor<?x?x8x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 3 of key (32) to equal dimension 3 of query (64)}}
  %o = attn.attention %q, %k, %k : (tensor<?x?x8x64xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>) -> tensor<?x?x8x32xf32>
  return
}

// -----

func.func @keys(%q: tensor<?x?x8x64xf32>, %k: tensor<?x7x4x64xf32>, %v: tensor<?x9x4x64xf32>) { // expected-note {{key has type 'tensor<?x7x4x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 1 of value (9) to equal dimension 1 of key (7)}}
  %o = attn.attention %q, %k, %v : (tensor<?x?x8x64xf32>, tensor<?x7x4x64xf32>, tensor<?x9x4x64xf32>) -> tensor<?x?x8x64xf32>
  return
}

// -----

func.func @rank(%q: tensor<?x8x64xf32>, %k: tensor<?x?x4x64xf32>) {
  // expected-error @below {{'attn.attention' op operand #0 must be 4D tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<?x8x64xf32>'}}
  %o = "attn.attention"(%q, %k, %k) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}> : (tensor<?x8x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x8x64xf32>
  return
}

// -----

func.func @result(%q: tensor<?x5x8x64xf32>, %k: tensor<?x?x4x64xf32>) {
  // expected-error @below {{'attn.attention' op inferred type(s) 'tensor<?x5x8x64xf32>' are incompatible with return type(s) of operation 'tensor<?x6x8x64xf32>'}}
  // expected-error @below {{'attn.attention' op failed to infer returned types}}
  %o = attn.attention %q, %k, %k : (tensor<?x5x8x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x6x8x64xf32>
  return
}

// -----

func.func @window_size(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected window to have 2 values (left, right), got 1}}
  %o = attn.attention %q, %q, %q {window = array<i64: 3>} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

func.func @window_value(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected the right value of window to be >= -1, got -2}}
  %o = attn.attention %q, %q, %q {window = array<i64: 3, -2>} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

func.func @softcap(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite softcap > 0, got 0}}
  %o = attn.attention %q, %q, %q {softcap = 0.0 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

func.func @scale(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite scale, got inf}}
  %o = attn.attention %q, %q, %q {scale = 0x7FF0000000000000 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

func.func @no_scale(%q: tensor<1x5x8x?xf32>) {
  // expected-error @below {{'attn.attention' op expected attribute scale, as dimension 3 of query is dynamic}}
  %o = attn.attention %q, %q, %q : (tensor<1x5x8x?xf32>, tensor<1x5x8x?xf32>, tensor<1x5x8x?xf32>) -> tensor<1x5x8x?xf32>
  return
}

// -----

func.func @bias(%q: tensor<2x5x8x64xf32>, %bias: tensor<2x4x5x5xf32>) {
  // expected-error @below {{'attn.attention' op expected dimension 1 of bias (4) to be 1 or 8}}
  %o = attn.attention %q, %q, %q bias(%bias : tensor<2x4x5x5xf32>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @mask(%q: tensor<2x5x8x64xf32>, %mask: tensor<2x1x5x4xi1>) {
  // expected-error @below {{'attn.attention' op expected dimension 3 of mask (4) to be 1 or 5}}
  %o = attn.attention %q, %q, %q mask(%mask : tensor<2x1x5x4xi1>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @sinks(%q: tensor<2x5x8x64xf32>, %sinks: tensor<4xf32>) { // expected-note {{query has type 'tensor<2x5x8x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 0 of sinks (4) to equal dimension 2 of query (8)}}
  %o = attn.attention %q, %q, %q sinks(%sinks : tensor<4xf32>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @kv_len(%q: tensor<2x5x8x64xf32>, %n: tensor<3xi32>) { // expected-note {{query has type 'tensor<2x5x8x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 0 of kv_len (3) to equal dimension 0 of query (2)}}
  %o = attn.attention %q, %q, %q kv_len(%n : tensor<3xi32>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @slopes(%q: tensor<2x5x8x64xf32>, %a: tensor<3x8xf32>) { // expected-note {{query has type 'tensor<2x5x8x64xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 0 of alibi_slopes (3) to equal dimension 0 of query (2)}}
  %o = attn.attention %q, %q, %q alibi_slopes(%a : tensor<3x8xf32>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}
