// RUN: heddle-opt %s --attn-to-tile --split-input-file --verify-diagnostics | FileCheck %s

// Layers share a kernel; a call of few tokens has kernels of its own, unless blocks of queries are asked for: with fewer rows then.
// CHECK-LABEL: func.func @layers
func.func @layers(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x2x64xf32>) -> tensor<?x?x4x64xf32> {
  // CHECK: tile.dispatch @attention grid
  %0 = attn.attention %q, %k, %k {causal} : (tensor<?x?x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x?x4x64xf32>
  // CHECK: tile.dispatch @attention grid
  %1 = attn.attention %0, %k, %k {causal} : (tensor<?x?x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x?x4x64xf32>
  return %1 : tensor<?x?x4x64xf32>
}
// CHECK-LABEL: func.func @token
func.func @token(%q: tensor<?x1x4x64xf32>, %k: tensor<?x?x2x64xf32>) -> tensor<?x1x4x64xf32> {
  // CHECK: tile.dispatch @decode_attention grid
  // CHECK: tile.dispatch @merge_attention grid
  %0 = attn.attention %q, %k, %k {causal} : (tensor<?x1x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x1x4x64xf32>
  // CHECK: tile.dispatch @decode_attention grid
  // CHECK: tile.dispatch @merge_attention grid
  %1 = attn.attention %0, %k, %k {causal} : (tensor<?x1x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x1x4x64xf32>
  // CHECK: tile.dispatch @attention_0 grid
  %2 = attn.attention %1, %k, %k {causal, tile.config = #tile.config<block = [1, 64]>} : (tensor<?x1x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) -> tensor<?x1x4x64xf32>
  return %2 : tensor<?x1x4x64xf32>
}
// CHECK: tile.kernel private @attention({{.*}} config <block = [32, 64]>
// CHECK: tile.kernel private @decode_attention({{.*}} config <block = [1, 32, 256]>
// CHECK: tile.kernel private @merge_attention(
// CHECK: tile.kernel private @attention_0({{.*}} config <block = [1, 64]>
// CHECK-NOT: tile.kernel

// -----

// Large heads take smaller blocks.
// CHECK: tile.kernel private @attention({{.*}} config <block = [32, 32]>
func.func @large(%q: tensor<1x40x1x576xbf16>, %k: tensor<1x?x1x576xbf16>, %v: tensor<1x?x1x512xbf16>) -> tensor<1x40x1x512xbf16> {
  %0 = attn.attention %q, %k, %v {} : (tensor<1x40x1x576xbf16>, tensor<1x?x1x576xbf16>, tensor<1x?x1x512xbf16>) -> tensor<1x40x1x512xbf16>
  return %0 : tensor<1x40x1x512xbf16>
}

// -----

func.func @hint(%q: tensor<?x?x1x8xf32>) -> tensor<?x?x1x8xf32> {
  // expected-warning @below {{expected the block of 'tile.config' to have 2 extents, queries and keys, or 3 with the keys of a chunk, got 1; it is ignored}}
  %0 = attn.attention %q, %q, %q {tile.config = #tile.config<block = [16]>} : (tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>) -> tensor<?x?x1x8xf32>
  return %0 : tensor<?x?x1x8xf32>
}

// -----

func.func @chunk(%q: tensor<?x1x1x8xf32>, %k: tensor<?x?x1x8xf32>) -> tensor<?x1x1x8xf32> {
  // expected-warning @below {{expected the chunk of keys of 'tile.config' to be a multiple of its block of keys, got 24 and 16; it is ignored}}
  %0 = attn.attention %q, %k, %k {tile.config = #tile.config<block = [1, 16, 24]>} : (tensor<?x1x1x8xf32>, tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>) -> tensor<?x1x1x8xf32>
  return %0 : tensor<?x1x1x8xf32>
}

// -----

// What is left to attn-to-linalg.
// CHECK-LABEL: func.func @left
func.func @left(%d: tensor<?x?x1x8xf64>, %heads: tensor<?x?x?x8xf32>, %dims: tensor<?x?x1x?xf32>, %empty: tensor<?x?x1x0xf32>,
                %large: tensor<?x?x1x1024xf32>)
    -> (tensor<?x?x1x8xf64>, tensor<?x?x?x8xf32>, tensor<?x?x1x?xf32>, tensor<?x?x1x0xf32>, tensor<?x?x1x1024xf32>) {
  // CHECK-COUNT-5: attn.attention
  // CHECK-NOT: tile.
  %0 = attn.attention %d, %d, %d {} : (tensor<?x?x1x8xf64>, tensor<?x?x1x8xf64>, tensor<?x?x1x8xf64>) -> tensor<?x?x1x8xf64>
  %1 = attn.attention %heads, %heads, %heads {} : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xf32>
  %2 = attn.attention %dims, %dims, %dims {scale = 1.0} : (tensor<?x?x1x?xf32>, tensor<?x?x1x?xf32>, tensor<?x?x1x?xf32>) -> tensor<?x?x1x?xf32>
  %3 = attn.attention %empty, %empty, %empty {scale = 1.0} : (tensor<?x?x1x0xf32>, tensor<?x?x1x0xf32>, tensor<?x?x1x0xf32>) -> tensor<?x?x1x0xf32>
  %4 = attn.attention %large, %large, %large {} : (tensor<?x?x1x1024xf32>, tensor<?x?x1x1024xf32>, tensor<?x?x1x1024xf32>) -> tensor<?x?x1x1024xf32>
  return %0, %1, %2, %3, %4 : tensor<?x?x1x8xf64>, tensor<?x?x?x8xf32>, tensor<?x?x1x?xf32>, tensor<?x?x1x0xf32>, tensor<?x?x1x1024xf32>
}
