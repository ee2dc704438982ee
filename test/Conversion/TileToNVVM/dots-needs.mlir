// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#acc = #tile.layout<16x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>
#b = #tile.layout<32x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0), (16, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// Parts of the columns, in branches that the warp takes as one; what it leaves out stays the accumulator, and is not read.
// CHECK-LABEL: llvm.func @parts
// CHECK: %[[FIRST:.*]] = nvvm.vote.sync any
// CHECK: scf.if %[[FIRST]] -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: } else {
// CHECK: %[[SECOND:.*]] = nvvm.vote.sync any
// CHECK: scf.if %[[SECOND]]
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @parts(%o: memref<?x32xf32>, %n: i32, %m: i32) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x32xf32> -> !tile.view<?x32xf32>
  %q = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #a>
  %k = tile_nv.alloc offset 1024 : !tile_nv.buffer<32x16xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32, #acc>
  %row = tile.iota along 0 : tensor<16xi32, #rows>
  %ns = tensor.splat %n : tensor<16xi32, #rows>
  %ms = tensor.splat %m : tensor<16xi32, #rows>
  %x = arith.cmpi sle, %ns, %row : tensor<16xi32, #rows>
  %y = arith.cmpi sle, %ms, %row : tensor<16xi32, #rows>
  %s = tile_nv.dot %q, %k, %zero needs(%x, %y : tensor<16xi1, #rows>, tensor<16xi1, #rows>) {transpose_b} : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<32x16xf16, #b> -> tensor<16x32xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x32xf32, #acc>, !tile.view<?x32xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(0, 8)]>
#a = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(0)]>

// Of warps beside each other the first one has the columns of the first condition, bit 0 of 1, and the other those of the second, bit 1 of 2.
// CHECK-LABEL: llvm.func @beside
// CHECK-DAG: arith.shrui %c1_i32, %[[WARP:.*]] : i32
// CHECK-DAG: arith.shrui %c2_i32, %[[WARP]] : i32
// CHECK: nvvm.vote.sync any
// CHECK-NOT: nvvm.vote.sync
// CHECK: llvm.return
tile.kernel @beside(%o: memref<?x16xf32>, %n: i32, %m: i32) config <block = [16], warps = 2> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %q = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #a>
  %k = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x16xf16, #a>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %row = tile.iota along 0 : tensor<16xi32, #rows>
  %ns = tensor.splat %n : tensor<16xi32, #rows>
  %ms = tensor.splat %m : tensor<16xi32, #rows>
  %x = arith.cmpi sle, %ns, %row : tensor<16xi32, #rows>
  %y = arith.cmpi sle, %ms, %row : tensor<16xi32, #rows>
  %s = tile_nv.dot %q, %k, %zero needs(%x, %y : tensor<16xi1, #rows>, tensor<16xi1, #rows>) {transpose_b} : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<16x16xf16, #a> -> tensor<16x16xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// Products of one loop share a vote, those of two do not.
// CHECK-LABEL: llvm.func @loops
// CHECK: scf.for
// CHECK: nvvm.vote.sync any
// CHECK-NOT: nvvm.vote.sync
// CHECK: scf.for
// CHECK: nvvm.vote.sync any
// CHECK-NOT: nvvm.vote.sync
// CHECK: llvm.return
tile.kernel @loops(%o: memref<?x16xf32>, %n: i32, %end: index) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %q = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #a>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %row = tile.iota along 0 : tensor<16xi32, #rows>
  %ns = tensor.splat %n : tensor<16xi32, #rows>
  %x = arith.cmpi sle, %ns, %row : tensor<16xi32, #rows>
  %s = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32, #acc>) {
    %d = tile_nv.dot %q, %q, %acc needs(%x : tensor<16xi1, #rows>) : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<16x16xf16, #a> -> tensor<16x16xf32, #acc>
    %e = tile_nv.dot %q, %q, %d needs(%x : tensor<16xi1, #rows>) : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<16x16xf16, #a> -> tensor<16x16xf32, #acc>
    scf.yield %e : tensor<16x16xf32, #acc>
  }
  %t = scf.for %i = %c0 to %end step %c1 iter_args(%acc = %s) -> (tensor<16x16xf32, #acc>) {
    %d = tile_nv.dot %q, %q, %acc needs(%x : tensor<16xi1, #rows>) : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<16x16xf16, #a> -> tensor<16x16xf32, #acc>
    scf.yield %d : tensor<16x16xf32, #acc>
  }
  tile.store %t, %view[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// -----

#acc = #tile.layout<32x16, register = [(0, 1), (8, 0), (0, 8), (16, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<32x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0), (16, 0)]>
#b = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>
#rows = #tile.layout<32, register = [(8), (16)], lane = [(0), (0), (1), (2), (4)]>
#other = #tile.layout<32, register = [(0)], lane = [(1), (2), (4), (8), (16)]>

// Fragments of 16 rows are asked together where a condition has another layout. A pair of fragments has the columns of both conditions.
// CHECK-LABEL: llvm.func @layouts
// CHECK: nvvm.vote.sync any
// CHECK-NOT: nvvm.vote.sync
// CHECK: llvm.return
tile.kernel @layouts(%o: memref<?x16xf32>, %n: i32, %m: i32) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %q = tile_nv.alloc offset 0 : !tile_nv.buffer<32x16xf16, #a>
  %k = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x16xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<32x16xf32, #acc>
  %row = tile.iota along 0 : tensor<32xi32, #rows>
  %ns = tensor.splat %n : tensor<32xi32, #rows>
  %x = arith.cmpi sle, %ns, %row : tensor<32xi32, #rows>
  %lane = tile.iota along 0 : tensor<32xi32, #other>
  %ms = tensor.splat %m : tensor<32xi32, #other>
  %y = arith.cmpi sle, %ms, %lane : tensor<32xi32, #other>
  %s = tile_nv.dot %q, %k, %zero needs(%x, %y : tensor<32xi1, #rows>, tensor<32xi1, #other>) {transpose_b} : !tile_nv.buffer<32x16xf16, #a>, !tile_nv.buffer<16x16xf16, #b> -> tensor<32x16xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<32x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}
