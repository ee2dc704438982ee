// RUN: heddle-opt %s --split-input-file --attn-to-tile='chip=sm_80 require-kernels' --verify-diagnostics
// RUN: heddle-opt %s --split-input-file --attn-to-tile=chip=sm_80 | FileCheck %s

// Without the option they stay for the reference.
// CHECK-COUNT-5: attn.attention

func.func @packed(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?xi32>) -> tensor<?x?x4x16xf32> {
  // expected-error @below {{'attn.attention' op with cu_seqlens_q has no GPU kernel; expected a padded batch with kv_len}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%n : tensor<?xi32>) cu_seqlens_k(%n : tensor<?xi32>)  : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

func.func @lists(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?x?x?xi32>) -> tensor<?x?x4x16xf32> {
  // expected-error @below {{'attn.attention' op with indices has no GPU kernel; expected a mask}}
  %o = attn.attention %q, %k, %k indices(%n : tensor<?x?x?xi32>)  : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

func.func @blocks(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?x2x?x?xi32>) -> tensor<?x?x4x16xf32> {
  // expected-error @below {{'attn.attention' op with block_indices has no GPU kernel; expected a mask}}
  %o = attn.attention %q, %k, %k block_indices(%n : tensor<?x2x?x?xi32>) {block_size = array<i64: 64, 64>} : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

func.func @ids(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %n: tensor<?xi32>) -> tensor<?x?x4x16xf32> {
  // expected-error @below {{'attn.attention' op with global_ids has no GPU kernel; expected global_keys, or a mask}}
  %o = attn.attention %q, %k, %k global_ids(%n : tensor<?xi32>) {window = array<i64: 4, 4>} : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

func.func @chunk(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32> {
  // expected-error @below {{'attn.attention' op with attention_chunk has no GPU kernel; expected a score region or a mask}}
  %o = attn.attention %q, %k, %k  {causal, attention_chunk = 64} : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}

// -----

func.func @slots(%c: tensor<?x16x2x16xf32>, %k: tensor<1x?x2x16xf32>, %s: tensor<1x?xi32>) -> (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>) {
  // expected-error @below {{'attn.kv_append' op with slots has no GPU kernel; expected start and a block_table}}
  %a, %b = attn.kv_append %c, %c, %k, %k slots(%s : tensor<1x?xi32>)
    : (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>)
  return %a, %b : tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>
}

// -----

func.func @recurrence(%q: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32> {
  // expected-error @+1 {{'attn.linear_attention' op has no GPU kernel; expected target cpu}}
  %0:2 = attn.linear_attention linear %q, %q, %v : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>)
      -> (tensor<?x?x2x16xf32>, tensor<?x2x16x16xf32>)
  return %0#0 : tensor<?x?x2x16xf32>
}

// -----

func.func @convolution(%x: tensor<?x?x8xf32>, %w: tensor<8x4xf32>) -> tensor<?x?x8xf32> {
  // expected-error @+1 {{'attn.short_conv' op has no GPU kernel; expected target cpu}}
  %0:2 = attn.short_conv %x, %w : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> (tensor<?x?x8xf32>, tensor<?x8x3xf32>)
  return %0#0 : tensor<?x?x8xf32>
}

// -----

func.func @experts(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %g: tensor<4x24x40xf32>, %d: tensor<4x40x24xf32>) -> tensor<?x?x40xf32> {
  // expected-error @+1 {{'attn.experts' op has no GPU kernel; expected target cpu}}
  %0 = attn.experts swiglu %x, %i, %w gate(%g : tensor<4x24x40xf32>) up(%g : tensor<4x24x40xf32>) down(%d : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return %0 : tensor<?x?x40xf32>
}

// -----

func.func @sinkhorn(%l: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  // expected-error @+1 {{'attn.sinkhorn' op has no GPU kernel; expected target cpu}}
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64} : tensor<?x4x4xf32>
  return %0 : tensor<?x4x4xf32>
}

// -----

func.func @maps(%x: tensor<?x?x2x8xf32>, %p: tensor<8x16xf32>, %s: tensor<3xf32>, %b: tensor<8xf32>) -> tensor<?x?x2xf32> {
  // expected-error @+1 {{'attn.stream_maps' op has no GPU kernel; expected target cpu}}
  %pre, %post, %mix = attn.stream_maps mhc %x, %p, %s, %b {rounds = 20 : i64, norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xf32>, tensor<8x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  return %pre : tensor<?x?x2xf32>
}

// -----

func.func @patterns(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{'attn.pattern_scores' op has no GPU kernel; expected target cpu}}
  %0 = attn.pattern_scores [sink] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return %0 : tensor<?x6xf32>
}
