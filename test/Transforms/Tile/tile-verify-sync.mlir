// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-verify-sync))' --split-input-file --verify-diagnostics -o /dev/null
#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

tile.kernel @right(%k: memref<?x64xf16>) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile
  tile_nv.copy_async %keys[%c0, %c0] to %K : !view, !tile
  tile_nv.commit_group
  tile_nv.commit_group
  tile_nv.wait_group 1
  tile_nv.barrier
  %x = tile_nv.load %K : !tile -> tensor<64x64xf16>
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// The barrier stands in front of the wait.
tile.kernel @early_barrier(%k: memref<?x64xf16>) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 1024 : !tile
  // expected-note @below {{this copy writes to them}}
  tile_nv.copy_async %keys[%c0, %c0] to %K : !view, !tile
  tile_nv.commit_group
  tile_nv.barrier
  tile_nv.wait_group 0
  // expected-error @below {{'tile_nv.load' op reads shared memory [1024, 9216) that other threads may not have written yet; expected a barrier between them}}
  %x = tile_nv.load %K : !tile -> tensor<64x64xf16>
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// A group that was not closed is not waited for; and what is written over is still being copied to.
tile.kernel @in_flight(%k: memref<?x64xf16>) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile
  %L = tile_nv.alloc offset 4096 : !tile
  // expected-note @below {{this copy writes to them}}
  tile_nv.copy_async %keys[%c0, %c0] to %K : !view, !tile
  tile_nv.wait_group 0
  tile_nv.barrier
  // expected-error @below {{'tile_nv.load' op reads shared memory [0, 8192) that a copy in flight writes to; expected a wait and a barrier between them}}
  %x = tile_nv.load %K : !tile -> tensor<64x64xf16>
  tile_nv.barrier
  // expected-error @below {{'tile_nv.store' op writes to shared memory [4096, 8192) that a copy in flight writes to; expected a wait and a barrier between them}}
  tile_nv.store %t, %L : tensor<64x64xf16>, !tile
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// From one trip to the next, and only on one side of a branch.
tile.kernel @loop(%n: index, %flag: i1) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %X = tile_nv.alloc offset 0 : !tile
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{'tile_nv.store' op writes to shared memory [0, 8192) that other threads may not have read yet; expected a barrier between them}}
    tile_nv.store %t, %X : tensor<64x64xf16>, !tile
    tile_nv.barrier
    // expected-note @below {{this operation reads them}}
    %x = tile_nv.load %X : !tile -> tensor<64x64xf16>
    scf.if %flag {
      tile_nv.barrier
    }
  }
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// A ring of two slots that is read one trip too early: trip t reads what it copies.
tile.kernel @ring(%k: memref<?x64xf16>, %n: index) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %keys = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %K = tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16, #tile, slots = 2>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (index) {
    tile_nv.wait_group 0
    tile_nv.barrier
    %target = tile_nv.slot %K[%slot] : !tile_nv.buffer<64x64xf16, #tile, slots = 2> -> !tile
    // expected-note @below {{this copy writes to them}}
    tile_nv.copy_async %keys[%i, %c0] to %target : !view, !tile
    tile_nv.commit_group
    %other = arith.subi %c1, %slot : index
    %right = tile_nv.slot %K[%other] : !tile_nv.buffer<64x64xf16, #tile, slots = 2> -> !tile
    %x = tile_nv.load %right : !tile -> tensor<64x64xf16>
    // expected-error @below {{'tile_nv.load' op reads shared memory [0, 8192) that a copy in flight writes to; expected a wait and a barrier between them}}
    %y = tile_nv.load %target : !tile -> tensor<64x64xf16>
    scf.yield %other : index
  }
  tile_nv.wait_group 0
  tile.return
}
