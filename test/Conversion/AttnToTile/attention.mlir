// RUN: heddle-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x?x8x64xf16>, %[[K:[^:]*]]: tensor<?x?x8x64xf16>, %[[V:[^:]*]]: tensor<?x?x8x48xf16>
func.func @causal(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x48xf16>)
    -> (tensor<?x?x8x48xf16>, tensor<?x8x?xf32>) {
  // CHECK: %[[BATCH:.*]] = tensor.dim %[[Q]], %c0
  // CHECK: %[[OF_KEY:.*]] = tensor.dim %[[K]], %c0
  // CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[OF_KEY]], %[[BATCH]]
  // CHECK: attn.require %[[SAME]], "attention: dimension 0 of key is {0}, expected {1} as in dimension 0 of query"
  // CHECK: attn.require %{{.*}}, "attention: dimension 0 of value is {0}, expected {1} as in dimension 0 of query"
  // CHECK: attn.require %{{.*}}, "attention: dimension 1 of value is {0}, expected {1} as in dimension 1 of key"
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c64
  // CHECK: %[[HEADS:.*]] = arith.muli %[[BATCH]], %c8
  // CHECK: %[[PROGRAMS:.*]] = arith.muli %[[BLOCKS]], %[[HEADS]]
  // CHECK: tile.dispatch @attention grid(%[[PROGRAMS]], %c1, %c1)
  // CHECK-SAME: ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%{{.*}}, %{{.*}} : tensor<?x?x8x48xf16>, tensor<?x8x?xf32>)
  %o, %lse = attn.attention %q, %k, %v {causal, return_lse}
      : (tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x48xf16>) -> (tensor<?x?x8x48xf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x?x8x48xf16>, tensor<?x8x?xf32>
}

// CHECK-LABEL: tile.kernel private @attention(
// CHECK-SAME: %[[Q:[^:]*]]: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %[[K:[^:]*]]: memref<
// CHECK-SAME: %[[LSE:[a-z0-9]*]]: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) config <block = [64, 128]>
// CHECK-SAME: attributes {heddle.ops = ["attn.attention"], needed_flops = [#tile.products<flops = 224, extents = [0, 2], query = 0, key = 1, right = 0>]} {
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<0.180336878> : tensor<64x128xf32>
// CHECK: %[[PROGRAM:.*]] = tile.program_id x
// CHECK: %[[KEYS:.*]] = memref.dim %[[K]], %c1
// CHECK: memref.subview %[[K]][%{{.*}}, 0, %{{.*}}, 0] [1, %[[KEYS]], 1, 64] [1, 1, 1, 1] : {{.*}} to memref<?x64xf16, strided<[?, 1], offset: ?>>
// CHECK: %[[QUERIES:.*]] = tile.load %{{.*}} pad(%{{.*}}) : !tile.view<?x64xf16> -> tensor<64x64xf16>

// Blocks that all queries see: no mask, no padding.
// CHECK: scf.for %[[N:.*]] = %c0 to %[[FULL:.*]] step %c128 iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %[[NONE]], %[[SUM:.*]] = %{{.*}})
// CHECK-NOT: pad(
// CHECK-NOT: tile.iota
// CHECK:   %[[S:.*]] = tile.dot %[[QUERIES]], %{{.*}} {transpose_b} : tensor<64x64xf16>, tensor<128x64xf16> -> tensor<64x128xf32>
// CHECK:   %[[BLOCK_MAX:.*]] = tile.reduce max %[[S]] along 1
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[BLOCK_MAX]], %{{.*}} : tensor<64xf32>
// CHECK:   %[[NEW_MAX:.*]] = arith.maximumf %[[MAX]], %[[SCALED]]
// CHECK:   %[[NEGATED:.*]] = arith.negf %[[NEW_MAX]]
// CHECK:   %[[BASES:.*]] = tile.broadcast %[[NEGATED]] along 1
// CHECK:   %[[LOGS:.*]] = math.fma %[[S]], %[[FACTOR]], %[[BASES]]
// CHECK:   %[[W:.*]] = math.exp2 %[[LOGS]] fastmath<afn>
// CHECK:   arith.subf %[[MAX]], %[[NEW_MAX]]
// CHECK:   tile.reduce add %[[W]] along 1
// CHECK:   %[[ROUNDED:.*]] = arith.truncf %[[W]] : tensor<64x128xf32> to tensor<64x128xf16>
// CHECK:   tile.dot %[[ROUNDED]], %{{.*}} : tensor<64x128xf16>, tensor<128x48xf16> -> tensor<64x48xf32>

// The others, in smaller blocks.
// CHECK: scf.for %[[N:.*]] = %[[FULL]] to %{{.*}} step %c32
// CHECK:   tile.load {{.*}} pad(
// CHECK:   %[[S:.*]] = tile.dot
// CHECK:   %[[COLUMN:.*]] = tile.iota along 1 : tensor<64x32xi32>
// CHECK:   %[[FIRST:.*]] = arith.subi %{{.*}}, %[[N]] : index
// CHECK:   %[[LAST:.*]] = tile.iota along 0 start(%[[FIRST]]) : tensor<64x32xi32>
// CHECK:   %[[VISIBLE:.*]] = arith.cmpi sle, %[[COLUMN]], %[[LAST]]
// CHECK:   arith.select %[[VISIBLE]], %[[S]], %{{.*}}
// A row that sees no key of the block keeps the lowest maximum: there is no case for it.
// CHECK-NOT: arith.cmpf
// CHECK: scf.yield

// CHECK: arith.truncf %{{.*}} : tensor<64x48xf32> to tensor<64x48xf16>
// CHECK: tile.store %{{.*}} : tensor<64x48xf16>, !tile.view<?x48xf16>
// CHECK: tile.view %[[LSE]][%{{.*}}, %{{.*}}, :]
// CHECK: tile.store %{{.*}} : tensor<64xf32>, !tile.view<?xf32>
// CHECK: tile.return

// -----

// Heads of a group are computed side by side, four of them at most, and share keys and values. A row's query is the rest of its number
// by 32; rows are split into heads again where they are stored.
// CHECK-LABEL: func.func @shared
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c32
// CHECK: %[[GROUPS:.*]] = arith.muli %{{.*}}, %c2
// CHECK: %[[PROGRAMS:.*]] = arith.muli %[[BLOCKS]], %[[GROUPS]]
// CHECK: tile.dispatch @attention grid(%[[PROGRAMS]], %c1, %c1)
func.func @shared(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x1x64xf32>) -> (tensor<?x?x8x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = attn.attention %q, %k, %k {causal, return_lse}
      : (tensor<?x?x8x64xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32>) -> (tensor<?x?x8x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x?x8x64xf32>, tensor<?x8x?xf32>
}

// CHECK-LABEL: tile.kernel private @attention(
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<31> : tensor<128x32xi32>
// CHECK-COUNT-4: tile.load {{.*}} -> tensor<32x64xf32>
// CHECK: %[[QUERIES:.*]] = tile.concat {{.*}} along 0 : {{.*}} -> tensor<128x64xf32>
// CHECK: scf.for
// CHECK: tile.dot %[[QUERIES]], %{{.*}} {transpose_b} : tensor<128x64xf32>, tensor<64x64xf32> -> tensor<128x64xf32>
// CHECK: scf.for
// CHECK: tile.dot %[[QUERIES]], %{{.*}} {transpose_b} : tensor<128x64xf32>, tensor<32x64xf32> -> tensor<128x32xf32>
// CHECK: %[[ROW:.*]] = tile.iota along 0 {{.*}}: tensor<128x32xi32>
// CHECK: arith.andi %[[ROW]], %[[MASK]]
// CHECK: tile.slice %{{.*}}[96, 0] : tensor<128x64xf32> -> tensor<32x64xf32>
// CHECK: tile.slice %{{.*}}[96] : tensor<128xf32> -> tensor<32xf32>

// -----

// A sink of each head is below those of the heads before it.
// CHECK-LABEL: func.func @sinks
// CHECK: tile.dispatch @attention grid
// CHECK-LABEL: tile.kernel private @attention(
// CHECK: tile.concat {{.*}} along 0 : {{.*}} -> tensor<128x64xf32>
// CHECK-COUNT-4: tensor.splat %{{.*}} : tensor<32xf32>
// CHECK: tile.concat {{.*}} along 0 : {{.*}} -> tensor<128xf32>
func.func @sinks(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x1x64xf32>, %sinks: tensor<8xf32>) -> tensor<?x?x8x64xf32> {
  %o = attn.attention %q, %k, %k sinks(%sinks : tensor<8xf32>) {causal}
      : (tensor<?x?x8x64xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32>) -> tensor<?x?x8x64xf32>
  return %o : tensor<?x?x8x64xf32>
}

// -----

// So are a bias's rows; a mask that all heads have is loaded once. Tiles of both leave room for half as many rows.
// CHECK-LABEL: func.func @bias_and_mask
// CHECK-LABEL: tile.kernel private @attention(
// CHECK: tile.dot {{.*}} -> tensor<64x64xf32>
// CHECK-COUNT-2: tile.load {{.*}} -> tensor<32x64xf32>
// CHECK: tile.concat {{.*}} along 0 : tensor<32x64xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
// CHECK: %[[MASK:.*]] = tile.load {{.*}} -> tensor<32x64xi1>
// CHECK: tile.concat %[[MASK]], %[[MASK]] along 0
func.func @bias_and_mask(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x1x64xf32>, %bias: tensor<1x8x?x?xf32>, %mask: tensor<?x1x?x?xi1>) -> tensor<?x?x8x64xf32> {
  %o = attn.attention %q, %k, %k bias(%bias : tensor<1x8x?x?xf32>) mask(%mask : tensor<?x1x?x?xi1>)
      : (tensor<?x?x8x64xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32>) -> tensor<?x?x8x64xf32>
  return %o : tensor<?x?x8x64xf32>
}

// -----

// A score region has one head for all scores.
// CHECK-LABEL: func.func @region
// CHECK-LABEL: tile.kernel private @attention(
// CHECK-NOT: tile.concat
func.func @region(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x1x64xf32>) -> tensor<?x?x8x64xf32> {
  %o = attn.attention %q, %k, %k {causal} : (tensor<?x?x8x64xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x64xf32>) -> tensor<?x?x8x64xf32> score(%s, %b, %h, %p, %j) {
    %twice = arith.addf %s, %s : f32
    attn.yield %twice : f32
  }
  return %o : tensor<?x?x8x64xf32>
}
