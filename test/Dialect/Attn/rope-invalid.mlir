// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @neither(%x: tensor<2x5x8x64xf32>, %p: tensor<2x5xi32>) {
  // expected-error @below {{'attn.rope' op expected exactly one of theta and inv_freq, got neither}}
  %y = attn.rope %x, %p : tensor<2x5x8x64xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @both(%x: tensor<2x5x8x64xf32>, %p: tensor<2x5xi32>, %f: tensor<32xf32>) {
  // expected-error @below {{'attn.rope' op expected exactly one of theta and inv_freq, got both}}
  %y = attn.rope %x, %p inv_freq(%f : tensor<32xf32>) {theta = 1.0e4 : f64} : tensor<2x5x8x64xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @odd(%x: tensor<2x5x8x64xf32>, %p: tensor<2x5xi32>) {
  // expected-error @below {{'attn.rope' op expected rotary_dim to be even and > 0, got 7}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, rotary_dim = 7 : i64} : tensor<2x5x8x64xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @too_many(%x: tensor<2x5x8x64xf32>, %p: tensor<2x5xi32>) {
  // expected-error @below {{'attn.rope' op expected rotary_dim (66) to be at most dimension 3 of input (64)}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, rotary_dim = 66 : i64} : tensor<2x5x8x64xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @dynamic_dim(%x: tensor<2x5x8x?xf32>, %p: tensor<2x5xi32>) {
  // expected-error @below {{'attn.rope' op expected attribute rotary_dim, as dimension 3 of input is dynamic}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64} : tensor<2x5x8x?xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @positions(%x: tensor<2x5x8x64xf32>, %p: tensor<6xi32>) { // expected-note {{input has type 'tensor<2x5x8x64xf32>'}}
  // expected-error @below {{'attn.rope' op expected dimension 0 of positions (6) to equal dimension 1 of input (5)}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64} : tensor<2x5x8x64xf32>, tensor<6xi32>
  return
}

// -----

func.func @frequencies(%x: tensor<2x5x8x64xf32>, %p: tensor<5xi32>, %f: tensor<64xf32>) {
  // expected-error @below {{'attn.rope' op expected inv_freq to have 32 elements (rotary_dim / 2), got 64}}
  %y = attn.rope %x, %p inv_freq(%f : tensor<64xf32>) : tensor<2x5x8x64xf32>, tensor<5xi32>
  return
}

// -----

func.func @theta(%x: tensor<2x5x8x64xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'attn.rope' op expected a finite theta > 1, got 0.5}}
  %y = attn.rope %x, %p {theta = 0.5 : f64} : tensor<2x5x8x64xf32>, tensor<5xi32>
  return
}

// -----

func.func @attention_factor(%x: tensor<2x5x8x64xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'attn.rope' op expected a finite attention_factor > 0, got -1}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, attention_factor = -1.0 : f64} : tensor<2x5x8x64xf32>, tensor<5xi32>
  return
}

// -----

func.func @length(%x: tensor<2x5x8x64xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'attn.rope' op expected length >= 0, got -1}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, length = -1 : i64} : tensor<2x5x8x64xf32>, tensor<5xi32>
  return
}

// -----

func.func @long_lists(%x: tensor<2x5x8x8xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'attn.rope' op expected long_factor to have 4 elements (rotary_dim / 2), got 3}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, scaling = #attn.rope_longrope<short_factor = [1.0, 1.0, 1.0, 1.0], long_factor = [1.0, 1.0, 1.0], factor = 2.0, original_max_position = 64>} : tensor<2x5x8x8xf32>, tensor<5xi32>
  return
}

// -----

func.func @dynamic_pairs(%x: tensor<2x5x8x2xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'attn.rope' op expected rotary_dim > 2 for rope_dynamic, got 2}}
  %y = attn.rope %x, %p {theta = 1.0e4 : f64, scaling = #attn.rope_dynamic<factor = 2.0, max_position = 64>} : tensor<2x5x8x2xf32>, tensor<5xi32>
  return
}

// -----

// expected-error @below {{expected a finite factor > 0, got 0}}
#linear = #attn.rope_linear<factor = 0.0>

// -----

// expected-error @below {{expected max_position >= 1, got 0}}
#dynamic = #attn.rope_dynamic<factor = 2.0, max_position = 0>

// -----

// expected-error @below {{expected low_freq_factor (4) < high_freq_factor (1)}}
#llama3 = #attn.rope_llama3<factor = 32.0, low_freq_factor = 4.0, high_freq_factor = 1.0, original_max_position = 8192>

// -----

// expected-error @below {{expected beta_fast (1) >= beta_slow (32)}}
#yarn = #attn.rope_yarn<factor = 32.0, original_max_position = 4096, beta_fast = 1.0, beta_slow = 32.0, truncate = true>

// -----

// expected-error @below {{expected a finite short_factor > 0, got -1}}
#longrope = #attn.rope_longrope<short_factor = [-1.0], long_factor = [1.0], factor = 2.0, original_max_position = 64>

// -----

// expected-error @below {{expected fraction <= 1, got 1.5}}
#proportional = #attn.rope_proportional<factor = 1.0, fraction = 1.5>
