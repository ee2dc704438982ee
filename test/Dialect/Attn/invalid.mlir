// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @rms_weight(%x: tensor<?x96xf32>, %w: tensor<64xf32>) { // expected-note {{input has type 'tensor<?x96xf32>'}}
  // expected-error @below {{'attn.rms_norm' op expected dimension 0 of weight (64) to equal dimension 1 of input (96)}}
  %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x96xf32>, tensor<64xf32>
  return
}

// -----

func.func @rms_eps(%x: tensor<?x96xf32>, %w: tensor<96xf32>) {
  // expected-error @below {{'attn.rms_norm' op expected a finite eps >= 0, got -1e-05}}
  %y = attn.rms_norm %x, %w {eps = -1.0e-5 : f64} : tensor<?x96xf32>, tensor<96xf32>
  return
}

// -----

func.func @rms_element(%x: tensor<?x96xi32>, %w: tensor<96xf32>) {
  // expected-error @below {{'attn.rms_norm' op operand #0 must be 1D/2D/3D/4D/5D/6D/7D/8D tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<?x96xi32>'}}
  %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x96xi32>, tensor<96xf32>
  return
}

// -----

func.func @layer_bias(%x: tensor<?x96xf32>, %w: tensor<96xf32>, %b: tensor<1xf32>) { // expected-note {{input has type 'tensor<?x96xf32>'}}
  // expected-error @below {{'attn.layer_norm' op expected dimension 0 of bias (1) to equal dimension 1 of input (96)}}
  %y = attn.layer_norm %x, %w bias(%b : tensor<1xf32>) {eps = 1.0e-5 : f64} : tensor<?x96xf32>, tensor<96xf32>
  return
}

// -----

func.func @glu_limit(%x: tensor<?x96xf32>) {
  // expected-error @below {{'attn.glu' op expected limit only with gpt_oss, got swiglu}}
  %y = attn.glu swiglu %x, %x {limit = 7.0 : f64} : tensor<?x96xf32>
  return
}

// -----

func.func @glu_limit_value(%x: tensor<?x96xf32>) {
  // expected-error @below {{'attn.glu' op expected a finite limit > 0, got -7}}
  %y = attn.glu gpt_oss %x, %x {limit = -7.0 : f64} : tensor<?x96xf32>
  return
}

// -----

func.func @append_heads(%c: tensor<2x16x2x8xf32>, %k: tensor<2x3x4x8xf32>, %start: tensor<2xi32>) { // expected-note {{key_cache has type 'tensor<2x16x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 2 of key (4) to equal dimension 2 of key_cache (2)}}
  %a, %b = attn.kv_append %c, %c, %k, %k, %start : (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2xi32>) -> (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>)
  return
}

// -----

func.func @append_start(%c: tensor<2x16x2x8xf32>, %k: tensor<2x3x2x8xf32>, %start: tensor<3xi32>) { // expected-note {{key_cache has type 'tensor<2x16x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 0 of start (3) to equal dimension 0 of key_cache (2)}}
  %a, %b = attn.kv_append %c, %c, %k, %k, %start : (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<3xi32>) -> (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>)
  return
}

// -----

func.func @append_capacity(%c: tensor<2x16x2x8xf32>, %k: tensor<2x17x2x8xf32>, %start: tensor<2xi32>) {
  // expected-error @below {{'attn.kv_append' op expected at most as many new rows (17) as the cache has rows (16)}}
  %a, %b = attn.kv_append %c, %c, %k, %k, %start : (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x17x2x8xf32>, tensor<2x17x2x8xf32>, tensor<2xi32>) -> (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>)
  return
}

// -----

func.func @append_result(%c: tensor<2x16x2x8xf32>, %k: tensor<2x1x2x8xf32>, %start: tensor<2xi32>) {
  // expected-error @below {{'attn.kv_append' op failed to verify that all of {key_cache, updated_key_cache} have same type}}
  %a, %b = attn.kv_append %c, %c, %k, %k, %start : (tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x1x2x8xf32>, tensor<2x1x2x8xf32>, tensor<2xi32>) -> (tensor<2x17x2x8xf32>, tensor<2x16x2x8xf32>)
  return
}

// -----

func.func @paged_pages(%kc: tensor<9x5x2x8xf32>, %vc: tensor<8x5x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>, %start: tensor<2xi32>, %t: tensor<2x4xi32>) { // expected-note {{key_cache has type 'tensor<9x5x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 0 of value_cache (8) to equal dimension 0 of key_cache (9)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<8x5x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<8x5x2x8xf32>)
  return
}

// -----

func.func @paged_page_size(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x6x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>, %start: tensor<2xi32>, %t: tensor<2x4xi32>) { // expected-note {{key_cache has type 'tensor<9x5x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 1 of value_cache (6) to equal dimension 1 of key_cache (5)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x6x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x6x2x8xf32>)
  return
}

// -----

func.func @paged_head_dim(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x3x2x16xf32>, %v: tensor<2x3x2x16xf32>, %start: tensor<2xi32>, %t: tensor<2x4xi32>) { // expected-note {{key_cache has type 'tensor<9x5x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 3 of key (16) to equal dimension 3 of key_cache (8)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x3x2x16xf32>, tensor<2x3x2x16xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @paged_value_batch(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<3x3x2x8xf32>, %start: tensor<2xi32>, %t: tensor<2x4xi32>) { // expected-note {{key has type 'tensor<2x3x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 0 of value (3) to equal dimension 0 of key (2)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x3x2x8xf32>, tensor<3x3x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @paged_start(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>, %start: tensor<9xi32>, %t: tensor<2x4xi32>) { // expected-note {{key has type 'tensor<2x3x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 0 of start (9) to equal dimension 0 of key (2)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<9xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @paged_table(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>, %start: tensor<2xi32>, %t: tensor<3x4xi32>) { // expected-note {{key has type 'tensor<2x3x2x8xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 0 of block_table (3) to equal dimension 0 of key (2)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<3x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @paged_table_type(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>, %start: tensor<2xi32>, %t: tensor<8xi32>) {
  // expected-error @below {{'attn.kv_append' op operand #5 must be 2D tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<8xi32>'}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<8xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @paged_rows(%kc: tensor<9x5x2x8xf32>, %vc: tensor<9x5x2x8xf32>, %k: tensor<2x21x2x8xf32>, %v: tensor<2x21x2x8xf32>, %start: tensor<2xi32>, %t: tensor<2x4xi32>) {
  // expected-error @below {{'attn.kv_append' op expected at most as many new rows (21) as 4 pages of 5 rows hold (20)}}
  %a, %b = attn.kv_append %kc, %vc, %k, %v, %start block_table(%t : tensor<2x4xi32>) : (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>, tensor<2x21x2x8xf32>, tensor<2x21x2x8xf32>, tensor<2xi32>) -> (tensor<9x5x2x8xf32>, tensor<9x5x2x8xf32>)
  return
}

// -----

func.func @placeholder(%ok: i1, %a: index) {
  // expected-error @below {{'attn.require' op expected placeholder {1} to be below the number of values (1)}}
  attn.require %ok, "extent {0}, not {1}" (%a : index)
  return
}

// -----

func.func @values(%ok: i1, %a: index) {
  // expected-error @below {{'attn.require' op expected at most 8 values, got 9}}
  attn.require %ok, "many" (%a, %a, %a, %a, %a, %a, %a, %a, %a : index, index, index, index, index, index, index, index, index)
  return
}
