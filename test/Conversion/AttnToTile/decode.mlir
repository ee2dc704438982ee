// Few queries on CPUs: programs of chunks of keys, and their merge.
// RUN: heddle-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @decode
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x1x8x64xbf16>, %[[K:[^:]*]]: tensor<?x?x2x64xbf16>, %[[V:[^:]*]]: tensor<?x?x2x48xbf16>, %[[SINKS:[^:]*]]: tensor<8xbf16>, %[[LENGTHS:[^:]*]]: tensor<?xi32>)
func.func @decode(%q: tensor<?x1x8x64xbf16>, %k: tensor<?x?x2x64xbf16>, %v: tensor<?x?x2x48xbf16>, %sinks: tensor<8xbf16>,
                  %lengths: tensor<?xi32>) -> tensor<?x1x8x48xbf16> {
  // CHECK: %[[CHUNKS:.*]] = arith.ceildivui %{{.*}}, %c256
  // CHECK: %[[ACC:.*]] = tensor.empty(%{{.*}}, %[[CHUNKS]]) : tensor<?x?x8x48xf32>
  // CHECK: %[[STATS:.*]] = tensor.empty(%{{.*}}, %[[CHUNKS]]) : tensor<?x?x2x16xf32>
  // CHECK: %[[PROGRAMS:.*]] = arith.muli %{{.*}}, %[[CHUNKS]]
  // CHECK: %[[PARTS:.*]]:2 = tile.dispatch @decode_attention grid(%[[PROGRAMS]], %c1, %c1)
  // CHECK-SAME: ins(%[[Q]], %[[K]], %[[V]], %[[LENGTHS]] : {{.*}}) outs(%[[ACC]], %[[STATS]] :
  // CHECK: %[[O:.*]] = tile.dispatch @merge_attention
  // CHECK-SAME: ins(%[[PARTS]]#0, %[[PARTS]]#1, %[[SINKS]], %[[LENGTHS]] : {{.*}}) outs(
  %o = attn.attention %q, %k, %v sinks(%sinks : tensor<8xbf16>) kv_len(%lengths : tensor<?xi32>)
      {causal, window = array<i64: 511, 0>}
      : (tensor<?x1x8x64xbf16>, tensor<?x?x2x64xbf16>, tensor<?x?x2x48xbf16>) -> tensor<?x1x8x48xbf16>
  return %o : tensor<?x1x8x48xbf16>
}

// A program is (sequence, chunk); a chunk without visible keys does nothing.
// CHECK-LABEL: tile.kernel private @decode_attention(
// CHECK-SAME: config <block = [1, 64, 256]>
// CHECK: %[[PROGRAM:.*]] = tile.program_id x
// CHECK: %[[BATCH:.*]] = arith.divui %[[PROGRAM]]
// CHECK: %[[CHUNK:.*]] = arith.remui %[[PROGRAM]]
// CHECK: %[[LOADED:.*]] = memref.load
// CHECK: %[[KEYS:.*]] = arith.index_cast %[[LOADED]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[CHUNK]], %c256
// CHECK: %[[BEGIN:.*]] = arith.maxsi %[[FIRST]]
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[KEYS]]
// CHECK: %[[VISITED:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
// CHECK: scf.if %[[VISITED]] {
// CHECK:   scf.for
// CHECK:     tile.store

// Keys outside, heads inside. A block that all see is fetched ahead and has no mask; rows are the heads of a group.
// CHECK: scf.for %[[KEY:.*]] = %[[BEGIN]] to %[[END]] step %c64 {
// CHECK:   scf.if
// CHECK:     scf.for %[[HEAD:.*]] = %c0 to %c2 step %c1 {
// CHECK-NOT:   tile.iota
// CHECK:       %[[KT:.*]] = tile.load %{{.*}}[%[[KEY]], %c0] ahead 64 : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
// CHECK:       %[[QT:.*]] = tile.load %{{.*}}[%c0, %c0] : !tile.view<4x64xbf16> -> tensor<4x64xbf16>
// CHECK:       tile.dot %[[QT]], %[[KT]], %{{.*}} {transpose_b} : tensor<4x64xbf16>, tensor<64x64xbf16> -> tensor<4x64xf32>
// CHECK:       tile.load %{{.*}} : !tile.view<4x48xf32> -> tensor<4x48xf32>
// CHECK:       tile.load %{{.*}} ahead 64 : !tile.view<?x48xbf16> -> tensor<64x48xbf16>
// CHECK:       tile.dot
// CHECK-COUNT-3: tile.store
// CHECK:   } else {
// CHECK:     scf.for %[[PART:.*]] = %[[KEY]] to %{{.*}} step %c16 {
// CHECK:       scf.for
// CHECK:         tile.load %{{.*}}[%[[PART]], %c0] pad(%{{.*}}) : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
// CHECK:         tile.iota along 1
// CHECK:         arith.select

// CHECK-LABEL: tile.kernel private @merge_attention(
// CHECK: %[[STATE:.*]]:3 = scf.for %{{.*}} to %{{.*}} step %c1 iter_args
// CHECK-COUNT-3: tile.load
// CHECK-COUNT-2: math.exp2
// CHECK: scf.yield
// CHECK: tile.store %{{.*}} : tensor<4x48xbf16>, !tile.view<4x48xbf16>

// -----

// One chunk has all keys that there can be: programs of (sequence, key head) and no merge.
// CHECK-LABEL: func.func @one_chunk
func.func @one_chunk(%q: tensor<?x3x8x64xf32>, %k: tensor<?x200x2x64xf32>) -> (tensor<?x3x8x64xf32>, tensor<?x8x3xf32>) {
  // CHECK: %[[PROGRAMS:.*]] = arith.muli %{{.*}}, %c2
  // CHECK: %[[ALL:.*]]:4 = tile.dispatch @decode_attention grid(%[[PROGRAMS]], %c1, %c1)
  // CHECK-NOT: tile.dispatch
  // CHECK: return %[[ALL]]#2, %[[ALL]]#3
  %o, %lse = attn.attention %q, %k, %k {causal, return_lse}
      : (tensor<?x3x8x64xf32>, tensor<?x200x2x64xf32>, tensor<?x200x2x64xf32>) -> (tensor<?x3x8x64xf32>, tensor<?x8x3xf32>)
  return %o, %lse : tensor<?x3x8x64xf32>, tensor<?x8x3xf32>
}
// CHECK-NOT: @merge_attention

// -----

// Kernels of blocks of queries: any number of queries, or of heads; more than 8 queries; tiles of a group that are too large; a hint
// without a chunk.
// CHECK-LABEL: func.func @other_forms
func.func @other_forms(%any: tensor<1x?x2x16xf32>, %nine: tensor<1x9x2x16xf32>, %wide: tensor<1x1x128x576xf32>, %one: tensor<1x1x2x16xf32>,
                       %heads: tensor<1x1x?x16xf32>, %k: tensor<1x?x2x16xf32>, %wideK: tensor<1x?x1x576xf32>)
    -> (tensor<1x?x2x16xf32>, tensor<1x9x2x16xf32>, tensor<1x1x128x576xf32>, tensor<1x1x2x16xf32>, tensor<1x1x?x16xf32>) {
  // CHECK-NOT: @decode_attention
  %0 = attn.attention %any, %k, %k {} : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32>
  %1 = attn.attention %nine, %k, %k {} : (tensor<1x9x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> tensor<1x9x2x16xf32>
  %2 = attn.attention %wide, %wideK, %wideK {} : (tensor<1x1x128x576xf32>, tensor<1x?x1x576xf32>, tensor<1x?x1x576xf32>) -> tensor<1x1x128x576xf32>
  %3 = attn.attention %one, %k, %k {tile.config = #tile.config<block = [1, 64]>} : (tensor<1x1x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> tensor<1x1x2x16xf32>
  %4 = attn.attention %heads, %k, %k {} : (tensor<1x1x?x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> tensor<1x1x?x16xf32>
  return %0, %1, %2, %3, %4 : tensor<1x?x2x16xf32>, tensor<1x9x2x16xf32>, tensor<1x1x128x576xf32>, tensor<1x1x2x16xf32>, tensor<1x1x?x16xf32>
}
