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
  %o = "attn.attention"(%q, %k, %k) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}) : (tensor<?x8x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>) -> tensor<?x?x8x64xf32>
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

func.func @scale_of_f64(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite scale in f32, got 1e+300}}
  %o = attn.attention %q, %q, %q {scale = 1.0e300 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

func.func @softcap_of_f64(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite softcap > 0 in f32, got 1e-300}}
  %o = attn.attention %q, %q, %q {softcap = 1.0e-300 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

// With the factor of log2(e) that scores have.
func.func @scale_at_the_end(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite scale in f32, got 3e+38}}
  %o = attn.attention %q, %q, %q {scale = 3.0e38 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

// Scores are divided by it.
func.func @softcap_without_inverse(%q: tensor<1x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected a finite softcap > 0 in f32, got 1e-40}}
  %o = attn.attention %q, %q, %q {softcap = 1.0e-40 : f64} : (tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>, tensor<1x5x8x64xf32>) -> tensor<1x5x8x64xf32>
  return
}

// -----

// f64 is computed in f64.
func.func @scale_of_doubles(%q: tensor<1x5x8x64xf64>) {
  %o = attn.attention %q, %q, %q {scale = 1.0e100 : f64} : (tensor<1x5x8x64xf64>, tensor<1x5x8x64xf64>, tensor<1x5x8x64xf64>) -> tensor<1x5x8x64xf64>
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

// -----

func.func @sink_mass(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected operand sinks, as return_sink_mass is set}}
  %o, %m = attn.attention %q, %q, %q {return_sink_mass} : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> (tensor<2x5x8x64xf32>, tensor<2x8x5xf32>)
  return
}

// -----

func.func @statistics(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op inferred type(s) 'tensor<2x5x8x64xf32>', 'tensor<2x8x5xf32>' are incompatible with return type(s) of operation 'tensor<2x5x8x64xf32>', 'tensor<2x5x8xf32>'}}
  // expected-error @below {{'attn.attention' op failed to infer returned types}}
  %o, %m = attn.attention %q, %q, %q {return_max} : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> (tensor<2x5x8x64xf32>, tensor<2x5x8xf32>)
  return
}

// -----

func.func @score_arguments(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{expected 5 arguments (score, batch, head, query, key), got 3}}
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %p, %j) {
    attn.yield %s : f32
  }
  return
}

// -----

func.func @score_types(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected the score region to have arguments ('f32', 'index', 'index', 'index', 'index'), got ('f32', 'i32')}}
  %o = "attn.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({
  ^bb0(%s: f32, %j: i32):
    "attn.yield"(%s) : (f32) -> ()
  }) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @score_end(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected the score region to end with attn.yield}}
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    llvm.unreachable
  }
  return
}

// -----

func.func @score_type(%q: tensor<2x5x8x64xf32>) {
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    // expected-error @below {{'arith.extf' op can't be in a score region: expected arith or math on f32, f16, bf16, i1, i32, i64 and index, and no bitcast; or tensor.extract of a capture}}
    %t = arith.extf %s : f32 to f64
    attn.yield %s : f32
  }
  return
}

// -----

func.func @score_bits(%q: tensor<2x5x8x64xf32>) {
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    // expected-error @below {{'arith.bitcast' op can't be in a score region}}
    %t = arith.bitcast %s : f32 to i32
    attn.yield %s : f32
  }
  return
}

// -----

func.func @score_effect(%q: tensor<2x5x8x64xf32>, %m: memref<f32>) {
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    // expected-error @below {{'memref.alloc' op can't be in a score region}}
    %m = memref.alloc() : memref<f32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @score_capture(%q: tensor<2x5x8x64xf32>, %x: f32) {
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    // expected-error @below {{use of undeclared SSA value name}}
    %t = arith.addf %s, %x : f32
    attn.yield %t : f32
  }
  return
}

// -----

func.func @global_keys(%q: tensor<2x5x8x64xf32>) {
  // expected-error @below {{'attn.attention' op expected global_keys to be >= 1, got -3}}
  %o = attn.attention %q, %q, %q {window = array<i64: 2, 0>, global_keys = -3 : i64} : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @captures_without_region(%q: tensor<2x5x8x64xf32>, %x: f32) {
  // expected-error @below {{'attn.attention' op expected a score region, which uses its 1 captures}}
  %o = attn.attention %q, %q, %q captures(%x : f32) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32>
  return
}

// -----

func.func @captures_count(%q: tensor<2x5x8x64xf32>, %x: f32) {
  // expected-error @below {{expected 6 arguments (score, batch, head, query, key, and 1 captures), got 5}}
  %o = attn.attention %q, %q, %q captures(%x : f32) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_type(%q: tensor<2x5x8x64xf32>, %x: tensor<3xf64>) {
  // expected-error @below {{'attn.attention' op operand #3 must be variadic of}}
  %o = attn.attention %q, %q, %q captures(%x : tensor<3xf64>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j, %y) {
    attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_empty(%q: tensor<2x5x8x64xf32>, %x: tensor<?x0xf32>) {
  // expected-error @below {{'attn.attention' op expected capture 0 to have elements, got 'tensor<?x0xf32>'}}
  %o = attn.attention %q, %q, %q captures(%x : tensor<?x0xf32>) : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j, %y) {
    attn.yield %s : f32
  }
  return
}

// -----

// Only captures are tensors in a region.
func.func @capture_made_inside(%q: tensor<2x5x8x64xf32>) {
  %o = attn.attention %q, %q, %q : (tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>, tensor<2x5x8x64xf32>) -> tensor<2x5x8x64xf32> score(%s, %b, %h, %p, %j) {
    // expected-error @below {{'arith.constant' op can't be in a score region}}
    %t = arith.constant dense<1.0> : tensor<4xf32>
    %x = tensor.extract %t[%j] : tensor<4xf32>
    attn.yield %x : f32
  }
  return
}
