// Blocks of attention's kernels on GPUs: by head dimension, type and shared memory; head dimensions are filled up to 16 columns.
// RUN: heddle-opt %s --attn-to-tile="chip=sm_80 f32-products=tf32x3" | FileCheck %s
// RUN: heddle-opt %s --attn-to-tile=chip=sm_80 | FileCheck %s --check-prefix=DISPATCH
// RUN: heddle-opt %s --attn-to-tile=chip=sm_86 | FileCheck %s --check-prefix=SM86
// RUN: not heddle-opt %s --attn-to-tile=chip=sm_10 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown chip 'sm_10'; known are sm_80, sm_86, sm_89, sm_90

// CHECK: tile.kernel private @attention({{.*}}) config <block = [128, 64], warps = 4>
// CHECK: tile.kernel private @attention_0({{.*}}) config <block = [128, 64], warps = 8>
// SM86: tile.kernel private @attention_0({{.*}}) config <block = [64, 64], warps = 4>
func.func @heads(%a: tensor<?x?x4x128xf16>, %b: tensor<?x?x4x256xf16>) -> (tensor<?x?x4x128xf16>, tensor<?x?x4x256xf16>) {
  %0 = attn.attention %a, %a, %a {causal} : (tensor<?x?x4x128xf16>, tensor<?x?x4x128xf16>, tensor<?x?x4x128xf16>) -> tensor<?x?x4x128xf16>
  %1 = attn.attention %b, %b, %b {causal} : (tensor<?x?x4x256xf16>, tensor<?x?x4x256xf16>, tensor<?x?x4x256xf16>) -> tensor<?x?x4x256xf16>
  return %0, %1 : tensor<?x?x4x128xf16>, tensor<?x?x4x256xf16>
}

// CHECK: tile.kernel private @attention_1({{.*}}) config <block = [64, 32], warps = 8>
func.func @latent(%q: tensor<?x?x4x576xbf16>, %k: tensor<?x?x1x576xbf16>, %v: tensor<?x?x1x512xbf16>) -> tensor<?x?x4x512xbf16> {
  %0 = attn.attention %q, %k, %v {causal} : (tensor<?x?x4x576xbf16>, tensor<?x?x1x576xbf16>, tensor<?x?x1x512xbf16>) -> tensor<?x?x4x512xbf16>
  return %0 : tensor<?x?x4x512xbf16>
}

// One token, keys of 40 columns in tiles of 48; f32 in three products.
// CHECK: tile.kernel private @attention_2({{.*}}) config <block = [16, 32], warps = 4>
// CHECK: tile.load %{{.*}} pad(%{{.*}}) : !tile.view<?x40xf32> -> tensor<16x48xf32>
// CHECK: scf.for
// CHECK:   tile.load %{{.*}} pad(%{{.*}}) : !tile.view<?x40xf32> -> tensor<32x48xf32>
// CHECK:   tile.dot %{{.*}} precision tf32x3 {transpose_b} : tensor<16x48xf32>, tensor<32x48xf32> -> tensor<16x32xf32>
// CHECK: tile.store %{{.*}} : tensor<16x48xf32>, !tile.view<?x40xf32>
func.func @token(%q: tensor<?x1x4x40xf32>, %k: tensor<?x?x4x40xf32>) -> tensor<?x1x4x40xf32> {
  %0 = attn.attention %q, %k, %k : (tensor<?x1x4x40xf32>, tensor<?x?x4x40xf32>, tensor<?x?x4x40xf32>) -> tensor<?x1x4x40xf32>
  return %0 : tensor<?x1x4x40xf32>
}

// Lengths that a kernel can add up itself, and keeps within the keys.
// DISPATCH: attn.require_range %arg2 in [%{{.*}}, %{{.*}}], "kv_len without this call's keys"
// DISPATCH: tile.dispatch @attention_3 grid({{.*}}) ins(%arg0, %arg1, %arg1, %arg2, %{{.*}} : {{.*}}, tensor<?xi32>, index)
// CHECK: tile.kernel private @attention_3
// CHECK: %[[BEFORE:.*]] = memref.load
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[BEFORE]]
// CHECK: %[[SUM:.*]] = arith.addi %[[WIDE]], %{{.*}} : index
// CHECK: %[[LOW:.*]] = arith.maxsi %[[SUM]], %{{.*}}
// CHECK: arith.minsi %[[LOW]], %{{.*}}
func.func @lengths(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x4x64xf16>, %start: tensor<?xi32>) -> tensor<?x?x4x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %start, %c0 : tensor<?xi32>
  %seq = tensor.dim %q, %c1 : tensor<?x?x4x64xf16>
  %added = arith.index_cast %seq : index to i32
  %empty = tensor.empty(%batch) : tensor<?xi32>
  %lengths = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
      ins(%start : tensor<?xi32>) outs(%empty : tensor<?xi32>) {
  ^bb0(%s: i32, %o: i32):
    %length = arith.addi %s, %added : i32
    linalg.yield %length : i32
  } -> tensor<?xi32>
  %0 = attn.attention %q, %k, %k kv_len(%lengths : tensor<?xi32>) {causal} : (tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>) -> tensor<?x?x4x64xf16>
  return %0 : tensor<?x?x4x64xf16>
}
