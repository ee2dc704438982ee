// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>
#shared = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>

// An accumulator is stored as pairs and comes back as rows, 16 bytes a lane.
// CHECK-LABEL: llvm.func @turn
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
// CHECK-NOT: !llvm.ptr<3> ->
tile.kernel @turn(%o: memref<?x16xf16>, %x: f32) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf16> -> !tile.view<?x16xf16>
  %buffer = tile_nv.alloc offset 2048 : !tile_nv.buffer<16x16xf16, #shared>
  %t = tensor.splat %x : tensor<16x16xf32, #acc>
  %r = arith.truncf %t : tensor<16x16xf32, #acc> to tensor<16x16xf16, #acc>
  tile_nv.store %r, %buffer : tensor<16x16xf16, #acc>, !tile_nv.buffer<16x16xf16, #shared>
  tile_nv.barrier
  %b = tile_nv.load %buffer : !tile_nv.buffer<16x16xf16, #shared> -> tensor<16x16xf16, #rows>
  tile.store %b, %view[%c0, %c0] : tensor<16x16xf16, #rows>, !tile.view<?x16xf16>
  tile.return
}

// -----

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#shared = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>

// The operand of a product is matrices of ldmatrix.
// CHECK-LABEL: llvm.func @matrices
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK-NOT: !llvm.ptr<3> ->
tile.kernel @matrices(%o: memref<?x16xf16>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf16> -> !tile.view<?x16xf16>
  %buffer = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #shared>
  %b = tile_nv.load %buffer : !tile_nv.buffer<16x16xf16, #shared> -> tensor<16x16xf16, #acc>
  tile.store %b, %view[%c0, %c0] : tensor<16x16xf16, #acc>, !tile.view<?x16xf16>
  tile.return
}

// -----

#stats = #tile.layout<32, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16)]>
#linear = #tile.layout<32, offset = [(1), (2), (4), (8), (16)]>

// A row statistic, which the four lanes of a quad hold, is written by one of them. i1 takes a byte.
// CHECK-LABEL: llvm.func @statistics
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[LANE:.*]] = arith.andi %[[TID]], %c31_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[QUAD]], %c0_i32
// CHECK: scf.if %[[FIRST]] {
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK: }
// CHECK: scf.if %[[FIRST]] {
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
// CHECK: }
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
// CHECK: arith.cmpi ne
tile.kernel @statistics(%o: memref<?xf32>, %x: f32, %y: f32) config <block = [32], warps = 2> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:] : memref<?xf32> -> !tile.view<?xf32>
  %buffer = tile_nv.alloc offset 0 : !tile_nv.buffer<32xf32, #linear>
  %flags = tile_nv.alloc offset 128 : !tile_nv.buffer<32xi1, #linear>
  %t = tensor.splat %x : tensor<32xf32, #stats>
  %u = tensor.splat %y : tensor<32xf32, #stats>
  %f = arith.cmpf olt, %t, %u : tensor<32xf32, #stats>
  tile_nv.store %t, %buffer : tensor<32xf32, #stats>, !tile_nv.buffer<32xf32, #linear>
  tile_nv.store %f, %flags : tensor<32xi1, #stats>, !tile_nv.buffer<32xi1, #linear>
  tile_nv.warp_barrier
  %b = tile_nv.load %buffer : !tile_nv.buffer<32xf32, #linear> -> tensor<32xf32, #stats>
  %g = tile_nv.load %flags : !tile_nv.buffer<32xi1, #linear> -> tensor<32xi1, #stats>
  %s = arith.select %g, %b, %u : tensor<32xi1, #stats>, tensor<32xf32, #stats>
  tile.store %s, %view[%c0] : tensor<32xf32, #stats>, !tile.view<?xf32>
  tile.return
}
