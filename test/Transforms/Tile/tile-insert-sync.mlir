// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-insert-sync,tile-verify-sync))' --split-input-file --verify-diagnostics | FileCheck %s
#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>
// A warp has 16 rows in #rows and #pairs, by other lanes, and 16 columns in #columns.
#rows = #tile.layout<64x64, register = [(0, 1), (0, 2), (0, 4), (4, 0), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)], warp = [(16, 0), (32, 0)]>
#pairs = #tile.layout<64x64, register = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16)], lane = [(0, 32), (1, 0), (2, 0), (4, 0), (8, 0)], warp = [(16, 0), (32, 0)]>
#columns = #tile.layout<64x64, register = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0)], lane = [(2, 0), (4, 0), (8, 0), (16, 0), (32, 0)], warp = [(0, 16), (0, 32)]>

// Two barriers a trip: each makes what has arrived visible, and frees the buffer that is copied to next. None where nothing is shared.
// CHECK-LABEL: tile.kernel @one_buffer(
// CHECK-NOT: tile_nv.barrier
// CHECK: scf.for
// CHECK-NEXT: tile_nv.wait_group 0
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile_nv.copy_async
// CHECK-NEXT: tile_nv.commit_group
// CHECK-NEXT: tile_nv.dot
// CHECK-NEXT: tile_nv.wait_group 0
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile_nv.barrier
// CHECK: tile.return
tile.kernel @one_buffer(%k: memref<?x64xf16>, %v: memref<?x64xf16>, %n: index) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = arith.constant dense<1.0> : tensor<64x64xf16>
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %values = tile.view %v[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile
  %V = tile_nv.alloc offset 8192 : !tile
  %limit = arith.subi %n, %c64 : index
  tile_nv.copy_async %keys[%c0, %c0] to %K bounded : !view, !tile
  tile_nv.commit_group
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile_nv.wait_group 0
    tile_nv.copy_async %values[%i, %c0] to %V : !view, !tile
    tile_nv.commit_group
    %s = tile_nv.dot %q, %K, %zero {transpose_b} : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    tile_nv.wait_group 0
    %more = arith.cmpi slt, %i, %limit : index
    scf.if %more {
      %next = arith.addi %i, %c64 : index
      tile_nv.copy_async %keys[%next, %c0] to %K : !view, !tile
    }
    tile_nv.commit_group
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %o = tile_nv.dot %p, %V, %acc : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    scf.yield %o : tensor<64x64xf32>
  }
  tile_nv.wait_group 0
  tile.return
}

// One barrier a trip: the slot that is copied to is the one that the trip before has read.
// CHECK-LABEL: tile.kernel @ring(
// CHECK-NOT: tile_nv.barrier
// CHECK: tile_nv.wait_group 1
// CHECK: tile_nv.barrier
// CHECK-NEXT: scf.if
// CHECK-NOT: tile_nv.barrier
// CHECK: tile.return
tile.kernel @ring(%k: memref<?x64xf16>, %n: index) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16, #tile, slots = 3>
  %first = tile_nv.slot %K[%c0] : !tile_nv.buffer<64x64xf16, #tile, slots = 3> -> !tile
  tile_nv.copy_async %keys[%c0, %c0] to %first bounded : !view, !tile
  tile_nv.commit_group
  %second = tile_nv.slot %K[%c1] : !tile_nv.buffer<64x64xf16, #tile, slots = 3> -> !tile
  tile_nv.copy_async %keys[%c1, %c0] to %second bounded : !view, !tile
  tile_nv.commit_group
  %limit = arith.subi %n, %c2 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %read = %c0) -> (tensor<64x64xf32>, index) {
    tile_nv.wait_group 1
    %more = arith.cmpi slt, %i, %limit : index
    scf.if %more {
      %isFirst = arith.cmpi eq, %read, %c0 : index
      %before = arith.subi %read, %c1 : index
      %write = arith.select %isFirst, %c2, %before : index
      %target = tile_nv.slot %K[%write] : !tile_nv.buffer<64x64xf16, #tile, slots = 3> -> !tile
      tile_nv.copy_async %keys[%i, %c0] to %target : !view, !tile
    }
    tile_nv.commit_group
    %now = tile_nv.slot %K[%read] : !tile_nv.buffer<64x64xf16, #tile, slots = 3> -> !tile
    %o = tile_nv.dot %a, %now, %acc : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    %isLast = arith.cmpi eq, %read, %c2 : index
    %increased = arith.addi %read, %c1 : index
    %next = arith.select %isLast, %c0, %increased : index
    scf.yield %o, %next : tensor<64x64xf32>, index
  }
  tile_nv.wait_group 0
  tile.return
}

// What a thread wrote, it reads without a barrier; what its warp wrote, behind a barrier of the warp; also from trip to trip.
// CHECK-LABEL: tile.kernel @threads(
// CHECK: tile_nv.store
// CHECK-NEXT: tile_nv.load
// CHECK-NEXT: tile_nv.warp_barrier
// CHECK-NEXT: tile_nv.load
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile_nv.load
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile_nv.warp_barrier
// CHECK-NEXT: tile_nv.store
// CHECK-NEXT: tile_nv.warp_barrier
// CHECK-NEXT: tile_nv.load
// CHECK-NEXT: }
tile.kernel @threads(%n: index) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16, #rows>
  %X = tile_nv.alloc offset 0 : !tile
  tile_nv.store %t, %X : tensor<64x64xf16, #rows>, !tile
  %own = tile_nv.load %X : !tile -> tensor<64x64xf16, #rows>
  %pairs = tile_nv.load %X : !tile -> tensor<64x64xf16, #pairs>
  %columns = tile_nv.load %X : !tile -> tensor<64x64xf16, #columns>
  scf.for %i = %c0 to %n step %c1 {
    tile_nv.store %t, %X : tensor<64x64xf16, #rows>, !tile
    %again = tile_nv.load %X : !tile -> tensor<64x64xf16, #pairs>
  }
  tile.return
}

// Buffers that share bytes; a barrier stands in front of the branch, and outside of the loop where that is enough.
// CHECK-LABEL: tile.kernel @bytes(
// CHECK: tile_nv.store
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile_nv.load
// CHECK-NEXT: }
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile_nv.store
// CHECK-NEXT: }
// CHECK-NEXT: tile.return
tile.kernel @bytes(%n: index, %flag: i1) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16, #rows>
  %X = tile_nv.alloc offset 0 : !tile
  %Y = tile_nv.alloc offset 7168 : !tile
  tile_nv.store %t, %X : tensor<64x64xf16, #rows>, !tile
  scf.for %i = %c0 to %n step %c1 {
    %x = tile_nv.load %X : !tile -> tensor<64x64xf16, #columns>
  }
  scf.if %flag {
    tile_nv.store %t, %Y : tensor<64x64xf16, #rows>, !tile
  }
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>
tile.kernel @in_flight(%k: memref<?x64xf16>) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile
  // expected-note @below {{this copy}}
  tile_nv.copy_async %keys[%c0, %c0] to %K : !view, !tile
  tile_nv.commit_group
  tile_nv.commit_group
  tile_nv.wait_group 2
  // expected-error @below {{'tile_nv.load' op reads bytes of shared memory that a copy in flight writes; expected a wait for its group}}
  %x = tile_nv.load %K : !tile -> tensor<64x64xf16>
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>
tile.kernel @other_control_flow(%n: index) config <block = [64, 64], warps = 4> {
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %X = tile_nv.alloc offset 0 : !tile
  // expected-error @below {{'scf.execute_region' op uses shared memory in its regions; expected scf.for or scf.if}}
  scf.execute_region {
    tile_nv.store %t, %X : tensor<64x64xf16>, !tile
    scf.yield
  }
  tile.return
}

// -----

// What one thread has stored another one loads: barriers on both sides of the store, none around that to memory that is not loaded from.
#rows = #tile.layout<32x32, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (0, 16), (1, 0), (2, 0), (4, 0)], warp = [(8, 0), (16, 0)]>
#columns = #tile.layout<32x32, register = [(1, 0), (2, 0), (4, 0)], lane = [(8, 0), (16, 0), (0, 1), (0, 2), (0, 4)], warp = [(0, 8), (0, 16)]>

// CHECK-LABEL: tile.kernel @through_global_memory
// CHECK: tile.load
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.return
tile.kernel @through_global_memory(%x: memref<32x32xf32>, %y: memref<32x32xf32>) config <block = [32, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %yv = tile.view %y[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %a = tile.load %xv[%c0, %c0] : !tile.view<32x32xf32> -> tensor<32x32xf32, #rows>
  tile.store %a, %xv[%c0, %c0] : tensor<32x32xf32, #rows>, !tile.view<32x32xf32>
  %b = tile.load %xv[%c0, %c0] : !tile.view<32x32xf32> -> tensor<32x32xf32, #columns>
  tile.store %b, %yv[%c0, %c0] : tensor<32x32xf32, #columns>, !tile.view<32x32xf32>
  tile.return
}

// -----

// A memref that is selected is each of those that it may be.
#rows = #tile.layout<32x32, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (0, 16), (1, 0), (2, 0), (4, 0)], warp = [(8, 0), (16, 0)]>

// CHECK-LABEL: tile.kernel @selected_memory
// CHECK: tile.load
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile_nv.barrier
// CHECK-NEXT: tile.return
tile.kernel @selected_memory(%x: memref<32x32xf32>, %y: memref<32x32xf32>, %first: i1) config <block = [32, 32], warps = 4> {
  %c0 = arith.constant 0 : index
  %from = arith.select %first, %x, %y : memref<32x32xf32>
  %xv = tile.view %from[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %yv = tile.view %y[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %a = tile.load %xv[%c0, %c0] : !tile.view<32x32xf32> -> tensor<32x32xf32, #rows>
  tile.store %a, %yv[%c0, %c0] : tensor<32x32xf32, #rows>, !tile.view<32x32xf32>
  tile.return
}
