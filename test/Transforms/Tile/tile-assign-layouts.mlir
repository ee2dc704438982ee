// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts,canonicalize,cse))' --split-input-file | FileCheck %s

// Two products as in attention: two warps along M, everything that follows in the accumulator's layout, the weights already in that of
// the second product's operand.

// CHECK-DAG: #[[BLOCKED:.*]] = #tile.layout<32x64, register = [(0, 1), (0, 2), (0, 4), (8, 0), (16, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)], warp = [(4, 0)]>
// CHECK-DAG: #[[Q:.*]] = #tile.layout<32x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0)]>
// CHECK-DAG: #[[ACC:.*]] = #tile.layout<32x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0)]>
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<32, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16)]>
// CHECK-DAG: #[[KEYS:.*]] = #tile.layout<16x64, register = [(0, 1), (0, 2), (0, 4), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)], warp = [(4, 0)]>
// CHECK-LABEL: tile.kernel @chained
tile.kernel @chained(%q: memref<32x64xf16>, %k: memref<?x64xf16>, %o: memref<32x64xf16>, %n: index) config <block = [32, 16], warps = 2> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0xFF800000> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<32x16xf32>
  %qv = tile.view %q[:, :] : memref<32x64xf16> -> !tile.view<32x64xf16>
  %kv = tile.view %k[:, :] : memref<?x64xf16> -> !tile.view<?x64xf16>
  %ov = tile.view %o[:, :] : memref<32x64xf16> -> !tile.view<32x64xf16>
  // CHECK: %[[LOAD:.*]] = tile.load {{.*}} -> tensor<32x64xf16, #[[BLOCKED]]>
  // CHECK: %[[QUERIES:.*]] = tile.convert_layout %[[LOAD]] : tensor<32x64xf16, #[[BLOCKED]]> -> tensor<32x64xf16, #[[Q]]>
  %queries = tile.load %qv[%c0, %c0] : !tile.view<32x64xf16> -> tensor<32x64xf16>
  // CHECK: scf.for {{.*}} -> (tensor<32x64xf32, #[[Q]]>, tensor<32xf32, #[[ROWS]]>)
  %r:2 = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero, %max = %none) -> (tensor<32x64xf32>, tensor<32xf32>) {
    // CHECK: %[[KEYS1:.*]] = tile.load {{.*}} -> tensor<16x64xf16, #[[KEYS]]>
    %keys = tile.load %kv[%i, %c0] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    // CHECK: tile.dot %[[QUERIES]], %[[KEYS1]], %{{.*}} {transpose_b} : {{.*}} -> tensor<32x16xf32, #[[ACC]]>
    %s = tile.dot %queries, %keys, %zeros {transpose_b} : tensor<32x64xf16>, tensor<16x64xf16> -> tensor<32x16xf32>
    %m = tile.reduce max %s along 1 : tensor<32x16xf32> -> tensor<32xf32>
    // CHECK: arith.maximumf {{.*}} : tensor<32xf32, #[[ROWS]]>
    %top = arith.maximumf %max, %m : tensor<32xf32>
    // CHECK: tile.broadcast {{.*}} : tensor<32xf32, #[[ROWS]]> -> tensor<32x16xf32, #[[ACC]]>
    %b = tile.broadcast %top along 1 : tensor<32xf32> -> tensor<32x16xf32>
    %x = arith.subf %s, %b : tensor<32x16xf32>
    // CHECK: tile.iota along 1 : tensor<32x16xi32, #[[ACC]]>
    %column = tile.iota along 1 : tensor<32x16xi32>
    %row = tile.iota along 0 : tensor<32x16xi32>
    %visible = arith.cmpi sle, %column, %row : tensor<32x16xi32>
    %y = arith.select %visible, %x, %zeros : tensor<32x16xi1>, tensor<32x16xf32>
    // CHECK: %[[W:.*]] = arith.truncf {{.*}} to tensor<32x16xf16, #[[ACC]]>
    // CHECK-NOT: convert_layout
    // CHECK: tile.dot %[[W]], %{{.*}} : tensor<32x16xf16, #[[ACC]]>, tensor<16x64xf16, #[[KEYS]]> -> tensor<32x64xf32, #[[Q]]>
    %w = arith.truncf %y : tensor<32x16xf32> to tensor<32x16xf16>
    %values = tile.load %kv[%i, %c0] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    %p = tile.dot %w, %values, %acc : tensor<32x16xf16>, tensor<16x64xf16> -> tensor<32x64xf32>
    scf.yield %p, %top : tensor<32x64xf32>, tensor<32xf32>
  }
  %out = arith.truncf %r#0 : tensor<32x64xf32> to tensor<32x64xf16>
  // CHECK: %[[OUT:.*]] = tile.convert_layout %{{.*}} : tensor<32x64xf16, #[[Q]]> -> tensor<32x64xf16, #[[BLOCKED]]>
  // CHECK: tile.store %[[OUT]]
  tile.store %out, %ov[%c0, %c0] : tensor<32x64xf16>, !tile.view<32x64xf16>
  tile.return
}

// -----

// Without products: one blocked layout for all, and no conversion. The f32 store has the same vectors as the f16 load: 4 elements.

// CHECK-DAG: #[[TILE:.*]] = #tile.layout<4x512, register = [(0, 1), (0, 2), (0, 128), (0, 256)], lane = [(0, 4), (0, 8), (0, 16), (0, 32), (0, 64)], warp = [(1, 0), (2, 0)]>
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<4, lane = [(0), (0), (0), (0), (0)], warp = [(1), (2)]>
// CHECK-DAG: #[[COLUMNS:.*]] = #tile.layout<512, register = [(1), (2), (128), (256)], lane = [(4), (8), (16), (32), (64)], warp = [(0), (0)]>
// CHECK-LABEL: tile.kernel @norm
tile.kernel @norm(%x: memref<?x512xf16>, %w: memref<512xf16>, %y: memref<?x512xf32>, %row: index) config <block = [4], warps = 4> {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<?x512xf16> -> !tile.view<?x512xf16>
  %wv = tile.view %w[:] : memref<512xf16> -> !tile.view<512xf16>
  %yv = tile.view %y[:, :] : memref<?x512xf32> -> !tile.view<?x512xf32>
  // CHECK: tile.load {{.*}} -> tensor<4x512xf16, #[[TILE]]>
  %t = tile.load %xv[%row, %c0] : !tile.view<?x512xf16> -> tensor<4x512xf16>
  %f = arith.extf %t : tensor<4x512xf16> to tensor<4x512xf32>
  // CHECK: tile.reduce add {{.*}} -> tensor<4xf32, #[[ROWS]]>
  %sum = tile.reduce add %f along 1 : tensor<4x512xf32> -> tensor<4xf32>
  %r = math.rsqrt %sum : tensor<4xf32>
  %b = tile.broadcast %r along 1 : tensor<4xf32> -> tensor<4x512xf32>
  %n = arith.mulf %f, %b : tensor<4x512xf32>
  // CHECK: tile.load {{.*}} -> tensor<512xf16, #[[COLUMNS]]>
  %wt = tile.load %wv[%c0] : !tile.view<512xf16> -> tensor<512xf16>
  %wf = arith.extf %wt : tensor<512xf16> to tensor<512xf32>
  %wb = tile.broadcast %wf along 0 : tensor<512xf32> -> tensor<4x512xf32>
  %o = arith.mulf %n, %wb : tensor<4x512xf32>
  // CHECK-NOT: convert_layout
  // CHECK: tile.store {{.*}} : tensor<4x512xf32, #[[TILE]]>
  tile.store %o, %yv[%row, %c0] : tensor<4x512xf32>, !tile.view<?x512xf32>
  tile.return
}

// -----

// Columns that are not known to be aligned are accessed one by one; a warp that M and N have no use for holds a copy.

// CHECK-DAG: #[[SINGLE:.*]] = #tile.layout<16x8, register = [(8, 0)], lane = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0)], warp = [(4, 0)]>
// CHECK-DAG: #[[COPIES:.*]] = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(0, 0)]>
// CHECK-LABEL: tile.kernel @small
tile.kernel @small(%a: memref<16x?xf32>, %b: memref<8x16xf32>, %i: index) config <block = [16], warps = 2> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32>
  %pad = arith.constant 0.0 : f32
  %av = tile.view %a[:, :] : memref<16x?xf32> -> !tile.view<16x?xf32>
  %bv = tile.view %b[:, :] : memref<8x16xf32> -> !tile.view<8x16xf32>
  // CHECK: tile.load {{.*}} -> tensor<16x8xf32, #[[SINGLE]]>
  %x = tile.load %av[%c0, %i] pad(%pad) : !tile.view<16x?xf32> -> tensor<16x8xf32>
  %y = tile.load %bv[%c0, %c0] : !tile.view<8x16xf32> -> tensor<8x8xf32>
  // CHECK: tile.dot {{.*}} -> tensor<16x8xf32, #[[COPIES]]>
  %d = tile.dot %x, %y, %zero : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x8xf32>
  tile.store %d, %av[%c0, %i] : tensor<16x8xf32>, !tile.view<16x?xf32>
  tile.return
}

// -----

// Halves of 24 columns and 48 columns have only blocks of 8 and 16 in common.
// CHECK-DAG: #[[HALF:.*]] = #tile.layout<64x24, {{.*}} repeat = [3 x register
// CHECK-LABEL: tile.kernel @rotate_24
tile.kernel @rotate_24(%x: memref<?x48xf32>, %y: memref<?x48xf32>) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %from = tile.view %x[:, :] : memref<?x48xf32> -> !tile.view<?x48xf32>
  %to = tile.view %y[:, :] : memref<?x48xf32> -> !tile.view<?x48xf32>
  %t = tile.load %from[%c0, %c0] pad(%zero) : !tile.view<?x48xf32> -> tensor<64x48xf32>
  // CHECK: tile.slice {{.*}} -> tensor<64x24xf32, #[[HALF]]>
  %left = tile.slice %t[0, 0] : tensor<64x48xf32> -> tensor<64x24xf32>
  %right = tile.slice %t[0, 24] : tensor<64x48xf32> -> tensor<64x24xf32>
  %negated = arith.negf %right : tensor<64x24xf32>
  // CHECK: tile.concat {{.*}} : tensor<64x24xf32, #[[HALF]]>, tensor<64x24xf32, #[[HALF]]>
  %r = tile.concat %negated, %left along 1 : tensor<64x24xf32>, tensor<64x24xf32> -> tensor<64x48xf32>
  tile.store %r, %to[%c0, %c0] : tensor<64x48xf32>, !tile.view<?x48xf32>
  tile.return
}

// -----

// A branch gives tiles in the layouts that it takes; its condition has the one that it is computed in.
// CHECK-DAG: #[[ACC:.*]] = #tile.layout<16x16, register
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<16, register
// CHECK-LABEL: tile.kernel @if_any
// CHECK: %[[S:.*]] = tile.dot {{.*}} -> tensor<16x16xf32, #[[ACC]]>
// CHECK: %[[MAX:.*]] = tile.reduce max %[[S]]
// CHECK: tile.if_any %{{.*}} changes(%[[S]], %[[MAX]]) : tensor<16xi1, #[[ROWS]]>, tensor<16x16xf32, #[[ACC]]>, tensor<16xf32, #[[ROWS]]> {
// CHECK-NOT: convert_layout
// CHECK: tile.yield %{{.*}}, %[[MAX]] : tensor<16x16xf32, #[[ACC]]>, tensor<16xf32, #[[ROWS]]>
tile.kernel @if_any(%x: memref<16x16xf16>, %y: memref<16x16xf32>) config <block = [16, 16], warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %xv = tile.view %x[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %yv = tile.view %y[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %a = tile.load %xv[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16>
  %s = tile.dot %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %max = tile.reduce max %s along 1 : tensor<16x16xf32> -> tensor<16xf32>
  %is = arith.cmpf ogt, %max, %zeros : tensor<16xf32>
  %r:2 = tile.if_any %is changes(%s, %max) : tensor<16xi1>, tensor<16x16xf32>, tensor<16xf32> {
    %m = tile.broadcast %max along 1 : tensor<16xf32> -> tensor<16x16xf32>
    %p = arith.mulf %s, %m : tensor<16x16xf32>
    tile.yield %p, %max : tensor<16x16xf32>, tensor<16xf32>
  }
  %m = tile.broadcast %r#1 along 1 : tensor<16xf32> -> tensor<16x16xf32>
  %o = arith.addf %r#0, %m : tensor<16x16xf32>
  tile.store %o, %yv[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// -----

// A scan stays in a warp: down the rows warps lie side by side, and all four have a whole row.
// CHECK-DAG: #[[$down:.+]] = #tile.layout<64x64, register = [(1, 0), {{.*}}warp = [(0, 32), (0, 0)]>
// CHECK-DAG: #[[$row:.+]] = #tile.layout<256, register = [(32), (64), (128)], lane = [(1), (2), (4), (8), (16)], warp = [(0), (0)]>
// CHECK-LABEL: @scans
tile.kernel @scans(%x: memref<64x64xf32>, %y: memref<1x256xf32>) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %v = tile.view %x[:, :] : memref<64x64xf32> -> !tile.view<64x64xf32>
  %r = tile.view %y[%c0, :] : memref<1x256xf32> -> !tile.view<256xf32>
  %t = tile.load %v[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32>
  // CHECK: tile.scan add inclusive %{{.*}} along 0 : tensor<64x64xf32, #[[$down]]>
  %s = tile.scan add inclusive %t along 0 : tensor<64x64xf32>
  tile.store %s, %v[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  %n = tile.load %r[%c0] : !tile.view<256xf32> -> tensor<256xf32>
  // CHECK: tile.scan max inclusive %{{.*}} along 0 : tensor<256xf32, #[[$row]]>
  %m = tile.scan max inclusive %n along 0 : tensor<256xf32>
  tile.store %m, %r[%c0] : tensor<256xf32>, !tile.view<256xf32>
  tile.return
}
