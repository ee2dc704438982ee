// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @k_without_q(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op expected operand cu_seqlens_q, as there are cu_seqlens_k}}
  %o = attn.attention %q, %k, %k cu_seqlens_k(%a : tensor<3xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @q_without_keys(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op expected operand cu_seqlens_k or block_table, as there are cu_seqlens_q}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @packed_and_pages(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>, %t: tensor<2x5xi32>) {
  // expected-error @below {{'attn.attention' op expected cu_seqlens_k or block_table, got both: keys in pages are not packed}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%a : tensor<3xi32>) block_table(%t : tensor<2x5xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @packed_lengths(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op expected no operand kv_len, as cu_seqlens_k gives the lengths}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%a : tensor<3xi32>) kv_len(%n : tensor<2xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @pages_without_lengths(%q: tensor<2x9x4x16xf32>, %k: tensor<7x4x2x16xf32>, %t: tensor<2x5xi32>) {
  // expected-error @below {{'attn.attention' op expected operand kv_len, as there is a block_table}}
  %o = attn.attention %q, %k, %k block_table(%t : tensor<2x5xi32>) : (tensor<2x9x4x16xf32>, tensor<7x4x2x16xf32>, tensor<7x4x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @two_lists(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %a: tensor<2x9x6xi32>, %b: tensor<2x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected indices or block_indices, got both}}
  %o = attn.attention %q, %k, %k indices(%a : tensor<2x9x6xi32>) block_indices(%b : tensor<2x2x3x4xi32>) {block_size = array<i64: 3, 8>} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @packed_blocks(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>, %b: tensor<1x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected no operand cu_seqlens_q, as there are block_indices; indices go with packed sequences}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%a : tensor<3xi32>) block_indices(%b : tensor<1x2x3x4xi32>) {block_size = array<i64: 3, 8>} : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @no_block_size(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %b: tensor<2x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected attribute block_size, as there are block_indices}}
  %o = attn.attention %q, %k, %k block_indices(%b : tensor<2x2x3x4xi32>) : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @only_block_size(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>) {
  // expected-error @below {{'attn.attention' op expected operand block_indices, as there is a block_size}}
  %o = attn.attention %q, %k, %k  {block_size = array<i64: 3, 8>} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @block_size_count(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %b: tensor<2x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected block_size to have 2 values (queries, keys), got 1}}
  %o = attn.attention %q, %k, %k block_indices(%b : tensor<2x2x3x4xi32>) {block_size = array<i64: 3>} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @block_size_value(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %b: tensor<2x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected the keys of block_size to be >= 1, got 0}}
  %o = attn.attention %q, %k, %k block_indices(%b : tensor<2x2x3x4xi32>) {block_size = array<i64: 3, 0>} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @block_count(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %b: tensor<2x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op expected dimension 2 of block_indices (3) to be 2, as 9 queries are in blocks of 8}}
  %o = attn.attention %q, %k, %k block_indices(%b : tensor<2x2x3x4xi32>) {block_size = array<i64: 8, 8>} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @ids_without_window(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %a: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op expected attribute window, which global_ids are outside of}}
  %o = attn.attention %q, %k, %k global_ids(%a : tensor<3xi32>) : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @chunk(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>) {
  // expected-error @below {{'attn.attention' op expected attention_chunk to be >= 1, got 0}}
  %o = attn.attention %q, %k, %k  {attention_chunk = 0} : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @list_and_mask(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %a: tensor<2x9x6xi32>, %m: tensor<1x1x9x20xi1>) {
  // expected-error @below {{'attn.attention' op expected no operand mask, as there are indices; a score region can read captured tensors}}
  %o = attn.attention %q, %k, %k mask(%m : tensor<1x1x9x20xi1>) indices(%a : tensor<2x9x6xi32>) : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @packed_and_bias(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>, %m: tensor<1x1x9x20xf32>) {
  // expected-error @below {{'attn.attention' op expected no operand bias, as there are cu_seqlens_q; a score region can read captured tensors}}
  %o = attn.attention %q, %k, %k bias(%m : tensor<1x1x9x20xf32>) cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%a : tensor<3xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @packed_batch(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %a: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op expected dimension 0 of query (2) to be 1, as there are cu_seqlens_q}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%a : tensor<3xi32>) : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @packed_count(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<3xi32>, %b: tensor<4xi32>) {
  // expected-error @below {{'attn.attention' op expected dimension 0 of cu_seqlens_k (4) to be 3 for 2 sequences}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<3xi32>) cu_seqlens_k(%b : tensor<4xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @no_offsets(%q: tensor<1x9x4x16xf32>, %k: tensor<1x20x2x16xf32>, %a: tensor<0xi32>) {
  // expected-error @below {{'attn.attention' op expected at least one element of cu_seqlens_q, got 0}}
  %o = attn.attention %q, %k, %k cu_seqlens_q(%a : tensor<0xi32>) cu_seqlens_k(%a : tensor<0xi32>) : (tensor<1x9x4x16xf32>, tensor<1x20x2x16xf32>, tensor<1x20x2x16xf32>) -> tensor<1x9x4x16xf32>
  return
}

// -----

func.func @table_count(%q: tensor<2x9x4x16xf32>, %k: tensor<7x4x2x16xf32>, %n: tensor<2xi32>, %t: tensor<3x5xi32>) {
  // expected-error @below {{'attn.attention' op expected dimension 0 of block_table (3) to be 2 for 2 sequences}}
  %o = attn.attention %q, %k, %k kv_len(%n : tensor<2xi32>) block_table(%t : tensor<3x5xi32>) : (tensor<2x9x4x16xf32>, tensor<7x4x2x16xf32>, tensor<7x4x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @bias_of_pages(%q: tensor<2x9x4x16xf32>, %k: tensor<7x4x2x16xf32>, %n: tensor<2xi32>, %t: tensor<2x5xi32>, %m: tensor<1x1x1x19xf32>) {
  // expected-error @below {{'attn.attention' op expected dimension 3 of bias (19) to be 1 or 20}}
  %o = attn.attention %q, %k, %k bias(%m : tensor<1x1x1x19xf32>) kv_len(%n : tensor<2xi32>) block_table(%t : tensor<2x5xi32>) : (tensor<2x9x4x16xf32>, tensor<7x4x2x16xf32>, tensor<7x4x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @list_queries(%q: tensor<2x9x4x16xf32>, %k: tensor<2x20x2x16xf32>, %a: tensor<2x8x6xi32>) { // expected-note {{query has type 'tensor<2x9x4x16xf32>'}}
  // expected-error @below {{'attn.attention' op expected dimension 1 of indices (8) to equal dimension 1 of query (9)}}
  %o = attn.attention %q, %k, %k indices(%a : tensor<2x8x6xi32>) : (tensor<2x9x4x16xf32>, tensor<2x20x2x16xf32>, tensor<2x20x2x16xf32>) -> tensor<2x9x4x16xf32>
  return
}

// -----

func.func @merge(%p: tensor<3x2x5x4x16xf32>, %l: tensor<3x2x5x4xf32>) { // expected-note {{partial has type 'tensor<3x2x5x4x16xf32>'}}
  // expected-error @below {{'attn.merge_partials' op expected dimension 2 of partial_lse (5) to equal dimension 3 of partial (4)}}
  %o, %lse = attn.merge_partials %p, %l : (tensor<3x2x5x4x16xf32>, tensor<3x2x5x4xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @append_nowhere(%c: tensor<5x3x2x4xf32>, %k: tensor<2x4x2x4xf32>) {
  // expected-error @below {{'attn.kv_append' op expected operand start or slots}}
  %a, %b = attn.kv_append %c, %c, %k, %k : (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>)
  return
}

// -----

func.func @append_twice(%c: tensor<5x3x2x4xf32>, %k: tensor<2x4x2x4xf32>, %n: tensor<2xi32>, %s: tensor<2x4xi32>) {
  // expected-error @below {{'attn.kv_append' op expected no operand start, as slots say where each row goes}}
  %a, %b = attn.kv_append %c, %c, %k, %k, %n slots(%s : tensor<2x4xi32>) : (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>) -> (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>)
  return
}

// -----

func.func @append_slots(%c: tensor<5x3x2x4xf32>, %k: tensor<2x4x2x4xf32>, %s: tensor<2x3xi32>) { // expected-note {{key has type 'tensor<2x4x2x4xf32>'}}
  // expected-error @below {{'attn.kv_append' op expected dimension 1 of slots (3) to equal dimension 1 of key (4)}}
  %a, %b = attn.kv_append %c, %c, %k, %k slots(%s : tensor<2x3xi32>) : (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<5x3x2x4xf32>, tensor<5x3x2x4xf32>)
  return
}
