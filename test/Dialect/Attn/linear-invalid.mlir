// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @no_decay(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected operand decay with rule gated}}
  %0:2 = attn.linear_attention gated %q, %k, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @extra_decay(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected no operand decay with rule linear}}
  %0:2 = attn.linear_attention linear %q, %k, %v decay(%g : tensor<?x?x2xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @no_beta(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected operand beta with rule gated_delta}}
  %0:2 = attn.linear_attention gated_delta %q, %k, %v decay(%g : tensor<?x?x2xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @extra_beta(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected no operand beta with rule gated}}
  %0:2 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x?x2xf32>) beta(%g : tensor<?x?x2xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @normalize_delta(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected normalize only with rule linear, got delta}}
  %0:3 = attn.linear_attention delta %q, %k, %v beta(%g : tensor<?x?x2xf32>) {normalize, eps = 1.0e-6 : f64}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>, tensor<?x2x16xf32>)
  return
}

// -----

func.func @non_causal(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected non_causal only with rule linear, got gated}}
  %0:2 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x?x2xf32>) {non_causal}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @no_eps(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected attribute eps, as normalize is set}}
  %0:3 = attn.linear_attention linear %q, %k, %v {normalize}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>, tensor<?x2x16xf32>)
  return
}

// -----

func.func @eps_alone(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected attribute eps only with normalize}}
  %0:2 = attn.linear_attention linear %q, %k, %v {eps = 1.0e-6 : f64}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @eps_zero(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected a finite eps > 0, got 0}}
  %0:3 = attn.linear_attention linear %q, %k, %v {normalize, eps = 0.0 : f64}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>, tensor<?x2x16xf32>)
  return
}

// -----

func.func @normalizer_alone(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %z: tensor<?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected operand initial_normalizer only with normalize}}
  %0:2 = attn.linear_attention linear %q, %k, %v initial_normalizer(%z : tensor<?x2x16xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @pool_of_normalizers(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %s: tensor<?x2x16x16xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{'attn.linear_attention' op expected operand initial_normalizer, as there are slots}}
  %0:3 = attn.linear_attention linear %q, %k, %v initial_state(%s : tensor<?x2x16x16xf32>) slots(%n : tensor<?xi32>) {normalize, eps = 1.0e-6 : f64}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>, tensor<?x2x16xf32>)
  return
}

// -----

func.func @slots_alone(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{'attn.linear_attention' op expected operand initial_state, as there are slots}}
  %0:2 = attn.linear_attention linear %q, %k, %v slots(%n : tensor<?xi32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @value_heads(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x3x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected value heads (3) to be a multiple of key heads (2)}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x3x16xf32>) -> (tensor<?x?x3x16xf32>, tensor<?x3x16x16xf32>)
  return
}

// -----

func.func @query_heads(%q: tensor<?x?x3x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected query heads (3) to equal key heads (2) or to be a multiple of value heads (2)}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x3x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x3x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @no_heads(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x0x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected at least one value head, got 0}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x0x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x0x16x16xf32>)
  return
}

// -----

// expected-note @below {{query has type}}
func.func @key_dim(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x8xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 3 of key (8) to equal dimension 3 of query (16)}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @scale(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected a finite scale, got inf}}
  %0:2 = attn.linear_attention linear %q, %k, %v {scale = 0x7FF0000000000000 : f64}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @dynamic_dim(%q: tensor<?x?x2x?xf32>, %k: tensor<?x?x2x?xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected attribute scale, as dimension 3 of query is dynamic}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x?xf32>, tensor<?x?x2x?xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x?x16xf32>)
  return
}

// -----

// expected-note @below {{key has type}}
func.func @decay_channels(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x2x8xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 3 of decay (8) to equal dimension 3 of key (16)}}
  %0:2 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x?x2x8xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

// expected-note @below {{value has type}}
func.func @decay_heads(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 0 of decay (3) to equal dimension 2 of value (2)}}
  %0:2 = attn.linear_attention gated %q, %k, %v decay(%g : tensor<3xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

// expected-note @below {{value has type}}
func.func @beta_heads(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %g: tensor<?x?x3xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 2 of beta (3) to equal dimension 2 of value (2)}}
  %0:2 = attn.linear_attention delta %q, %k, %v beta(%g : tensor<?x?x3xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

// expected-note @below {{key has type}}
func.func @state_dim(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %s: tensor<?x2x8x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 2 of initial_state (8) to equal dimension 3 of key (16)}}
  %0:2 = attn.linear_attention linear %q, %k, %v initial_state(%s : tensor<?x2x8x16xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x8x16xf32>)
  return
}

// -----

func.func @state_count(%q: tensor<3x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %s: tensor<4x2x16x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 0 of initial_state (4) to be the number of sequences (3)}}
  %0:2 = attn.linear_attention linear %q, %k, %v initial_state(%s : tensor<4x2x16x16xf32>)
      : (tensor<3x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<3x?x2x16xf32>, tensor<4x2x16x16xf32>)
  return
}

// -----

func.func @packed_batch(%q: tensor<3x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 0 of query (3) to be 1, as there are cu_seqlens}}
  %0:2 = attn.linear_attention linear %q, %k, %v cu_seqlens(%n : tensor<?xi32>)
      : (tensor<3x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<3x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @no_offsets(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %n: tensor<0xi32>) {
  // expected-error @below {{'attn.linear_attention' op expected at least one element of cu_seqlens, got 0}}
  %0:2 = attn.linear_attention linear %q, %k, %v cu_seqlens(%n : tensor<0xi32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @slot_count(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>, %s: tensor<?x2x16x16xf32>, %n: tensor<4xi32>, %m: tensor<4xi32>) {
  // expected-error @below {{'attn.linear_attention' op expected as many slots (4) as sequences (3)}}
  %0:2 = attn.linear_attention linear %q, %k, %v initial_state(%s : tensor<?x2x16x16xf32>) cu_seqlens(%n : tensor<4xi32>) slots(%m : tensor<4xi32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return
}

// -----

func.func @output_type(%q: tensor<?x?x2x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op failed to infer returned types}}
  // expected-error @below {{'attn.linear_attention' op inferred type(s) 'tensor<?x?x2x16xf32>', 'tensor<?x2x16x16xf32>' are incompatible with return type(s) of operation 'tensor<?x?x2x16xf16>', 'tensor<?x2x16x16xf32>'}}
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf16>, tensor<?x2x16x16xf32>)
  return
}

// -----

// expected-note @below {{input has type}}
func.func @conv_channels(%x: tensor<?x?x24xf32>, %w: tensor<23x4xf32>) {
  // expected-error @below {{'attn.short_conv' op expected dimension 0 of weight (23) to equal dimension 2 of input (24)}}
  %0:2 = attn.short_conv %x, %w : (tensor<?x?x24xf32>, tensor<23x4xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x3xf32>)
  return
}

// -----

// expected-note @below {{input has type}}
func.func @conv_bias(%x: tensor<?x?x24xf32>, %w: tensor<24x4xf32>, %b: tensor<23xf32>) {
  // expected-error @below {{'attn.short_conv' op expected dimension 0 of bias (23) to equal dimension 2 of input (24)}}
  %0:2 = attn.short_conv %x, %w bias(%b : tensor<23xf32>) : (tensor<?x?x24xf32>, tensor<24x4xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x3xf32>)
  return
}

// -----

func.func @conv_width(%x: tensor<?x?x24xf32>, %w: tensor<24x?xf32>, %s: tensor<?x24x3xf32>) {
  // expected-error @below {{'attn.short_conv' op expected dimension 1 of weight to be static and at least 1, got ?}}
  %0:2 = attn.short_conv %x, %w initial_state(%s : tensor<?x24x3xf32>) : (tensor<?x?x24xf32>, tensor<24x?xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x3xf32>)
  return
}

// -----

func.func @conv_state(%x: tensor<?x?x24xf32>, %w: tensor<24x4xf32>, %s: tensor<?x24x4xf32>) {
  // expected-error @below {{'attn.short_conv' op expected dimension 2 of initial_state (4) to be one less than dimension 1 of weight (4)}}
  %0:2 = attn.short_conv %x, %w initial_state(%s : tensor<?x24x4xf32>) : (tensor<?x?x24xf32>, tensor<24x4xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x4xf32>)
  return
}

// -----

func.func @conv_slots(%x: tensor<?x?x24xf32>, %w: tensor<24x4xf32>, %n: tensor<?xi32>) {
  // expected-error @below {{'attn.short_conv' op expected operand initial_state, as there are slots}}
  %0:2 = attn.short_conv %x, %w slots(%n : tensor<?xi32>) : (tensor<?x?x24xf32>, tensor<24x4xf32>) -> (tensor<?x?x24xf32>, tensor<?x24x3xf32>)
  return
}

// -----

// expected-note @below {{input has type}}
func.func @gate_heads(%x: tensor<?x?x24xf32>, %a: tensor<23xf32>, %b: tensor<24xf32>) {
  // expected-error @below {{'attn.decay_gate' op expected dimension 0 of a_log (23) to equal dimension 2 of input (24)}}
  %0 = attn.decay_gate %x, %a, %b : tensor<?x?x24xf32>, tensor<23xf32>, tensor<24xf32> -> tensor<?x?x24xf32>
  return
}

// -----

// expected-note @below {{input has type}}
func.func @gate_bias(%x: tensor<?x?x24xf32>, %a: tensor<24xf32>, %b: tensor<25xf32>) {
  // expected-error @below {{'attn.decay_gate' op expected dimension 0 of dt_bias (25) to equal dimension 2 of input (24)}}
  %0 = attn.decay_gate %x, %a, %b : tensor<?x?x24xf32>, tensor<24xf32>, tensor<25xf32> -> tensor<?x?x24xf32>
  return
}

// -----

func.func @gate_rank(%x: tensor<24xf32>, %a: tensor<24xf32>, %b: tensor<24x24xf32>) {
  // expected-error @below {{'attn.decay_gate' op expected input to have at least the rank of dt_bias (2), got 1}}
  %0 = attn.decay_gate %x, %a, %b : tensor<24xf32>, tensor<24xf32>, tensor<24x24xf32> -> tensor<24xf32>
  return
}

// -----

func.func @gate_bound(%x: tensor<?x?x24xf32>, %a: tensor<24xf32>) {
  // expected-error @below {{'attn.decay_gate' op expected a finite lower_bound < 0, got 5}}
  %0 = attn.decay_gate %x, %a, %a {lower_bound = 5.0 : f64} : tensor<?x?x24xf32>, tensor<24xf32>, tensor<24xf32> -> tensor<?x?x24xf32>
  return
}

// -----

func.func @norm_gate(%x: tensor<?x?x24xf32>, %w: tensor<24xf32>) {
  // expected-error @below {{'attn.gated_rms_norm' op expected silu or sigmoid, got gelu}}
  %0 = attn.gated_rms_norm gelu %x, %x, %w {eps = 1.0e-6 : f64} : tensor<?x?x24xf32>, tensor<24xf32>
  return
}

// -----

// expected-note @below {{input has type}}
func.func @norm_width(%x: tensor<?x?x24xf32>, %w: tensor<23xf32>) {
  // expected-error @below {{'attn.gated_rms_norm' op expected dimension 0 of weight (23) to equal dimension 2 of input (24)}}
  %0 = attn.gated_rms_norm silu %x, %x, %w {eps = 1.0e-6 : f64} : tensor<?x?x24xf32>, tensor<23xf32>
  return
}

// -----

func.func @l2_eps(%x: tensor<?x?x24xf32>) {
  // expected-error @below {{'attn.l2_norm' op expected a finite eps >= 0, got -1}}
  %0 = attn.l2_norm %x {eps = -1.0 : f64} : tensor<?x?x24xf32>
  return
}

// -----

func.func @features(%x: tensor<?x?xf32>) {
  // expected-error @below {{'attn.softmax_features' op failed to infer returned types}}
  // expected-error @below {{expected a static last dimension of input, got type 'tensor<?x?xf32>'}}
  %0 = attn.softmax_features %x : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @no_channels(%x: tensor<?x?x0xf32>, %w: tensor<0x4xf32>) {
  // expected-error @below {{'attn.short_conv' op expected at least one channel, got 0}}
  %0:2 = attn.short_conv %x, %w : (tensor<?x?x0xf32>, tensor<0x4xf32>) -> (tensor<?x?x0xf32>, tensor<?x0x3xf32>)
  return
}

// -----

func.func @no_value_dim(%q: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x0xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 3 of value to be positive, got 0}}
  %0:2 = attn.linear_attention linear %q, %q, %v
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x0xf32>) -> (tensor<?x?x2x0xf32>, tensor<?x2x16x0xf32>)
  return
}

// -----

func.func @no_key_dim(%q: tensor<?x?x2x0xf32>, %v: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.linear_attention' op expected dimension 3 of query to be positive, got 0}}
  %0:2 = attn.linear_attention linear %q, %q, %v {scale = 1.0 : f64}
      : (tensor<?x?x2x0xf32>, tensor<?x?x2x0xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x0x16xf32>)
  return
}
