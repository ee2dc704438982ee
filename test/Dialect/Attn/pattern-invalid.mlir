// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @unknown(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{unknown pattern 'sinks'}}
  %0 = attn.pattern_scores [sinks] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @twice(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected each pattern once, got sink twice}}
  %0:2 = attn.pattern_scores [sink, sink] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>)
  return
}

// -----

func.func @no_tokens(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected operand tokens with pattern duplicate_token}}
  %0 = attn.pattern_scores [duplicate_token] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @no_sinks(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected operand sinks with pattern learned_sink}}
  %0 = attn.pattern_scores [learned_sink] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @no_local(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected attribute local with pattern local_window}}
  %0 = attn.pattern_scores [local_window] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @no_block(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected attribute block with pattern induction_diagonal}}
  %0 = attn.pattern_scores [induction_diagonal] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @local(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected local >= 1, got 0}}
  %0 = attn.pattern_scores [local_window] %q, %k {local = 0 : i64} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @first(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected first >= 0, got -1}}
  %0 = attn.pattern_scores [sink] %q, %k {first = -1 : i64} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @heads(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x4x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected query heads (6) to be a multiple of key heads (4)}}
  %0 = attn.pattern_scores [sink] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x4x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @dynamic_heads(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x?x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected a static number of heads of key, got type 'tensor<?x?x?x16xf32>'}}
  %0 = attn.pattern_scores [sink] %q, %k {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @window(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected the left value of window to be >= -1, got -2}}
  %0 = attn.pattern_scores [sink] %q, %k {window = array<i64: -2, 0>} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @scale(%q: tensor<?x?x6x?xf32>, %k: tensor<?x?x2x?xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected attribute scale, as dimension 3 of query is dynamic}}
  %0 = attn.pattern_scores [sink] %q, %k {causal} : (tensor<?x?x6x?xf32>, tensor<?x?x2x?xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @softcap(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected a finite softcap > 0, got 0}}
  %0 = attn.pattern_scores [sink] %q, %k {softcap = 0.0 : f64} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}

// -----

func.func @sinks(
    // expected-note @below {{query has type 'tensor<?x?x6x16xf32>'}}
    %q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>, %s: tensor<5xf32>) {
  // expected-error @below {{'attn.pattern_scores' op expected dimension 0 of sinks (5) to equal dimension 2 of query (6)}}
  %0 = attn.pattern_scores [sink] %q, %k sinks(%s : tensor<5xf32>) {causal} : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x6xf32>)
  return
}
