// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-multibuffer))' --split-input-file | FileCheck %s

// A reduction across two warps along the row: 2 x 4 parts of each row meet in shared memory, and each thread that holds the row reads
// its lane's two of them; a quad reduces them.

#acc = #tile.layout<16x32, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(0, 16)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(0)]>

// CHECK-DAG: #[[ACC:.*]] = #tile.layout<16x32, register
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(0)]>
// CHECK-DAG: #[[PARTS:.*]] = #tile.layout<16x8, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], warp = [(0, 4)]>
// CHECK-DAG: #[[GATHERED:.*]] = #tile.layout<16x8, register = [(8, 0), (0, 4)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], warp = [(0, 0)]>
// CHECK-LABEL: tile.kernel @reduce
tile.kernel @reduce(%x: memref<16x32xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<16x32xf32> -> !tile.view<16x32xf32>
  %yv = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  %t = tile.load %xv[%c0, %c0] : !tile.view<16x32xf32> -> tensor<16x32xf32, #acc>
  // CHECK: %[[PART:.*]] = tile_nv.reduce_in_thread max %{{.*}} along 1 : tensor<16x32xf32, #[[ACC]]> -> tensor<16x8xf32, #[[PARTS]]>
  // CHECK: tile_nv.store %[[PART]], %[[B:.*]] : tensor<16x8xf32, #[[PARTS]]>
  // CHECK: %[[ALL:.*]] = tile_nv.load %[[B]] : {{.*}} -> tensor<16x8xf32, #[[GATHERED]]>
  // CHECK: tile.reduce max %[[ALL]] along 1 : tensor<16x8xf32, #[[GATHERED]]> -> tensor<16xf32, #[[ROWS]]>
  %r = tile.reduce max %t along 1 : tensor<16x32xf32, #acc> -> tensor<16xf32, #rows>
  tile.store %r, %yv[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// -----

// Along the columns, of parts that are reduced in threads already.

#parts = #tile.layout<4x16, lane = [(1, 0), (0, 1), (0, 2), (0, 4), (0, 8)], warp = [(2, 0)]>
#columns = #tile.layout<16, lane = [(0), (1), (2), (4), (8)], warp = [(0)]>

// CHECK-LABEL: tile.kernel @reduce_columns
// CHECK-NOT: reduce_in_thread
// CHECK: tile_nv.store
// CHECK: tile_nv.load
// CHECK: tile.reduce add
tile.kernel @reduce_columns(%x: memref<4x16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<4x16xf32> -> !tile.view<4x16xf32>
  %yv = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  %t = tile.load %xv[%c0, %c0] : !tile.view<4x16xf32> -> tensor<4x16xf32, #parts>
  %r = tile.reduce add %t along 0 : tensor<4x16xf32, #parts> -> tensor<16xf32, #columns>
  tile.store %r, %yv[%c0] : tensor<16xf32, #columns>, !tile.view<16xf32>
  tile.return
}

// -----

// Conversions that rename registers stay; others go through a buffer that neither side reads with bank conflicts: an accumulator to
// rows, and rows to columns.

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#other = #tile.layout<16x64, register = [(8, 0), (0, 1), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x64, register = [(0, 1), (0, 2), (0, 4), (4, 0), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>
#line = #tile.layout<64, lane = [(1), (2), (4), (8), (16)], register = [(32)]>
#pairs = #tile.layout<64, lane = [(2), (4), (8), (16), (32)], register = [(1)]>

// CHECK-DAG: #[[SWIZZLED:.*]] = #tile.layout<16x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0)]>
// CHECK-DAG: #[[LINE:.*]] = #tile.layout<64, offset = [(1), (2), (4), (8), (16), (32)]>
// CHECK-LABEL: tile.kernel @conversions
tile.kernel @conversions(%x: memref<16x64xf16>, %y: memref<64xi1>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<16x64xf16> -> !tile.view<16x64xf16>
  %yv = tile.view %y[:] : memref<64xi1> -> !tile.view<64xi1>
  // CHECK: %[[T:.*]] = tile.load
  %t = tile.load %xv[%c0, %c0] : !tile.view<16x64xf16> -> tensor<16x64xf16, #acc>
  // CHECK: %[[SAME:.*]] = tile.convert_layout %[[T]]
  %same = tile.convert_layout %t : tensor<16x64xf16, #acc> -> tensor<16x64xf16, #other>
  // CHECK: tile_nv.store %[[SAME]], %[[B:.*]] : {{.*}}, !tile_nv.buffer<16x64xf16, #[[SWIZZLED]]>
  // CHECK: tile_nv.load %[[B]]
  %rows = tile.convert_layout %same : tensor<16x64xf16, #other> -> tensor<16x64xf16, #blocked>
  tile.store %rows, %xv[%c0, %c0] : tensor<16x64xf16, #blocked>, !tile.view<16x64xf16>
  %m = tile.load %yv[%c0] : !tile.view<64xi1> -> tensor<64xi1, #line>
  // CHECK: tile_nv.store %{{.*}}, %[[C:.*]] : {{.*}}, !tile_nv.buffer<64xi1, #[[LINE]]>
  // CHECK: tile_nv.load %[[C]]
  %p = tile.convert_layout %m : tensor<64xi1, #line> -> tensor<64xi1, #pairs>
  tile.store %p, %yv[%c0] : tensor<64xi1, #pairs>, !tile.view<64xi1>
  tile.return
}

// -----

// Branches: warps that hold whole rows, and all of the condition of these rows, take them on their own. Not so where a row is spread over
// warps, where the condition of a row is, or where the region needs other warps.

#acc = #tile.layout<32x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0)]>
#rows = #tile.layout<32, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16)]>
#swapped = #tile.layout<32, register = [(8)], lane = [(0), (0), (1), (2), (16)], warp = [(4)]>
#beside = #tile.layout<32x16, register = [(0, 1), (8, 0), (16, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(0, 8)]>
#all = #tile.layout<32, register = [(8), (16)], lane = [(0), (0), (1), (2), (4)], warp = [(0)]>

// CHECK-LABEL: tile.kernel @branches
tile.kernel @branches(%m: memref<32x16xf32>) {
  %c = arith.constant dense<true> : tensor<32xi1, #rows>
  %f = arith.constant dense<1.0> : tensor<32xf32, #rows>
  %x = arith.constant dense<2.0> : tensor<32x16xf32, #acc>
  %d = arith.constant dense<true> : tensor<32xi1, #swapped>
  %e = arith.constant dense<true> : tensor<32x16xi1, #beside>
  %y = arith.constant dense<3.0> : tensor<32x16xf32, #beside>
  %g = arith.constant dense<true> : tensor<32xi1, #all>
  %h = arith.constant dense<4.0> : tensor<32xf32, #all>
  %c0 = arith.constant 0 : index
  %v = tile.view %m[:, :] : memref<32x16xf32> -> !tile.view<32x16xf32>
  // CHECK: tile.if_any %{{.*}} : tensor<32xi1, #{{.*}}>, tensor<32x16xf32, #{{.*}}> {
  %0 = tile.if_any %c changes(%x) : tensor<32xi1, #rows>, tensor<32x16xf32, #acc> {
    %fs = tile.broadcast %f along 1 : tensor<32xf32, #rows> -> tensor<32x16xf32, #acc>
    %p = arith.mulf %x, %fs : tensor<32x16xf32, #acc>
    tile.yield %p : tensor<32x16xf32, #acc>
  }
  // CHECK: tile.store
  tile.store %0, %v[%c0, %c0] : tensor<32x16xf32, #acc>, !tile.view<32x16xf32>
  // CHECK-NOT: tile.if_any
  %1 = tile.if_any %d changes(%x) : tensor<32xi1, #swapped>, tensor<32x16xf32, #acc> {
    %p = arith.mulf %x, %x : tensor<32x16xf32, #acc>
    tile.yield %p : tensor<32x16xf32, #acc>
  }
  // CHECK: tile.store
  tile.store %1, %v[%c0, %c0] : tensor<32x16xf32, #acc>, !tile.view<32x16xf32>
  %2 = tile.if_any %e changes(%y) : tensor<32x16xi1, #beside>, tensor<32x16xf32, #beside> {
    %p = arith.mulf %y, %y : tensor<32x16xf32, #beside>
    tile.yield %p : tensor<32x16xf32, #beside>
  }
  tile.store %2, %v[%c0, %c0] : tensor<32x16xf32, #beside>, !tile.view<32x16xf32>
  %3 = tile.if_any %g changes(%y) : tensor<32xi1, #all>, tensor<32x16xf32, #beside> {
    %r = tile.reduce max %y along 1 : tensor<32x16xf32, #beside> -> tensor<32xf32, #all>
    %rs = tile.broadcast %r along 1 : tensor<32xf32, #all> -> tensor<32x16xf32, #beside>
    tile.yield %rs : tensor<32x16xf32, #beside>
  }
  // CHECK: tile.reduce max
  // CHECK: tile.store
  tile.store %3, %v[%c0, %c0] : tensor<32x16xf32, #beside>, !tile.view<32x16xf32>
  // Columns in two warps, that both know the whole condition.
  // CHECK: tile.if_any
  %4 = tile.if_any %g changes(%y) : tensor<32xi1, #all>, tensor<32x16xf32, #beside> {
    %hs = tile.broadcast %h along 1 : tensor<32xf32, #all> -> tensor<32x16xf32, #beside>
    %p = arith.mulf %y, %hs : tensor<32x16xf32, #beside>
    tile.yield %p : tensor<32x16xf32, #beside>
  }
  tile.store %4, %v[%c0, %c0] : tensor<32x16xf32, #beside>, !tile.view<32x16xf32>
  tile.return
}
