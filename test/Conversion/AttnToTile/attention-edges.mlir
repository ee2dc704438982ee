// RUN: heddle-opt %s --split-input-file --attn-to-tile='chip=sm_80 rescale-margin=8' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --attn-to-tile='chip=sm_80' | FileCheck %s --check-prefix=ALWAYS
// RUN: heddle-opt %s --split-input-file --attn-to-tile | FileCheck %s --check-prefix=CPU

// CPU-NOT: tile.skip_unless

// Blocks at a causal edge are skipped whole: half of the warps of 32 rows begin in the middle of a block of 64 keys.
// CHECK-LABEL: tile.kernel private @attention
// CHECK-NOT: tile.skip_unless products
// CHECK: tile.skip_unless %{{[^,]*}} : tensor<128xi1>
// CHECK-NOT: tile.skip_unless
// ALWAYS-LABEL: tile.kernel private @attention
// ALWAYS: tile.skip_unless products %{{[^,]*}} : tensor<128xi1>
// ALWAYS-NOT: tile.skip_unless
func.func @causal(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16> {
  %o = attn.attention %q, %k, %k {causal} : (tensor<?x?x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16>
  return %o : tensor<?x?x8x64xf16>
}

// -----

// Both ends of a window have parts of 16 keys.
// CHECK-LABEL: tile.kernel private @attention
// CHECK: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} : tensor<128xi1>, tensor<128xi1>, tensor<128xi1>, tensor<128xi1>
// CHECK: tile.skip_unless %{{[^,]*}} : tensor<128xi1>
// CHECK: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} : tensor<128xi1>, tensor<128xi1>, tensor<128xi1>, tensor<128xi1>
// CHECK: tile.skip_unless %{{[^,]*}} : tensor<128xi1>
// CHECK-NOT: tile.skip_unless
// ALWAYS-LABEL: tile.kernel private @attention
// ALWAYS-COUNT-2: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
// ALWAYS-NOT: tile.skip_unless
func.func @window(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16> {
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 100, 0>} : (tensor<?x?x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16>
  return %o : tensor<?x?x8x64xf16>
}

// -----

// Warps of 32 rows beside blocks of 32 keys all begin alike: parts for one edge, narrower ones for two.
// CHECK-LABEL: tile.kernel private @attention
// CHECK: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}} : tensor<128xi1>, tensor<128xi1>
// ALWAYS-LABEL: tile.kernel private @attention
func.func @f32(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x2x64xf32>) -> tensor<?x?x8x64xf32> {
  %o = attn.attention %q, %k, %k {causal} : (tensor<?x?x8x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x?x8x64xf32>
  return %o : tensor<?x?x8x64xf32>
}

// -----

// CHECK-LABEL: tile.kernel private @attention
// CHECK: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
func.func @f32_window(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x2x64xf32>) -> tensor<?x?x8x64xf32> {
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 100, 0>} : (tensor<?x?x8x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x?x8x64xf32>
  return %o : tensor<?x?x8x64xf32>
}

// -----

// A single token in a window sees whole blocks but for the last one: nothing has parts.
// CHECK-LABEL: tile.kernel private @attention
// CHECK-NOT: tile.skip_unless products
func.func @token(%q: tensor<?x1x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x1x8x64xf16> {
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 100, 0>} : (tensor<?x1x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x1x8x64xf16>
  return %o : tensor<?x1x8x64xf16>
}

// -----

// The parts of one query's edge and of 16 queries' are not the same, so neither are the kernels.
// CHECK-LABEL: tile.kernel private @attention
// CHECK-NOT: tile.skip_unless products
// CHECK: tile.kernel private @attention_0
// CHECK: tile.skip_unless products %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
func.func @one_query(%q: tensor<?x1x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x1x8x64xf16> {
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 100, 0>} : (tensor<?x1x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x1x8x64xf16>
  return %o : tensor<?x1x8x64xf16>
}

func.func @some_queries(%q: tensor<?x16x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x16x8x64xf16> {
  %o = attn.attention %q, %k, %k {causal, window = array<i64: 100, 0>} : (tensor<?x16x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x16x8x64xf16>
  return %o : tensor<?x16x8x64xf16>
}
