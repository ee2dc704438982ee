// RUN: heddle-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @window
func.func @window(%q: tensor<1x5x2x8xf32>, %k: tensor<1x?x2x8xf32>, %s: tensor<1x9x2x8xf32>)
    -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) {
  // A window without limits.
  // CHECK: attn.attention %{{[^{]*}} :
  %0 = attn.attention %q, %k, %k {window = array<i64: -1, -1>} : (tensor<1x5x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> tensor<1x5x2x8xf32>
  // causal is the tighter limit on the right.
  // CHECK: attn.attention {{.*}} {causal, window = array<i64: 3, -1>}
  %1 = attn.attention %q, %k, %k {causal, window = array<i64: 3, 2>} : (tensor<1x5x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> tensor<1x5x2x8xf32>
  // CHECK: attn.attention {{.*}} {causal} :
  %2 = attn.attention %q, %k, %k {window = array<i64: -1, 0>} : (tensor<1x5x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> tensor<1x5x2x8xf32>
  // The last query stands at 8, so 8 keys back reach key 0.
  // CHECK: attn.attention {{.*}} {window = array<i64: -1, 2>}
  %3 = attn.attention %q, %s, %s {window = array<i64: 8, 2>} : (tensor<1x5x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>) -> tensor<1x5x2x8xf32>
  // CHECK: attn.attention {{.*}} {window = array<i64: 7, 2>}
  %4 = attn.attention %q, %s, %s {window = array<i64: 7, 2>} : (tensor<1x5x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>) -> tensor<1x5x2x8xf32>
  return %0, %1, %2, %3, %4 : tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
}

// CHECK-LABEL: func.func @single_query
func.func @single_query(%q: tensor<?x1x2x8xf32>, %k: tensor<?x?x2x8xf32>, %n: tensor<?xi32>) -> tensor<?x1x2x8xf32> {
  // CHECK: attn.attention {{.*}} kv_len(%{{.*}} : tensor<?xi32>) {window = array<i64: 3, -1>}
  %0 = attn.attention %q, %k, %k kv_len(%n : tensor<?xi32>) {causal, window = array<i64: 3, 0>} : (tensor<?x1x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>) -> tensor<?x1x2x8xf32>
  return %0 : tensor<?x1x2x8xf32>
}

// CHECK-LABEL: func.func @neutral_operands
// CHECK-SAME: (%[[Q:.*]]: tensor
func.func @neutral_operands(%q: tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32> {
  %mask = arith.constant dense<true> : tensor<1x1x5x5xi1>
  %bias = arith.constant dense<0.0> : tensor<1x1x5x5xf32>
  // CHECK: attn.attention %[[Q]], %[[Q]], %[[Q]] : {{.*}} -> tensor<1x5x2x8xf32>
  %0, %lse = attn.attention %q, %q, %q bias(%bias : tensor<1x1x5x5xf32>) mask(%mask : tensor<1x1x5x5xi1>) {return_lse} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>)
  return %0 : tensor<1x5x2x8xf32>
}

// CHECK-LABEL: func.func @global_keys
func.func @global_keys(%q: tensor<1x5x2x8xf32>, %k: tensor<1x?x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) {
  // Nothing is limited on the left.
  // CHECK: attn.attention {{.*}} {causal} :
  %0 = attn.attention %q, %k, %k {causal, global_keys = 2 : i64} : (tensor<1x5x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>) -> tensor<1x5x2x8xf32>
  // All five keys are global.
  // CHECK: attn.attention {{.*}} {window = array<i64: -1, 2>} :
  %1 = attn.attention %q, %q, %q {window = array<i64: 1, 2>, global_keys = 5 : i64} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32>
  // CHECK: attn.attention {{.*}} {global_keys = 4 : i64, window = array<i64: 1, 2>} :
  %2 = attn.attention %q, %q, %q {window = array<i64: 1, 2>, global_keys = 4 : i64} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32>
  return %0, %1, %2 : tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
}

// CHECK-LABEL: func.func @score_regions
func.func @score_regions(%q: tensor<1x5x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) {
  // What is folded stays in the region; it moves along when a result is dropped.
  // CHECK: attn.attention {{[^{]*}} : {{.*}} -> tensor<1x5x2x8xf32> score(%score, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK-NEXT: %[[SIX:.*]] = arith.constant 6.000000e+00 : f32
  // CHECK-NEXT: %[[T:.*]] = arith.mulf %score, %[[SIX]]
  // CHECK-NEXT: attn.yield %[[T]]
  %0, %lse = attn.attention %q, %q, %q {return_lse} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>) score(%s, %b, %h, %p, %j) {
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %six = arith.mulf %two, %three : f32
    %t = arith.mulf %s, %six : f32
    attn.yield %t : f32
  }
  // A region that changes nothing.
  // CHECK: attn.attention {{.*}} -> tensor<1x5x2x8xf32>{{$}}
  %1 = attn.attention %q, %q, %q : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32> score(%s, %b, %h, %p, %j) {
    %one = arith.constant 1.0 : f32
    %t = arith.mulf %s, %one : f32
    attn.yield %t : f32
  }
  return %0, %1 : tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
}

// CHECK-LABEL: func.func @unused_statistics
func.func @unused_statistics(%q: tensor<1x5x2x8xf32>, %sinks: tensor<2xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>) {
  // CHECK: %[[O:.*]], %[[MAX:.*]] = attn.attention {{.*}} {return_max} : {{.*}} -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>)
  %o, %lse, %max, %mass = attn.attention %q, %q, %q sinks(%sinks : tensor<2xf32>) {return_lse, return_max, return_sink_mass}
      : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  // CHECK: return %[[O]], %[[MAX]]
  return %o, %max : tensor<1x5x2x8xf32>, tensor<1x2x5xf32>
}

// CHECK-LABEL: func.func @unused_captures
func.func @unused_captures(%q: tensor<1x5x2x8xf32>, %x: tensor<2xf32>, %y: f32, %z: i32) -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x2x5xf32>) {
  // CHECK: attn.attention {{.*}} captures(%arg2 : f32) : {{.*}} score(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[Y:.*]]) {
  // CHECK-NEXT: arith.addf %{{.*}}, %[[Y]] : f32
  %0 = attn.attention %q, %q, %q captures(%x, %y, %z : tensor<2xf32>, f32, i32) : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xf32> score(%s, %b, %h, %p, %j, %u, %v, %w) {
    %t = arith.addf %s, %v : f32
    attn.yield %t : f32
  }
  // Without its region it has none; statistics stay.
  // CHECK: attn.attention %arg0, %arg0, %arg0 {return_first_key_mass}
  %1, %lse, %first = attn.attention %q, %q, %q captures(%x : tensor<2xf32>) {return_first_key_mass, return_lse} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>) score(%s, %b, %h, %p, %j, %u) {
    attn.yield %s : f32
  }
  return %0, %1, %first : tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x2x5xf32>
}

// CHECK-LABEL: func.func @rope
func.func @rope(%x: tensor<1x5x2x8xf32>, %p: tensor<5xi32>) -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>) {
  // CHECK: attn.rope %{{.*}}, %{{.*}} {theta = 1.000000e+04 : f64}
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, rotary_dim = 8 : i64, length = 9 : i64, attention_factor = 1.0 : f64, scaling = #attn.rope_linear<factor = 1.0>} : tensor<1x5x2x8xf32>, tensor<5xi32>
  // The length chooses the frequencies here.
  // CHECK: attn.rope {{.*}} {length = 9 : i64, rotary_dim = 4 : i64
  %1 = attn.rope %x, %p {theta = 1.0e4 : f64, rotary_dim = 4 : i64, length = 9 : i64, scaling = #attn.rope_dynamic<factor = 2.0, max_position = 4>} : tensor<1x5x2x8xf32>, tensor<5xi32>
  return %0, %1 : tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>
}

// CHECK-LABEL: func.func @checks
func.func @checks(%ok: i1, %n: index, %t: tensor<?xi32>, %m: memref<?xi32>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %good = arith.constant dense<[0, 4]> : tensor<2xi32>
  %bad = arith.constant dense<[0, 5]> : tensor<2xi32>
  // CHECK-NOT: attn.require %true
  attn.require %true, "never fails"
  // CHECK: attn.require %{{.*}}, "may fail"
  // CHECK-NOT: attn.require %{{.*}}, "may fail"
  attn.require %ok, "may fail"
  attn.require %ok, "may fail"
  // CHECK-COUNT-1: attn.require_range %{{.*}}, "start" : tensor<?xi32>
  attn.require_range %t in [%c0, %n], "start" : tensor<?xi32>
  attn.require_range %t in [%c0, %n], "start" : tensor<?xi32>
  // CHECK-COUNT-2: attn.require_range %{{.*}}, "start" : memref<?xi32>
  attn.require_range %m in [%c0, %n], "start" : memref<?xi32>
  attn.require_range %m in [%c0, %n], "start" : memref<?xi32>
  // CHECK-COUNT-1: attn.require_range %{{.*}} : tensor<2xi32>
  // CHECK-NOT: attn.require
  attn.require_range %good in [%c0, %c4], "good" : tensor<2xi32>
  attn.require_range %bad in [%c0, %c4], "bad" : tensor<2xi32>
  return
}
