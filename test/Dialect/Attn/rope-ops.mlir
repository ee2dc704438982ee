// RUN: heddle-opt %s | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @plain
func.func @plain(%x: tensor<?x?x32x64xf32>, %p: tensor<?x?xi32>, %p1: tensor<?xi64>, %f: tensor<16xf32>) -> tensor<?x?x32x64xf32> {
  // CHECK: attn.rope %{{.*}}, %{{.*}} {interleaved, rotary_dim = 32 : i64, theta = 1.000000e+04 : f64} : tensor<?x?x32x64xf32>, tensor<?x?xi32>
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, rotary_dim = 32 : i64, interleaved} : tensor<?x?x32x64xf32>, tensor<?x?xi32>
  // CHECK: attn.rope %{{.*}}, %{{.*}} inv_freq(%{{.*}} : tensor<16xf32>) {attention_factor = 1.250000e+00 : f64, rotary_dim = 32 : i64} : tensor<?x?x32x64xf32>, tensor<?xi64>
  %1 = attn.rope %0, %p1 inv_freq(%f : tensor<16xf32>) {rotary_dim = 32 : i64, attention_factor = 1.25 : f64} : tensor<?x?x32x64xf32>, tensor<?xi64>
  return %1 : tensor<?x?x32x64xf32>
}

// CHECK-LABEL: func.func @scalings
func.func @scalings(%x: tensor<1x8x2x4xf32>, %p: tensor<1x8xi32>) -> tensor<1x8x2x4xf32> {
  // CHECK: scaling = #attn.rope_linear<factor = 8.000000e+00>
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, scaling = #attn.rope_linear<factor = 8.0>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: length = 5000 : i64, scaling = #attn.rope_dynamic<factor = 4.000000e+00, max_position = 4096>
  %1 = attn.rope %0, %p {theta = 1.0e4 : f64, length = 5000 : i64, scaling = #attn.rope_dynamic<factor = 4.0, max_position = 4096>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: #attn.rope_llama3<factor = 3.200000e+01, low_freq_factor = 1.000000e+00, high_freq_factor = 4.000000e+00, original_max_position = 8192>
  %2 = attn.rope %1, %p {theta = 1.0e4 : f64, scaling = #attn.rope_llama3<factor = 32.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_max_position = 8192>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: #attn.rope_yarn<factor = 3.200000e+01, original_max_position = 4096, beta_fast = 3.200000e+01, beta_slow = 1.000000e+00, truncate = false>
  %3 = attn.rope %2, %p {theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 32.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = false>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: #attn.rope_yarn<factor = 4.000000e+01, original_max_position = 4096, beta_fast = 3.200000e+01, beta_slow = 1.000000e+00, truncate = true, mscale = 1.000000e+00, mscale_all_dim = 7.070000e-01>
  %4 = attn.rope %3, %p {theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale_all_dim = 0.707, mscale = 1.0>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: #attn.rope_longrope<short_factor = [1.000000e+00, 1.500000e+00], long_factor = [2.000000e+00, 4.500000e+00], factor = 3.200000e+01, original_max_position = 4096, attention_factor = 1.250000e+00>
  %5 = attn.rope %4, %p {theta = 1.0e4 : f64, scaling = #attn.rope_longrope<short_factor = [1.0, 1.5], long_factor = [2.0, 4.5], factor = 32.0, original_max_position = 4096, attention_factor = 1.25>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  // CHECK: #attn.rope_proportional<factor = 1.000000e+00, fraction = 2.500000e-01>
  %6 = attn.rope %5, %p {theta = 1.0e4 : f64, scaling = #attn.rope_proportional<factor = 1.0, fraction = 0.25>} : tensor<1x8x2x4xf32>, tensor<1x8xi32>
  return %6 : tensor<1x8x2x4xf32>
}
