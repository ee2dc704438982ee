// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-skip-trips))' | FileCheck %s
// RUN: heddle-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-skip-trips,tile-verify-sync))' --remarks-filter=tile-skip-trips --remark-format=emitRemark 2>&1 >%t.mlir | FileCheck %s --check-prefix=REMARK

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#plain = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>

// Work is branched between fences; scalars, free tiles and copies are not. What is handed on to the next run is 0 for warps that skip.
// CHECK-LABEL: tile.kernel private @branches
// CHECK: %[[SEES:.*]] = arith.cmpi
// CHECK-NOT: tile.skip_unless
// CHECK: tile_nv.barrier
// CHECK: %[[NONE:.*]] = arith.constant dense<0.000000e+00>
// CHECK: %[[S:.*]] = tile.if_any %[[SEES]] changes(%[[NONE]])
// CHECK: %[[DOT:.*]] = tile_nv.dot
// CHECK-NEXT: tile.yield %[[DOT]]
// CHECK: tile_nv.wait_group 0
// CHECK: tile_nv.barrier
// CHECK: tile_nv.copy_async
// CHECK: tile_nv.commit_group
// CHECK: %[[FREE:.*]] = tensor.splat
// CHECK: %[[NEW:.*]]:2 = tile.if_any %[[SEES]] changes(%{{.*}}, %{{.*}})
// CHECK: arith.addf %[[S]]
// CHECK: tile.reduce max
// CHECK: tile.yield
// CHECK: scf.yield %[[NEW]]#{{[01]}}, %[[NEW]]#{{[01]}}
// REMARK-NOT: branches
tile.kernel private @branches(%m: memref<?x16xf16>, %q: memref<64x16xf16>, %n: index) config <block = [64, 16], warps = 4> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %zeros = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %limits = arith.constant dense<40> : tensor<64xi32, #rows>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x16xf16, #tile.layout<64x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>>
  %keys = tile_nv.alloc offset 2048 : !tile_nv.buffer<16x16xf16, #plain>
  %values = tile_nv.alloc offset 4096 : !tile_nv.buffer<16x16xf16, #plain>
  %view = tile.view %m[:, :] : memref<?x16xf16> -> !tile.view<?x16xf16>
  %r:2 = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zero, %max = %zeros) -> (tensor<64x16xf32, #acc>, tensor<64xf32, #rows>) {
    %row = tile.iota along 0 : tensor<64xi32, #rows>
    %sees = arith.cmpi sle, %limits, %row : tensor<64xi32, #rows>
    tile.skip_unless %sees : tensor<64xi1, #rows>
    tile_nv.wait_group 0
    tile_nv.barrier
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x16xf16, #tile.layout<64x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>>, !tile_nv.buffer<16x16xf16, #plain> -> tensor<64x16xf32, #acc>
    tile_nv.wait_group 0
    tile_nv.barrier
    %next = arith.addi %i, %c16 : index
    tile_nv.copy_async %view[%next, %c0] to %keys bounded : !tile.view<?x16xf16>, !tile_nv.buffer<16x16xf16, #plain>
    tile_nv.commit_group
    %one = arith.constant 1.0 : f32
    %ones = tensor.splat %one : tensor<64x16xf32, #acc>
    %t = arith.addf %s, %ones : tensor<64x16xf32, #acc>
    %blockmax = tile.reduce max %t along 1 : tensor<64x16xf32, #acc> -> tensor<64xf32, #rows>
    %newmax = arith.maximumf %max, %blockmax : tensor<64xf32, #rows>
    %new = arith.addf %acc, %t : tensor<64x16xf32, #acc>
    scf.yield %new, %newmax : tensor<64x16xf32, #acc>, tensor<64xf32, #rows>
  }
  tile_nv.wait_group 0
  tile.return
}

// -----

#few = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#turned = #tile.layout<64x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(32, 0), (16, 0)]>
#memory = #tile.layout<64x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>

// An exchange between warps.
// CHECK-LABEL: tile.kernel private @exchanges
// CHECK-NOT: tile.if_any
// CHECK-NOT: tile.skip_unless
// CHECK: tile.return
// REMARK: no warp skips a trip: 'tile_nv.store' reads a tile that warps may leave out
tile.kernel private @exchanges(%n: index) config <block = [64, 16], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %sees = arith.constant dense<true> : tensor<64xi1, #few>
  %buffer = tile_nv.alloc offset 0 : !tile_nv.buffer<64x16xf32, #memory>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x16xf32, #acc>) {
    tile.skip_unless %sees : tensor<64xi1, #few>
    %t = arith.addf %acc, %acc : tensor<64x16xf32, #acc>
    tile_nv.store %t, %buffer : tensor<64x16xf32, #acc>, !tile_nv.buffer<64x16xf32, #memory>
    tile_nv.barrier
    %u = tile_nv.load %buffer : !tile_nv.buffer<64x16xf32, #memory> -> tensor<64x16xf32, #turned>
    tile_nv.barrier
    %s = tile.reduce add %u along 1 : tensor<64x16xf32, #turned> -> tensor<64xf32, #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(32), (16)]>>
    scf.yield %acc : tensor<64x16xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8), (32)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (0)]>
#other = #tile.layout<64, register = [(8), (16)], lane = [(0), (0), (1), (2), (4)], warp = [(32), (0)]>

// CHECK-LABEL: tile.kernel private @other_rows
// CHECK-NOT: tile.if_any
// REMARK: no warp skips a trip: warps do not hold the rows of the condition that they need
tile.kernel private @other_rows(%n: index) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %sees = arith.constant dense<true> : tensor<64xi1, #other>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%max = %zeros) -> (tensor<64xf32, #rows>) {
    tile.skip_unless %sees : tensor<64xi1, #other>
    %new = arith.addf %max, %max : tensor<64xf32, #rows>
    scf.yield %new : tensor<64xf32, #rows>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// With two conditions products have parts, besides the branches of the trip.
// CHECK-LABEL: tile.kernel private @parts
// CHECK: %[[ANY:.*]] = arith.ori %[[C0:.*]], %[[C1:.*]] :
// CHECK-NEXT: tile.if_any %[[ANY]]
// CHECK: %[[S:.*]] = tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C0]], %[[C1]] : {{.*}}) {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C0]], %[[C1]] : {{.*}}) {needs_depth} :
// CHECK-NOT: skip_unless
// REMARK-NOT: no warp
tile.kernel private @parts(%n: index, %limit: i32) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 4096 : !tile_nv.buffer<32x32xf16, #plain>
  %limits = tensor.splat %limit : tensor<64xi32, #rows>
  %more = arith.constant dense<16> : tensor<64xi32, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    %row = tile.iota along 0 : tensor<64xi32, #rows>
    %first = arith.cmpi sle, %limits, %row : tensor<64xi32, #rows>
    %second = arith.cmpi sle, %more, %row : tensor<64xi32, #rows>
    tile.skip_unless %first, %second : tensor<64xi1, #rows>, tensor<64xi1, #rows>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// Products alone, whose weights go through shared memory. A product that no other reads, and that reads none, has no parts.
// CHECK-LABEL: tile.kernel private @through_memory
// CHECK-NOT: tile.if_any
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C:.*]] : tensor<64xi1, #{{.*}}>) {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C]] : tensor<64xi1, #{{.*}}>) {needs_depth} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{[^ ]*}} :
// CHECK-NOT: skip_unless
// REMARK-NOT: no warp
tile.kernel private @through_memory(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 4096 : !tile_nv.buffer<32x32xf16, #plain>
  %weights = tile_nv.alloc offset 8192 : !tile_nv.buffer<64x32xf16, #wide>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %r:2 = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero, %other = %zero) -> (tensor<64x32xf32, #acc>, tensor<64x32xf32, #acc>) {
    tile.skip_unless %condition : tensor<64xi1, #rows>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    tile_nv.store %w, %weights : tensor<64x32xf16, #acc>, !tile_nv.buffer<64x32xf16, #wide>
    tile_nv.barrier
    %new = tile_nv.dot %weights, %keys, %acc : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %sum = tile_nv.dot %queries, %keys, %other : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    tile_nv.barrier
    scf.yield %new, %sum : tensor<64x32xf32, #acc>, tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>

// CHECK-LABEL: tile.kernel private @no_products
// CHECK-NOT: tile.if_any
// CHECK-NOT: skip_unless
// REMARK: no warp leaves out products: there are none whose parts warps can tell
tile.kernel private @no_products(%n: index) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %sees = arith.constant dense<true> : tensor<64xi1, #rows>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%max = %zeros) -> (tensor<64xf32, #rows>) {
    tile.skip_unless products %sees : tensor<64xi1, #rows>
    %new = arith.addf %max, %max : tensor<64xf32, #rows>
    scf.yield %new : tensor<64xf32, #rows>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// Scores in front of the hint are computed whole, as what it asks may depend on them.
// CHECK-LABEL: tile.kernel private @scores_in_front
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{[^ ]*}} {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[SOME:.*]] : tensor<64xi1, #{{.*}}>) {needs_depth} :
// CHECK-NOT: skip_unless
// REMARK-NOT: no warp
tile.kernel private @scores_in_front(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %least = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %max = tile.reduce max %s along 1 : tensor<64x32xf32, #acc> -> tensor<64xf32, #rows>
    %some = arith.cmpf ogt, %max, %least : tensor<64xf32, #rows>
    tile.skip_unless products %some : tensor<64xi1, #rows>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// CHECK-LABEL: tile.kernel private @all_in_front
// CHECK-NOT: needs
// CHECK-NOT: skip_unless
// CHECK: tile.return
// REMARK: no warp leaves out products: there are none whose parts warps can tell
tile.kernel private @all_in_front(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    tile.skip_unless products %condition : tensor<64xi1, #rows>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// A product that scales rows of the weights has no parts: all of its columns change them.
// CHECK-LABEL: tile.kernel private @gate
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{[^ ]*}} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C:.*]] : tensor<64xi1, #{{.*}}>) {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C]] : tensor<64xi1, #{{.*}}>) {needs_depth} :
// REMARK-NOT: no warp
tile.kernel private @gate(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless products %condition : tensor<64xi1, #rows>
    %gate = tile_nv.dot %queries, %keys, %zero : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %sum = tile.reduce add %gate along 1 : tensor<64x32xf32, #acc> -> tensor<64xf32, #rows>
    %scales = tile.broadcast %sum along 1 : tensor<64xf32, #rows> -> tensor<64x32xf32, #acc>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %scaled = arith.mulf %s, %scales : tensor<64x32xf32, #acc>
    %w = arith.truncf %scaled : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// What a buffer held before the weights were stored there has no parts.
// CHECK-LABEL: tile.kernel private @stored_twice
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{[^ ]*}} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C:.*]] : tensor<64xi1, #{{.*}}>) {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%[[C]] : tensor<64xi1, #{{.*}}>) {needs_depth} :
// REMARK-NOT: no warp
tile.kernel private @stored_twice(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %weights = tile_nv.alloc offset 4096 : !tile_nv.buffer<64x32xf16, #wide>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless products %condition : tensor<64xi1, #rows>
    %gate = tile_nv.dot %queries, %keys, %zero : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %g = arith.truncf %gate : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    tile_nv.store %g, %weights : tensor<64x32xf16, #acc>, !tile_nv.buffer<64x32xf16, #wide>
    tile_nv.barrier
    %back = tile_nv.load %weights : !tile_nv.buffer<64x32xf16, #wide> -> tensor<64x32xf16, #acc>
    %sum = tile.reduce add %back along 1 : tensor<64x32xf16, #acc> -> tensor<64xf16, #rows>
    tile_nv.barrier
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    tile_nv.store %w, %weights : tensor<64x32xf16, #acc>, !tile_nv.buffer<64x32xf16, #wide>
    tile_nv.barrier
    %new = tile_nv.dot %weights, %keys, %acc : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    tile_nv.barrier
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// Products without matrix instructions have no parts; so they stay in their branches.
// CHECK-LABEL: tile.kernel private @exact
// CHECK-NOT: needs
// CHECK: tile.if_any
// CHECK-NEXT: tile_nv.dot
// CHECK-NOT: needs
// CHECK: tile.return
// REMARK-NOT: no warp
tile.kernel private @exact(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf32, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf32, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless %condition, %condition : tensor<64xi1, #rows>, tensor<64xi1, #rows>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf32, #wide>, !tile_nv.buffer<32x32xf32, #plain> -> tensor<64x32xf32, #acc>
    tile_nv.wait_group 0
    tile_nv.barrier
    %new = tile_nv.dot %s, %keys, %acc : tensor<64x32xf32, #acc>, !tile_nv.buffer<32x32xf32, #plain> -> tensor<64x32xf32, #acc>
    tile_nv.barrier
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#other = #tile.layout<64, register = [(8), (32)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (0)]>
#moved = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(32), (16)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// Conditions of different layouts decide about products, but not together about the trip.
// CHECK-LABEL: tile.kernel private @two_layouts
// CHECK-NOT: tile.if_any
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%{{.*}}, %{{.*}} : {{.*}}) {transpose_b} :
// CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} needs(%{{.*}}, %{{.*}} : {{.*}}) {needs_depth} :
// REMARK-NOT: no warp
tile.kernel private @two_layouts(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %second = tensor.splat %sees : tensor<64xi1, #other>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless %condition, %second : tensor<64xi1, #rows>, tensor<64xi1, #other>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#other = #tile.layout<64, register = [(8), (32)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (0)]>
#moved = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(32), (16)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// CHECK-LABEL: tile.kernel private @other_rows_second
// CHECK-NOT: tile.if_any
// CHECK-NOT: needs
// CHECK: tile.return
// REMARK: no warp skips a trip: its conditions have different layouts
tile.kernel private @other_rows_second(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %second = tensor.splat %sees : tensor<64xi1, #moved>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless %condition, %second : tensor<64xi1, #rows>, tensor<64xi1, #moved>
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b} : !tile_nv.buffer<64x32xf16, #wide>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    %w = arith.truncf %s : tensor<64x32xf32, #acc> to tensor<64x32xf16, #acc>
    %new = tile_nv.dot %w, %keys, %acc : tensor<64x32xf16, #acc>, !tile_nv.buffer<32x32xf16, #plain> -> tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}

// -----

#rows = #tile.layout<64, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16), (32)]>
#acc = #tile.layout<64x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
#wide = #tile.layout<64x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
#plain = #tile.layout<32x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>

// Two hints of a loop: there are no products, but the trip is skipped.
// CHECK-LABEL: tile.kernel private @both_hints
// CHECK: tile.if_any
// CHECK-NOT: skip_unless
// REMARK: no warp leaves out products: there are none whose parts warps can tell
// REMARK-NOT: no warp
tile.kernel private @both_hints(%n: index, %sees: i1) config <block = [64, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %queries = tile_nv.alloc offset 0 : !tile_nv.buffer<64x32xf16, #wide>
  %keys = tile_nv.alloc offset 8192 : !tile_nv.buffer<32x32xf16, #plain>
  %condition = tensor.splat %sees : tensor<64xi1, #rows>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32, #acc>) {
    tile.skip_unless products %condition : tensor<64xi1, #rows>
    tile.skip_unless %condition : tensor<64xi1, #rows>
    %new = arith.addf %acc, %zero : tensor<64x32xf32, #acc>
    scf.yield %new : tensor<64x32xf32, #acc>
  }
  tile.return
}
