// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @rules
func.func @rules(%q: tensor<?x?x2x16xbf16>, %k: tensor<?x?x2x16xbf16>, %v: tensor<?x?x6x24xbf16>,
                 %fixed: tensor<6xf32>, %g: tensor<?x?x6xf32>, %channel: tensor<?x?x6x16xf32>,
                 %b: tensor<?x?x6xbf16>) {
  // CHECK: %{{.*}}, %{{.*}} = attn.linear_attention linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>) -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  %0:2 = attn.linear_attention linear %q, %k, %v
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>)
      -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  // CHECK: attn.linear_attention gated {{.*}} decay(%{{.*}} : tensor<6xf32>)
  %1:2 = attn.linear_attention gated %q, %k, %v decay(%fixed : tensor<6xf32>)
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>)
      -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  // CHECK: attn.linear_attention delta {{.*}} beta(%{{.*}} : tensor<?x?x6xbf16>) {scale = 1.000000e+00 : f64}
  %2:2 = attn.linear_attention delta %q, %k, %v beta(%b : tensor<?x?x6xbf16>) {scale = 1.0 : f64}
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>)
      -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  // CHECK: attn.linear_attention gated_delta {{.*}} decay(%{{.*}} : tensor<?x?x6xf32>) beta(
  %3:2 = attn.linear_attention gated_delta %q, %k, %v
      decay(%g : tensor<?x?x6xf32>) beta(%b : tensor<?x?x6xbf16>)
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>)
      -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  // CHECK: attn.linear_attention gated_delta {{.*}} decay(%{{.*}} : tensor<?x?x6x16xf32>) beta(
  %4:2 = attn.linear_attention gated_delta %q, %k, %v
      decay(%channel : tensor<?x?x6x16xf32>) beta(%b : tensor<?x?x6xbf16>)
      : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x6x24xbf16>)
      -> (tensor<?x?x6x24xbf16>, tensor<?x6x16x24xf32>)
  return
}

// Six readers of two states.
// CHECK-LABEL: func.func @readers
func.func @readers(%q: tensor<?x?x6x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x24xf32>,
                   %s: tensor<?x2x16x24xf32>, %z: tensor<?x2x16xf32>) {
  // CHECK: %output, %final_state, %final_normalizer = attn.linear_attention linear {{.*}} initial_state(%{{.*}} : tensor<?x2x16x24xf32>) initial_normalizer(%{{.*}} : tensor<?x2x16xf32>) {eps = 9.9999999999999995E-7 : f64, non_causal, normalize}
  %0:3 = attn.linear_attention linear %q, %k, %v
      initial_state(%s : tensor<?x2x16x24xf32>) initial_normalizer(%z : tensor<?x2x16xf32>)
      {normalize, non_causal, eps = 1.0e-6 : f64}
      : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>)
      -> (tensor<?x?x6x24xf32>, tensor<?x2x16x24xf32>, tensor<?x2x16xf32>)
  return
}

// CHECK-LABEL: func.func @packed
func.func @packed(%q: tensor<1x?x2x16xf32>, %v: tensor<1x?x2x24xf32>, %pool: tensor<?x2x16x24xf32>,
                  %cu: tensor<5xi32>, %slots: tensor<4xi64>, %x: tensor<1x?x208xbf16>,
                  %w: tensor<208x4xbf16>, %bias: tensor<208xf32>, %past: tensor<?x208x3xbf16>) {
  // CHECK: attn.linear_attention linear {{.*}} initial_state({{.*}}) cu_seqlens(%{{.*}} : tensor<5xi32>) slots(%{{.*}} : tensor<4xi64>)
  %0:2 = attn.linear_attention linear %q, %q, %v initial_state(%pool : tensor<?x2x16x24xf32>)
      cu_seqlens(%cu : tensor<5xi32>) slots(%slots : tensor<4xi64>)
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x24xf32>)
      -> (tensor<1x?x2x24xf32>, tensor<?x2x16x24xf32>)
  // CHECK: %{{.*}}, %{{.*}} = attn.short_conv %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<208xf32>) initial_state(%{{.*}} : tensor<?x208x3xbf16>) cu_seqlens(%{{.*}} : tensor<5xi32>) slots(%{{.*}} : tensor<4xi64>) {silu} : (tensor<1x?x208xbf16>, tensor<208x4xbf16>) -> (tensor<1x?x208xbf16>, tensor<?x208x3xbf16>)
  %1:2 = attn.short_conv %x, %w bias(%bias : tensor<208xf32>) initial_state(%past : tensor<?x208x3xbf16>)
      cu_seqlens(%cu : tensor<5xi32>) slots(%slots : tensor<4xi64>) {silu}
      : (tensor<1x?x208xbf16>, tensor<208x4xbf16>) -> (tensor<1x?x208xbf16>, tensor<?x208x3xbf16>)
  // CHECK: attn.short_conv %{{.*}}, %{{.*}} : (tensor<1x?x208xbf16>, tensor<208x4xbf16>) -> (tensor<1x?x208xbf16>, tensor<1x208x3xbf16>)
  %2:2 = attn.short_conv %x, %w
      : (tensor<1x?x208xbf16>, tensor<208x4xbf16>) -> (tensor<1x?x208xbf16>, tensor<1x208x3xbf16>)
  return
}

// CHECK-LABEL: func.func @companions
func.func @companions(%x: tensor<?x?x6x24xbf16>, %w: tensor<24xf32>, %a: tensor<?x?x6xbf16>,
                      %rate: tensor<6xf32>, %head: tensor<6xf32>, %channel: tensor<6x24xf32>) {
  // CHECK: attn.gated_rms_norm silu %{{.*}}, %{{.*}}, %{{.*}} {eps = 9.9999999999999995E-7 : f64} : tensor<?x?x6x24xbf16>, tensor<24xf32>
  %0 = attn.gated_rms_norm silu %x, %x, %w {eps = 1.0e-6 : f64}
      : tensor<?x?x6x24xbf16>, tensor<24xf32>
  // CHECK: attn.l2_norm %{{.*}} {eps = 9.9999999999999995E-7 : f64} : tensor<?x?x6x24xbf16>
  %1 = attn.l2_norm %x {eps = 1.0e-6 : f64} : tensor<?x?x6x24xbf16>
  // CHECK: attn.decay_gate %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x6xbf16>, tensor<6xf32>, tensor<6xf32> -> tensor<?x?x6xf32>
  %2 = attn.decay_gate %a, %rate, %head
      : tensor<?x?x6xbf16>, tensor<6xf32>, tensor<6xf32> -> tensor<?x?x6xf32>
  // CHECK: attn.decay_gate %{{.*}} {lower_bound = -5.000000e+00 : f64} : tensor<?x?x6x24xbf16>, tensor<6xf32>, tensor<6x24xf32> -> tensor<?x?x6x24xf32>
  %3 = attn.decay_gate %x, %rate, %channel {lower_bound = -5.0 : f64}
      : tensor<?x?x6x24xbf16>, tensor<6xf32>, tensor<6x24xf32> -> tensor<?x?x6x24xf32>
  // CHECK: attn.softmax_features %{{.*}} : tensor<?x?x6x24xbf16> -> tensor<?x?x6x48xbf16>
  %4 = attn.softmax_features %x : tensor<?x?x6x24xbf16> -> tensor<?x?x6x48xbf16>
  // CHECK: attn.activation elu_plus_one
  %5 = attn.activation elu_plus_one %x : tensor<?x?x6x24xbf16>
  // CHECK: attn.activation relu
  %6 = attn.activation relu %x : tensor<?x?x6x24xbf16>
  // CHECK: attn.activation squared_relu
  %7 = attn.activation squared_relu %x : tensor<?x?x6x24xbf16>
  // CHECK: attn.glu sigmoid
  %8 = attn.glu sigmoid %x, %x : tensor<?x?x6x24xbf16>
  return
}
