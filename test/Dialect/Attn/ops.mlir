// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x?x32x64xf32>, %k: tensor<?x?x8x64xf32>, %v: tensor<?x?x8x64xf32>)
    -> tensor<?x?x32x64xf32> {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} {causal} : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>) -> tensor<?x?x32x64xf32>
  %o = attn.attention %q, %k, %v {causal}
      : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>) -> tensor<?x?x32x64xf32>
  return %o : tensor<?x?x32x64xf32>
}

// CHECK-LABEL: func.func @attention_clauses
func.func @attention_clauses(%q: tensor<2x5x6x16xbf16>, %k: tensor<2x9x2x16xf16>, %v: tensor<2x9x2x24xf16>,
                             %bias: tensor<1x6x5x9xf32>, %mask: tensor<2x1x5x?xi1>, %sinks: tensor<6xbf16>,
                             %n: tensor<2xi64>, %slopes: tensor<6xf32>)
    -> (tensor<2x5x6x24xbf16>, tensor<2x6x5xf32>) {
  // CHECK: attn.attention
  // CHECK-SAME: bias(%{{.*}} : tensor<1x6x5x9xf32>)
  // CHECK-SAME: mask(%{{.*}} : tensor<2x1x5x?xi1>)
  // CHECK-SAME: sinks(%{{.*}} : tensor<6xbf16>)
  // CHECK-SAME: kv_len(%{{.*}} : tensor<2xi64>)
  // CHECK-SAME: alibi_slopes(%{{.*}} : tensor<6xf32>)
  // CHECK-SAME: {return_lse, scale = 1.250000e-01 : f64, softcap = 3.000000e+01 : f64, window = array<i64: 3, 0>}
  // CHECK-SAME: -> (tensor<2x5x6x24xbf16>, tensor<2x6x5xf32>)
  %o, %lse = attn.attention %q, %k, %v kv_len(%n : tensor<2xi64>) mask(%mask : tensor<2x1x5x?xi1>)
      sinks(%sinks : tensor<6xbf16>) bias(%bias : tensor<1x6x5x9xf32>) alibi_slopes(%slopes : tensor<6xf32>)
      {window = array<i64: 3, 0>, softcap = 30.0 : f64, scale = 0.125 : f64, return_lse}
      : (tensor<2x5x6x16xbf16>, tensor<2x9x2x16xf16>, tensor<2x9x2x24xf16>) -> (tensor<2x5x6x24xbf16>, tensor<2x6x5xf32>)
  return %o, %lse : tensor<2x5x6x24xbf16>, tensor<2x6x5xf32>
}

// CHECK-LABEL: func.func @attention_statistics
func.func @attention_statistics(%q: tensor<2x5x6x16xf32>, %sinks: tensor<6xf32>)
    -> (tensor<2x5x6x16xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) {
  // CHECK: %output, %lse, %max, %sink_mass, %first_key_mass = attn.attention {{.*}} {return_first_key_mass, return_lse, return_max, return_sink_mass}
  // CHECK-SAME: -> (tensor<2x5x6x16xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>)
  %o, %lse, %max, %mass, %first = attn.attention %q, %q, %q sinks(%sinks : tensor<6xf32>) {return_sink_mass, return_first_key_mass, return_max, return_lse}
      : (tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>)
      -> (tensor<2x5x6x16xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>)
  return %o, %lse, %max, %mass, %first : tensor<2x5x6x16xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>
}

// CHECK-LABEL: func.func @attention_captures
func.func @attention_captures(%q: tensor<2x5x6x16xf32>, %ids: tensor<2x?xi32>, %n: index) -> tensor<2x5x6x16xf32> {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} captures(%{{.*}}, %{{.*}} : index, tensor<2x?xi32>) : {{.*}} score(%score, %batch, %head, %query, %key, %[[N:.*]], %[[IDS:.*]]) {
  // CHECK-NEXT: %[[ID:.*]] = tensor.extract %[[IDS]][%batch, %[[N]]] : tensor<2x?xi32>
  %o = attn.attention %q, %q, %q captures(%n, %ids : index, tensor<2x?xi32>) : (tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>) -> tensor<2x5x6x16xf32>
      score(%s, %b, %h, %p, %j, %m, %t) {
    %id = tensor.extract %t[%b, %m] : tensor<2x?xi32>
    %x = arith.sitofp %id : i32 to f32
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  }
  return %o : tensor<2x5x6x16xf32>
}

// CHECK-LABEL: func.func @attention_global_keys
func.func @attention_global_keys(%q: tensor<2x5x6x16xf32>) -> tensor<2x5x6x16xf32> {
  // CHECK: attn.attention {{.*}} {causal, global_keys = 2 : i64, window = array<i64: 1, -1>}
  %o = attn.attention %q, %q, %q {causal, window = array<i64: 1, -1>, global_keys = 2 : i64} : (tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>) -> tensor<2x5x6x16xf32>
  return %o : tensor<2x5x6x16xf32>
}

// CHECK-LABEL: func.func @attention_score
func.func @attention_score(%q: tensor<2x5x6x16xf32>) -> tensor<2x5x6x16xf32> {
  // CHECK: attn.attention {{.*}} {causal} : {{.*}} -> tensor<2x5x6x16xf32> score(%score, %batch, %head, %query, %key) {
  // CHECK-NEXT: %[[AHEAD:.*]] = arith.cmpi sgt, %key, %query : index
  // CHECK-NEXT: %[[NEGATED:.*]] = arith.negf %score : f32
  // CHECK-NEXT: %[[T:.*]] = arith.select %[[AHEAD]], %[[NEGATED]], %score : f32
  // CHECK-NEXT: attn.yield %[[T]] : f32
  // CHECK-NEXT: }
  // Names are the region's own.
  %s = attn.attention %q, %q, %q {causal} : (tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>, tensor<2x5x6x16xf32>) -> tensor<2x5x6x16xf32>
      score(%s, %b, %h, %p, %j) {
    %q = arith.cmpi sgt, %j, %p : index
    %n = arith.negf %s : f32
    %t = arith.select %q, %n, %s : f32
    attn.yield %t : f32
  }
  return %s : tensor<2x5x6x16xf32>
}

// The result may know more, or less, than the operands.
// CHECK-LABEL: func.func @attention_dynamic
func.func @attention_dynamic(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<3x?x?x64xf32>, %slopes: tensor<?x?xf32>)
    -> tensor<?x7x4x64xf32> {
  // CHECK: -> tensor<?x7x4x64xf32>
  %o = attn.attention %q, %k, %v alibi_slopes(%slopes : tensor<?x?xf32>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<3x?x?x64xf32>) -> tensor<?x7x4x64xf32>
  return %o : tensor<?x7x4x64xf32>
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<?x?x96xf16>, %w: tensor<96xbf16>, %b: tensor<96xf32>) -> tensor<?x?x96xf16> {
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64} : tensor<?x?x96xf16>, tensor<96xbf16>
  %0 = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x?x96xf16>, tensor<96xbf16>
  // CHECK: attn.rms_norm {{.*}} {eps = 0.000000e+00 : f64, plus_one}
  %1 = attn.rms_norm %0, %w {eps = 0.0 : f64, plus_one} : tensor<?x?x96xf16>, tensor<96xbf16>
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<96xf32>) {eps = 1.000000e-05 : f64} : tensor<?x?x96xf16>, tensor<96xbf16>
  %2 = attn.layer_norm %1, %w bias(%b : tensor<96xf32>) {eps = 1.0e-5 : f64} : tensor<?x?x96xf16>, tensor<96xbf16>
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64}
  %3 = attn.layer_norm %2, %w {eps = 1.0e-5 : f64} : tensor<?x?x96xf16>, tensor<96xbf16>
  return %3 : tensor<?x?x96xf16>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<?x384xbf16>, %y: tensor<?x384xbf16>) -> tensor<?x384xbf16> {
  // CHECK: attn.activation silu %{{.*}} : tensor<?x384xbf16>
  %0 = attn.activation silu %x : tensor<?x384xbf16>
  // CHECK: attn.activation gelu %
  %1 = attn.activation gelu %0 : tensor<?x384xbf16>
  // CHECK: attn.activation gelu_tanh %
  %2 = attn.activation gelu_tanh %1 : tensor<?x384xbf16>
  // CHECK: attn.activation sigmoid %
  %3 = attn.activation sigmoid %2 : tensor<?x384xbf16>
  // CHECK: attn.glu swiglu %{{.*}}, %{{.*}} : tensor<?x384xbf16>
  %4 = attn.glu swiglu %3, %y : tensor<?x384xbf16>
  // CHECK: attn.glu geglu %
  %5 = attn.glu geglu %4, %y : tensor<?x384xbf16>
  // CHECK: attn.glu geglu_tanh %
  %6 = attn.glu geglu_tanh %5, %y : tensor<?x384xbf16>
  // CHECK: attn.glu gpt_oss %{{.*}}, %{{.*}} {limit = 5.000000e+00 : f64}
  %7 = attn.glu gpt_oss %6, %y {limit = 5.0 : f64} : tensor<?x384xbf16>
  return %7 : tensor<?x384xbf16>
}

// CHECK-LABEL: func.func @kv_append
func.func @kv_append(%kc: tensor<?x?x2x16xbf16>, %vc: tensor<?x?x2x16xbf16>, %k: tensor<?x?x2x16xf32>,
                     %v: tensor<?x?x2x16xf32>, %start: tensor<?xi32>)
    -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>) {
  // CHECK: attn.kv_append %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>) -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>)
  %k2, %v2 = attn.kv_append %kc, %vc, %k, %v, %start
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>)
      -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>)
  return %k2, %v2 : tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>
}

// CHECK-LABEL: func.func @kv_append_paged
func.func @kv_append_paged(%kc: tensor<?x5x2x16xbf16>, %vc: tensor<?x5x2x24xbf16>, %k: tensor<?x?x2x16xf32>,
                           %v: tensor<?x?x2x24xf32>, %start: tensor<?xi64>, %table: tensor<?x?xi32>)
    -> (tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>) {
  // CHECK: attn.kv_append %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} block_table(%{{.*}} : tensor<?x?xi32>) : (tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>, tensor<?xi64>) -> (tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>)
  %k2, %v2 = attn.kv_append %kc, %vc, %k, %v, %start block_table(%table : tensor<?x?xi32>)
      : (tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>, tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>, tensor<?xi64>)
      -> (tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>)
  return %k2, %v2 : tensor<?x5x2x16xbf16>, tensor<?x5x2x24xbf16>
}

// CHECK-LABEL: func.func @checks
func.func @checks(%ok: i1, %a: index, %b: i64, %t: tensor<?xi32>, %m: memref<?x?xi64>) {
  // CHECK: attn.require %{{.*}}, "heads {0} and {1}, {} as text"(%{{.*}}, %{{.*}} : index, i64)
  attn.require %ok, "heads {0} and {1}, {} as text" (%a, %b : index, i64)
  // CHECK: attn.require %{{.*}}, "no value"
  attn.require %ok, "no value"
  // CHECK: attn.require_range %{{.*}} in [%{{.*}}, %{{.*}}], "start" : tensor<?xi32>
  attn.require_range %t in [%a, %a], "start" : tensor<?xi32>
  // CHECK: attn.require_range %{{.*}} in [%{{.*}}, %{{.*}}], "tokens" : memref<?x?xi64>
  attn.require_range %m in [%a, %a], "tokens" : memref<?x?xi64>
  return
}
