// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-allocate-shared))' --split-input-file | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-allocate-shared{budget=16384}))' --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=LESS
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-allocate-shared{chip=sm_86}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=CHIP
#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
#row = #tile.layout<64, offset = [(1), (2), (4), (8), (16), (32)]>

// Y lives after X and takes its bytes. Offsets of vectors are multiples of 16 only.
// CHECK-LABEL: tile.kernel @reuse() attributes {tile_nv.shared_bytes = 8464 : i32}
// CHECK: tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16
// CHECK: tile_nv.alloc offset 8448 : !tile_nv.buffer<4xf32
// CHECK: tile_nv.alloc offset 8192 : !tile_nv.buffer<64xf32
// CHECK: tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16
// LESS-LABEL: tile.kernel @reuse() attributes {tile_nv.shared_bytes = 8464 : i32}
tile.kernel @reuse() {
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %v = arith.constant dense<1.0> : tensor<64xf32>
  %w = arith.constant dense<1.0> : tensor<4xf32>
  %X = tile_nv.alloc : !tile
  %W = tile_nv.alloc : !tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>
  %R = tile_nv.alloc : !tile_nv.buffer<64xf32, #row>
  %Y = tile_nv.alloc : !tile
  tile_nv.store %w, %W : tensor<4xf32>, !tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>
  tile_nv.store %v, %R : tensor<64xf32>, !tile_nv.buffer<64xf32, #row>
  tile_nv.store %t, %X : tensor<64x64xf16>, !tile
  %x = tile_nv.load %X : !tile -> tensor<64x64xf16>
  tile_nv.store %t, %Y : tensor<64x64xf16>, !tile
  %y = tile_nv.load %Y : !tile -> tensor<64x64xf16>
  %u = tile_nv.load %R : !tile_nv.buffer<64xf32, #row> -> tensor<64xf32>
  %z = tile_nv.load %W : !tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>> -> tensor<4xf32>
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>

// Buffers of one loop are kept apart as long as there is room. With less, X and Y, which each trip fills first, share bytes; Z, which
// is alive when a trip ends, does not.
// CHECK-LABEL: tile.kernel @loop({{.*}} attributes {tile_nv.shared_bytes = 24576 : i32}
// LESS-LABEL: tile.kernel @loop({{.*}} attributes {tile_nv.shared_bytes = 16384 : i32}
// LESS: tile_nv.alloc offset 0
// LESS: tile_nv.alloc offset 0
// LESS: tile_nv.alloc offset 8192
tile.kernel @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %X = tile_nv.alloc : !tile
  %Y = tile_nv.alloc : !tile
  %Z = tile_nv.alloc : !tile
  tile_nv.store %t, %Z : tensor<64x64xf16>, !tile
  scf.for %i = %c0 to %n step %c1 {
    tile_nv.store %t, %X : tensor<64x64xf16>, !tile
    %x = tile_nv.load %X : !tile -> tensor<64x64xf16>
    tile_nv.store %t, %Y : tensor<64x64xf16>, !tile
    %y = tile_nv.load %Y : !tile -> tensor<64x64xf16>
    %z = tile_nv.load %Z : !tile -> tensor<64x64xf16>
    tile_nv.store %z, %Z : tensor<64x64xf16>, !tile
  }
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// A copy holds its buffer until the wait, not only until the last read.
// CHECK-LABEL: tile.kernel @in_flight({{.*}} attributes {tile_nv.shared_bytes = 16384 : i32}
// CHECK: tile_nv.alloc offset 0
// CHECK: tile_nv.alloc offset 8192
// CHECK: tile_nv.alloc offset 0
tile.kernel @in_flight(%x: memref<?x64xf16>) {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<64x64xf16>
  %view = tile.view %x[:, :] : memref<?x64xf16> -> !view
  %X = tile_nv.alloc : !tile
  %Y = tile_nv.alloc : !tile
  %Z = tile_nv.alloc : !tile
  tile_nv.copy_async %view[%c0, %c0] to %X : !view, !tile
  tile_nv.commit_group
  tile_nv.store %t, %Y : tensor<64x64xf16>, !tile
  tile_nv.wait_group 0
  tile_nv.store %t, %Z : tensor<64x64xf16>, !tile
  tile.return
}

// -----

#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// Only one of two branches runs; the wait that ends the copies of a branch stands in it.
// CHECK-LABEL: tile.kernel @branches({{.*}} attributes {tile_nv.shared_bytes = 8192 : i32}
tile.kernel @branches(%x: memref<?x64xf16>, %n: index, %which: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %view = tile.view %x[:, :] : memref<?x64xf16> -> !view
  %X = tile_nv.alloc : !tile
  %Y = tile_nv.alloc : !tile
  scf.if %which {
    scf.for %i = %c0 to %n step %c1 {
      tile_nv.copy_async %view[%i, %c0] to %X : !view, !tile
      tile_nv.commit_group
    }
    tile_nv.wait_group 0
  } else {
    scf.if %which {
      tile_nv.copy_async %view[%c0, %c0] to %Y : !view, !tile
      tile_nv.commit_group
    }
    tile_nv.wait_group 0
  }
  tile.return
}

// -----

#wide = #tile.layout<128x256, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (0, 64), (0, 128), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0), (64, 0)]>
// CHECK-LABEL: tile.kernel @large() config <block = [128, 256], stages = 2> attributes {tile_nv.shared_bytes = 131072 : i32}
// CHIP: error: kernel 'large' needs 131072 bytes of shared memory, sm_86 has 101376
// CHIP: note: a buffer of 131072 bytes: 128x256xf16 x 2 slots
// CHIP: note: a smaller block than [128, 256] in #tile.config needs less, and so do fewer stages than 2
// expected-error @below {{kernel 'large' needs 131072 bytes of shared memory, the budget is 16384}}
// expected-note @below {{a smaller block than [128, 256] in #tile.config needs less, and so do fewer stages than 2}}
tile.kernel @large() config <block = [128, 256], stages = 2> {
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<128x256xf16>
  // expected-note @below {{a buffer of 131072 bytes: 128x256xf16 x 2 slots}}
  %X = tile_nv.alloc : !tile_nv.buffer<128x256xf16, #wide, slots = 2>
  %slot = tile_nv.slot %X[%c1] : !tile_nv.buffer<128x256xf16, #wide, slots = 2> -> !tile_nv.buffer<128x256xf16, #wide>
  tile_nv.store %t, %slot : tensor<128x256xf16>, !tile_nv.buffer<128x256xf16, #wide>
  tile.return
}
