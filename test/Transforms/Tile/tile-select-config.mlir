// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-select-config{chip=sm_80}))' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-select-config{chip=sm_86}))' --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=SMALL
// RUN: not heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-select-config{chip=sm_75}))' --split-input-file 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected chip to be one of sm_80, sm_86, sm_89, sm_90, got 'sm_75'

// A chain of two products whose shape is in the table: Q is read again from shared memory, its addresses are formed anew, P is converted late.
// CHECK: tile.kernel @in_table
// CHECK-SAME: config <block = [128, 64], stages = 1, warps = 4> attributes {tile_nv.interleave = true, tile_nv.keep_operands = false, tile_nv.remat = ["a"]}
tile.kernel @in_table(%n: index) config <block = [128, 64]> {
  %q = arith.constant dense<1.0> : tensor<128x128xf16>
  %k = arith.constant dense<1.0> : tensor<64x128xf16>
  %v = arith.constant dense<1.0> : tensor<64x128xf16>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %noScores = arith.constant dense<0.0> : tensor<128x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zeros) -> tensor<128x128xf32> {
    %s = tile.dot %q, %k, %noScores {transpose_b} : tensor<128x128xf16>, tensor<64x128xf16> -> tensor<128x64xf32>
    %w = math.exp2 %s : tensor<128x64xf32>
    %p = arith.truncf %w : tensor<128x64xf32> to tensor<128x64xf16>
    %next = tile.dot %p, %v, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.return
}

// -----

// The same chain with a branch that may be skipped has an entry of its own.
// CHECK: tile.kernel @with_branch
// CHECK-SAME: config <block = [128, 64], stages = 1, warps = 4> attributes {tile_nv.interleave = false, tile_nv.keep_operands = false, tile_nv.remat = []}
tile.kernel @with_branch(%n: index) config <block = [128, 64]> {
  %q = arith.constant dense<1.0> : tensor<128x128xf16>
  %k = arith.constant dense<1.0> : tensor<64x128xf16>
  %v = arith.constant dense<1.0> : tensor<64x128xf16>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %noScores = arith.constant dense<0.0> : tensor<128x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %is = arith.constant dense<true> : tensor<128xi1>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zeros) -> tensor<128x128xf32> {
    %s = tile.dot %q, %k, %noScores {transpose_b} : tensor<128x128xf16>, tensor<64x128xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %old = tile.if_any %is changes(%acc) : tensor<128xi1>, tensor<128x128xf32> {
      %half = arith.mulf %acc, %acc : tensor<128x128xf32>
      tile.yield %half : tensor<128x128xf32>
    }
    %next = tile.dot %p, %v, %old : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.return
}

// -----

// A shape outside of the table: 16 rows allow one warp along the rows. Hints are kept, the others are completed.
// CHECK: tile.kernel @hints
// CHECK-SAME: config <block = [16, 64], stages = 1, warps = 1> attributes {tile_nv.interleave = false, tile_nv.keep_operands = false, tile_nv.remat = ["bt"]}
tile.kernel @hints(%n: index) config <block = [16, 64]>
    attributes {tile_nv.keep_operands = false, tile_nv.remat = ["bt"]} {
  %q = arith.constant dense<1.0> : tensor<16x80xf16>
  %k = arith.constant dense<1.0> : tensor<64x80xf16>
  %v = arith.constant dense<1.0> : tensor<64x80xf16>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %noScores = arith.constant dense<0.0> : tensor<16x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<16x80xf32>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zeros) -> tensor<16x80xf32> {
    %s = tile.dot %q, %k, %noScores {transpose_b} : tensor<16x80xf16>, tensor<64x80xf16> -> tensor<16x64xf32>
    %p = arith.truncf %s : tensor<16x64xf32> to tensor<16x64xf16>
    %next = tile.dot %p, %v, %acc : tensor<16x64xf16>, tensor<64x80xf16> -> tensor<16x80xf32>
    scf.yield %next : tensor<16x80xf32>
  }
  tile.return
}

// -----

// With eight warps the entry of the table does not count: each thread has room for the operand.
// CHECK: tile.kernel @more_warps
// CHECK-SAME: config <block = [128, 64], stages = 1, warps = 8> attributes {tile_nv.interleave = false, tile_nv.keep_operands = true, tile_nv.remat = []}
tile.kernel @more_warps(%n: index) config <block = [128, 64], warps = 8> {
  %q = arith.constant dense<1.0> : tensor<128x128xf16>
  %k = arith.constant dense<1.0> : tensor<64x128xf16>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %noScores = arith.constant dense<0.0> : tensor<128x64xf32>
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zeros) -> tensor<128x128xf32> {
    %s = tile.dot %q, %k, %noScores {transpose_b} : tensor<128x128xf16>, tensor<64x128xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %next = tile.dot %p, %k, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  tile.return
}

// -----

// A ring: both operands are loaded in the loop that carries the accumulator. 128x128 of 32 registers each need 4 warps; how many stages
// of 24 KB there are follows from the chip's shared memory.
// CHECK: tile.kernel @ring
// CHECK-SAME: config <block = [128, 64], stages = 3, warps = 4> attributes {tile_nv.ctas = 2 : i64,
// SMALL: tile.kernel @ring
// SMALL-SAME: config <block = [128, 64], stages = 2, warps = 4> attributes {tile_nv.ctas = 2 : i64,
tile.kernel @ring(%x: memref<?x?xf16>, %y: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<128x64xf32>
  %xs = tile.view %x[:, :] : memref<?x?xf16> -> !tile.view<?x?xf16>
  %ys = tile.view %y[:, :] : memref<?x?xf16> -> !tile.view<?x?xf16>
  %o = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zeros) -> tensor<128x64xf32> {
    %a = tile.load %xs[%c0, %i] : !tile.view<?x?xf16> -> tensor<128x64xf16>
    %b = tile.load %ys[%i, %c0] : !tile.view<?x?xf16> -> tensor<64x64xf16>
    %next = tile.dot %a, %b, %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>
  }
  tile.return
}

// -----

// No product; a kernel without a config takes the tile that it stores.
// CHECK: tile.kernel @elementwise
// CHECK-SAME: config <block = [16, 256], stages = 1, warps = 4>
tile.kernel @elementwise(%x: memref<?x256xf32>) {
  %c0 = arith.constant 0 : index
  %xs = tile.view %x[:, :] : memref<?x256xf32> -> !tile.view<?x256xf32>
  %ones = arith.constant dense<1.0> : tensor<16x256xf32>
  tile.store %ones, %xs[%c0, %c0] : tensor<16x256xf32>, !tile.view<?x256xf32>
  tile.return
}

// -----

// expected-error @below {{expected warps of #tile.config to be a power of two, got 3}}
tile.kernel @odd() config <block = [64], warps = 3> {
  tile.return
}

// -----

// More warps than fragments are taken if asked for; the default is one each.
// CHECK: tile.kernel @many
// CHECK-SAME: config <block = [32, 8], stages = 1, warps = 4>
// CHECK: tile.kernel @one_each
// CHECK-SAME: config <block = [32, 8], stages = 1, warps = 2>
tile.kernel @many() config <block = [32, 8], warps = 4> {
  %a = arith.constant dense<1.0> : tensor<32x16xf16>
  %b = arith.constant dense<1.0> : tensor<16x8xf16>
  %zeros = arith.constant dense<0.0> : tensor<32x8xf32>
  %c = tile.dot %a, %b, %zeros : tensor<32x16xf16>, tensor<16x8xf16> -> tensor<32x8xf32>
  tile.return
}
tile.kernel @one_each() config <block = [32, 8]> {
  %a = arith.constant dense<1.0> : tensor<32x16xf16>
  %b = arith.constant dense<1.0> : tensor<16x8xf16>
  %zeros = arith.constant dense<0.0> : tensor<32x8xf32>
  %c = tile.dot %a, %b, %zeros : tensor<32x16xf16>, tensor<16x8xf16> -> tensor<32x8xf32>
  tile.return
}

// -----

// expected-error @below {{expected tile_nv.remat to be an array of "a", "b" and "bt", got ["q"]}}
tile.kernel @kinds() config <block = [64]> attributes {tile_nv.remat = ["q"]} {
  tile.return
}

// -----

// expected-error @below {{expected tile_nv.ctas to be 1 to 32, got 0 : i64}}
tile.kernel @no_cta() config <block = [64]> attributes {tile_nv.ctas = 0} {
  tile.return
}

// -----

// expected-error @below {{expected tile_nv.interleave to be true or false, got 1 : i64}}
tile.kernel @flag() config <block = [64]> attributes {tile_nv.interleave = 1} {
  tile.return
}
