// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-optimize-layouts))' --split-input-file | FileCheck %s

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// The sum of two loops stays split in between; the maximum is needed in each trip.

// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
// CHECK-DAG: #[[PART:.*]] = #tile.layout<16x4, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]>
// CHECK-LABEL: tile.kernel @two_loops
tile.kernel @two_loops(%o: memref<16xf32>, %w: memref<16x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x4xf32, #[[PART]]>
  %zero = arith.constant dense<0.0> : tensor<16xf32, #rows>
  %wv = tile.view %w[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  %ov = tile.view %o[:] : memref<16xf32> -> !tile.view<16xf32>
  // CHECK: %[[FIRST:.*]]:2 = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]], %{{.*}} = %{{.*}}) -> (tensor<16x4xf32, #[[PART]]>, tensor<16xf32, #[[ROWS]]>)
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %max = %zero) -> (tensor<16xf32, #rows>, tensor<16xf32, #rows>) {
    %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
    %m = tile.reduce max %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    // CHECK: %[[MAX:.*]] = arith.maximumf
    %top = arith.maximumf %max, %m : tensor<16xf32, #rows>
    // CHECK-NOT: tile.reduce add
    %s = tile.reduce add %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    // CHECK: %[[BLOCK:.*]] = tile_nv.reduce_in_thread add %{{.*}} along 1 : {{.*}} -> tensor<16x4xf32, #[[PART]]>
    // CHECK: %[[DECAY:.*]] = tile.broadcast %[[MAX]] along 1 : tensor<16xf32, #[[ROWS]]> -> tensor<16x4xf32, #[[PART]]>
    // CHECK: %[[NEXT:.*]] = math.fma %[[SUM]], %[[DECAY]], %[[BLOCK]] : tensor<16x4xf32, #[[PART]]>
    // CHECK: scf.yield %[[NEXT]], %[[MAX]]
    %next = math.fma %sum, %top, %s : tensor<16xf32, #rows>
    scf.yield %next, %top : tensor<16xf32, #rows>, tensor<16xf32, #rows>
  }
  // CHECK-NOT: tile.reduce
  // CHECK: %[[SECOND:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]#0) -> (tensor<16x4xf32, #[[PART]]>)
  %t = scf.for %i = %n to %c9 step %c1 iter_args(%sum = %r#0) -> (tensor<16xf32, #rows>) {
    %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
    %s = tile.reduce add %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    // CHECK: tile_nv.reduce_in_thread add
    // CHECK-NOT: tile.reduce
    // CHECK: math.fma %[[SUM]], %{{.*}}, %{{.*}} : tensor<16x4xf32, #[[PART]]>
    %old = arith.mulf %sum, %r#1 : tensor<16xf32, #rows>
    %next = arith.addf %s, %old : tensor<16xf32, #rows>
    scf.yield %next : tensor<16xf32, #rows>
  }
  // CHECK: %[[TOTAL:.*]] = tile.reduce add %[[SECOND]] along 1 : tensor<16x4xf32, #[[PART]]> -> tensor<16xf32, #[[ROWS]]>
  // CHECK: tile.store %[[TOTAL]]
  tile.store %t, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
#thread = #tile.layout<32x4, register = [(0, 1), (0, 2)], lane = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>
#lanes = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>

// Not split: a sum that starts with something else than 0, one that is read in the loop, and one whose rows a thread holds whole.

// CHECK-LABEL: tile.kernel @not_split
// CHECK-NOT: reduce_in_thread
tile.kernel @not_split(%o: memref<16xf32>, %w: memref<16x64xf32>, %u: memref<32x4xf32>, %v: memref<32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #rows>
  %one = arith.constant dense<1.0> : tensor<16xf32, #rows>
  %zeros = arith.constant dense<0.0> : tensor<32xf32, #lanes>
  %wv = tile.view %w[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  %uv = tile.view %u[:, :] : memref<32x4xf32> -> !tile.view<32x4xf32>
  %ov = tile.view %o[:] : memref<16xf32> -> !tile.view<16xf32>
  %vv = tile.view %v[:] : memref<32xf32> -> !tile.view<32xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %one, %b = %zero, %c = %zeros)
      -> (tensor<16xf32, #rows>, tensor<16xf32, #rows>, tensor<32xf32, #lanes>) {
    %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
    %y = tile.load %uv[%c0, %c0] : !tile.view<32x4xf32> -> tensor<32x4xf32, #thread>
    %s = tile.reduce add %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    %t = tile.reduce add %y along 1 : tensor<32x4xf32, #thread> -> tensor<32xf32, #lanes>
    %a1 = arith.addf %a, %s : tensor<16xf32, #rows>
    %b1 = arith.addf %b, %s : tensor<16xf32, #rows>
    tile.store %b, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
    %c2 = arith.addf %c, %t : tensor<32xf32, #lanes>
    scf.yield %a1, %b1, %c2 : tensor<16xf32, #rows>, tensor<16xf32, #rows>, tensor<32xf32, #lanes>
  }
  tile.store %r#0, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.store %r#2, %vv[%c0] : tensor<32xf32, #lanes>, !tile.view<32xf32>
  tile.return
}

// -----

#blocked = #tile.layout<16x64, register = [(0, 1), (0, 2), (0, 4), (4, 0), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>
#ofblocked = #tile.layout<16, register = [(4), (8)], lane = [(0), (0), (0), (1), (2)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// A sum without decay that is needed in another layout behind the loop: the conversion follows the reduction.

// CHECK-DAG: #[[PART:.*]] = #tile.layout<16x8, register = [(4, 0), (8, 0)], lane = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0)]>
// CHECK-DAG: #[[HERE:.*]] = #tile.layout<16, register = [(4), (8)], lane = [(0), (0), (0), (1), (2)]>
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
// CHECK-LABEL: tile.kernel @squares
tile.kernel @squares(%o: memref<16xf32>, %w: memref<16x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #rows>
  %wv = tile.view %w[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  %ov = tile.view %o[:] : memref<16xf32> -> !tile.view<16xf32>
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<16x8xf32, #[[PART]]>) {
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16xf32, #rows>) {
    // CHECK-NEXT: %[[X:.*]] = tile.load
    %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #blocked>
    // CHECK-NEXT: %[[P:.*]] = tile_nv.reduce_in_thread add %[[X]] along 1
    // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[P]]
    // CHECK-NEXT: scf.yield %[[NEXT]]
    %s = tile.reduce add %x along 1 : tensor<16x64xf32, #blocked> -> tensor<16xf32, #ofblocked>
    %c = tile.convert_layout %s : tensor<16xf32, #ofblocked> -> tensor<16xf32, #rows>
    %next = arith.addf %sum, %c : tensor<16xf32, #rows>
    scf.yield %next : tensor<16xf32, #rows>
  }
  // CHECK: %[[TOTAL:.*]] = tile.reduce add %[[LOOP]] along 1 : tensor<16x8xf32, #[[PART]]> -> tensor<16xf32, #[[HERE]]>
  // CHECK: %[[MOVED:.*]] = tile.convert_layout %[[TOTAL]] : tensor<16xf32, #[[HERE]]> -> tensor<16xf32, #[[ROWS]]>
  // CHECK: tile.store %[[MOVED]]
  tile.store %r, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x64, register = [(0, 1), (0, 2), (0, 4), (4, 0), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>

// Conversions move fewer bits.

// CHECK-DAG: #[[ACC:.*]] = #tile.layout<16x64, register = [(0, 1), (8, 0)
// CHECK-DAG: #[[BLOCKED:.*]] = #tile.layout<16x64, register = [(0, 1), (0, 2)
// CHECK-LABEL: tile.kernel @casts
tile.kernel @casts(%x: memref<16x64xf16>, %y: memref<16x64xf16>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<16x64xf16> -> !tile.view<16x64xf16>
  %yv = tile.view %y[:, :] : memref<16x64xf16> -> !tile.view<16x64xf16>
  // CHECK: %[[X:.*]] = tile.load
  // CHECK: %[[C:.*]] = tile.convert_layout %[[X]] : tensor<16x64xf16, #[[BLOCKED]]> -> tensor<16x64xf16, #[[ACC]]>
  // CHECK: arith.extf %[[C]] : tensor<16x64xf16, #[[ACC]]> to tensor<16x64xf32, #[[ACC]]>
  %0 = tile.load %xv[%c0, %c0] : !tile.view<16x64xf16> -> tensor<16x64xf16, #blocked>
  %1 = arith.extf %0 : tensor<16x64xf16, #blocked> to tensor<16x64xf32, #blocked>
  %2 = tile.convert_layout %1 : tensor<16x64xf32, #blocked> -> tensor<16x64xf32, #acc>
  %3 = math.exp2 %2 : tensor<16x64xf32, #acc>
  // CHECK: %[[N:.*]] = arith.truncf %{{.*}} : tensor<16x64xf32, #[[ACC]]> to tensor<16x64xf16, #[[ACC]]>
  // CHECK: %[[D:.*]] = tile.convert_layout %[[N]] : tensor<16x64xf16, #[[ACC]]> -> tensor<16x64xf16, #[[BLOCKED]]>
  // CHECK: tile.store %[[D]]
  %4 = tile.convert_layout %3 : tensor<16x64xf32, #acc> -> tensor<16x64xf32, #blocked>
  %5 = arith.truncf %4 : tensor<16x64xf32, #blocked> to tensor<16x64xf16, #blocked>
  tile.store %5, %yv[%c0, %c0] : tensor<16x64xf16, #blocked>, !tile.view<16x64xf16>
  tile.return
}

// -----

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// A sum whose factor is applied in a branch is split there, too; and each thread asks its own elements of the maximum, which crosses
// threads in the branch only.

// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
// CHECK-DAG: #[[PART:.*]] = #tile.layout<16x4, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]>
// CHECK-LABEL: tile.kernel @in_branch
tile.kernel @in_branch(%o: memref<16xf32>, %w: memref<16x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #rows>
  %factor = arith.constant dense<2.0> : tensor<16xf32, #rows>
  // CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<8.000000e+00> : tensor<16x4xf32, #[[PART]]>
  // CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<2.000000e+00> : tensor<16x4xf32, #[[PART]]>
  %limit = arith.constant dense<8.0> : tensor<16xf32, #rows>
  %wv = tile.view %w[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  %ov = tile.view %o[:] : memref<16xf32> -> !tile.view<16xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<16xf32, #[[ROWS]]>, tensor<16x4xf32, #[[PART]]>)
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%max = %zero, %sum = %zero) -> (tensor<16xf32, #rows>, tensor<16xf32, #rows>) {
    // CHECK: %[[X:.*]] = tile.load
    %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
    %m = tile.reduce max %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    %less = arith.negf %max : tensor<16xf32, #rows>
    // CHECK: %[[MINE:.*]] = tile_nv.reduce_in_thread max %[[X]] along 1 : {{.*}} -> tensor<16x4xf32, #[[PART]]>
    // CHECK: %[[LESS:.*]] = tile.broadcast %{{.*}} along 1
    // CHECK: %[[RISE:.*]] = math.fma %[[MINE]], %[[FACTOR]], %[[LESS]] : tensor<16x4xf32, #[[PART]]>
    // CHECK: %[[HAS:.*]] = arith.cmpf ogt, %[[RISE]], %[[LIMIT]] : tensor<16x4xf32, #[[PART]]>
    %rise = math.fma %m, %factor, %less : tensor<16xf32, #rows>
    %has = arith.cmpf ogt, %rise, %limit : tensor<16xf32, #rows>
    // CHECK: %[[MOVED:.*]]:2 = tile.if_any %[[HAS]] changes(%[[MAX]], %[[SUM]]) : tensor<16x4xi1, #[[PART]]>, tensor<16xf32, #[[ROWS]]>, tensor<16x4xf32, #[[PART]]> {
    %moved:2 = tile.if_any %has changes(%max, %sum) : tensor<16xi1, #rows>, tensor<16xf32, #rows>, tensor<16xf32, #rows> {
      // CHECK-NEXT: %[[ALL:.*]] = tile.reduce max %[[MINE]] along 1 : tensor<16x4xf32, #[[PART]]> -> tensor<16xf32, #[[ROWS]]>
      // CHECK-NEXT: %[[RISE_ALL:.*]] = math.fma %[[ALL]]
      // CHECK-NEXT: %[[HAS_ALL:.*]] = arith.cmpf ogt, %[[RISE_ALL]]
      // CHECK-NEXT: arith.select %[[HAS_ALL]], %[[ALL]], %[[MAX]]
      %top = arith.select %has, %m, %max : tensor<16xi1, #rows>, tensor<16xf32, #rows>
      // CHECK: %[[DECAY:.*]] = math.exp2
      %fall = arith.subf %max, %top : tensor<16xf32, #rows>
      %decay = math.exp2 %fall : tensor<16xf32, #rows>
      // CHECK: %[[DECAYS:.*]] = tile.broadcast %[[DECAY]] along 1
      // CHECK: arith.mulf %[[SUM]], %[[DECAYS]] : tensor<16x4xf32, #[[PART]]>
      %old = arith.mulf %sum, %decay : tensor<16xf32, #rows>
      tile.yield %top, %old : tensor<16xf32, #rows>, tensor<16xf32, #rows>
    }
    // CHECK: %[[BLOCK:.*]] = tile_nv.reduce_in_thread add %[[X]] along 1
    // CHECK: arith.addf %[[MOVED]]#1, %[[BLOCK]] : tensor<16x4xf32, #[[PART]]>
    %s = tile.reduce add %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
    %next = arith.addf %moved#1, %s : tensor<16xf32, #rows>
    scf.yield %moved#0, %next : tensor<16xf32, #rows>, tensor<16xf32, #rows>
  }
  tile.store %r#1, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>

// A maximum that is read behind the branch, and one that is multiplied by a negative number, are known to all threads before.

// CHECK-LABEL: tile.kernel @read_elsewhere
// CHECK-NOT: reduce_in_thread
tile.kernel @read_elsewhere(%o: memref<16xf32>, %w: memref<16x64xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #rows>
  %one = arith.constant dense<1.0> : tensor<16xf32, #rows>
  %negative = arith.constant dense<-1.0> : tensor<16xf32, #rows>
  %wv = tile.view %w[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  %ov = tile.view %o[:] : memref<16xf32> -> !tile.view<16xf32>
  %x = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
  %m = tile.reduce max %x along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
  %rise = math.fma %m, %one, %zero : tensor<16xf32, #rows>
  %has = arith.cmpf ogt, %rise, %zero : tensor<16xf32, #rows>
  %moved = tile.if_any %has changes(%zero) : tensor<16xi1, #rows>, tensor<16xf32, #rows> {
    tile.yield %m : tensor<16xf32, #rows>
  }
  %y = tile.load %wv[%c0, %c0] : !tile.view<16x64xf32> -> tensor<16x64xf32, #acc>
  %m1 = tile.reduce max %y along 1 : tensor<16x64xf32, #acc> -> tensor<16xf32, #rows>
  %rise1 = math.fma %m1, %negative, %zero : tensor<16xf32, #rows>
  %has1 = arith.cmpf ogt, %rise1, %zero : tensor<16xf32, #rows>
  %moved1 = tile.if_any %has1 changes(%moved) : tensor<16xi1, #rows>, tensor<16xf32, #rows> {
    tile.yield %m1 : tensor<16xf32, #rows>
  }
  %sum = arith.addf %m, %moved1 : tensor<16xf32, #rows>
  tile.store %sum, %ov[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}
